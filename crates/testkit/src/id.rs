//! The model's `_id`s, with an order of their own, so that the model trusts nothing of the database.

use alluvium::Value;
use document::value::Double;

/// An `_id` as the model sees it. The order of the variants is MongoDB's order of the types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// Null.
    Null,
    /// A number, in halves: 3 is 1.5.
    Number(i64),
    /// Text; compared by bytes.
    Text(String),
    /// An object id.
    Object([u8; 12]),
    /// A boolean.
    Bool(bool),
    /// A date-time in milliseconds.
    Date(i64),
}

impl Id {
    /// A random one, from a small set, so that operations meet.
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        match rng.u32(0..20) {
            0..=9 => Self::Number(rng.i64(-6..24) * 2),
            10 => Self::Number(rng.i64(-9..9)),
            11..=16 => Self::Text(TEXTS[rng.usize(0..TEXTS.len())].to_owned()),
            17 => Self::Object([rng.u8(0..3); 12]),
            18 => Self::Date(rng.i64(-2..3) * 1000),
            _ => match rng.u8(0..3) {
                0 => Self::Null,
                1 => Self::Bool(false),
                _ => Self::Bool(true),
            },
        }
    }

    /// A value that is equal to it: numbers come in any of their types.
    pub fn value(&self, rng: &mut fastrand::Rng) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Number(halves) if halves % 2 == 0 => match rng.u32(0..6) {
                0 => Value::Double(Double(*halves as f64 / 2.0)),
                1 => Value::Int64(halves / 2),
                _ => Value::Int32((halves / 2) as i32),
            },
            Self::Number(halves) => Value::Double(Double(*halves as f64 / 2.0)),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Object(bytes) => Value::ObjectId(*bytes),
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Date(millis) => Value::DateTime(*millis),
        }
    }

    /// The model's `_id` of a value; `None` for what the generator never makes.
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Int32(n) => Self::Number(i64::from(*n) * 2),
            Value::Int64(n) => Self::Number(n.checked_mul(2)?),
            Value::Double(Double(x)) => {
                let halves = x * 2.0;
                if halves.fract() != 0.0 || halves.abs() > 1e15 {
                    return None;
                }
                Self::Number(halves as i64)
            }
            Value::String(text) => Self::Text(text.clone()),
            Value::ObjectId(bytes) => Self::Object(*bytes),
            Value::Bool(flag) => Self::Bool(*flag),
            Value::DateTime(millis) => Self::Date(*millis),
            _ => return None,
        })
    }
}

/// Empty, short, with a NUL, of other alphabets, with a common prefix, and longer than a prefix
/// that blocks may share.
const TEXTS: [&str; 16] = [
    "",
    "a",
    "a\0",
    "a\0b",
    "aa",
    "b",
    "straße",
    "日本語",
    "😀",
    "\u{ff}",
    "prefix-common-to-some-0001",
    "prefix-common-to-some-0002",
    "prefix-common-to-some-0010",
    "z",
    "zz-a-key-that-is-rather-long-and-goes-on-for-quite-a-while-so-that-it-does-not-fit-any-small-buffer-anywhere-in-the-store-at-all",
    "~",
];
