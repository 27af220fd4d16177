//! The model's own `_id`s and their order, which are independent of the database.

use alluvium::{Map, Value};
use alluvium_document::decimal::Decimal;
use alluvium_document::value::{Binary, Double};
use std::cmp::Ordering;
use std::str::FromStr;

/// An `_id` in the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// Null.
    Null,
    /// A number in units of one half: 3 means 1.5.
    Number(i64),
    /// One tenth: 1 is the exact decimal; 2 is the double, which is slightly greater.
    Tenth(u8),
    /// A string, compared by its bytes.
    Text(String),
    /// A map from names to numbers, strings or nulls.
    Map(Vec<(String, Id)>),
    /// Bytes, ordered by their length, then by their subtype.
    Binary(usize, u8, Vec<u8>),
    /// An object id.
    Object([u8; 12]),
    /// A boolean.
    Bool(bool),
    /// A date-time in milliseconds.
    Date(i64),
}

/// The position of an `_id` in MongoDB's order: the variants are in the order of the types.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    Null,
    Number(i64, u8),
    Text(&'a str),
    /// For each field: the type of its value, its name, and its value.
    Map(Vec<(u8, &'a str, Place<'a>)>),
    Binary(usize, u8, &'a [u8]),
    Object(&'a [u8; 12]),
    Bool(bool),
    Date(i64),
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl Id {
    fn place(&self) -> Place<'_> {
        match self {
            Self::Null => Place::Null,
            Self::Number(halves) => Place::Number(*halves, 0),
            Self::Tenth(above) => Place::Number(0, *above),
            Self::Text(text) => Place::Text(text),
            Self::Map(fields) => Place::Map(fields.iter().map(|(name, id)| (id.rank(), &**name, id.place())).collect()),
            Self::Binary(len, subtype, bytes) => Place::Binary(*len, *subtype, bytes),
            Self::Object(bytes) => Place::Object(bytes),
            Self::Bool(flag) => Place::Bool(*flag),
            Self::Date(millis) => Place::Date(*millis),
        }
    }

    /// The rank of the type of a value in a map.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Number(_) | Self::Tenth(_) => 1,
            _ => 2,
        }
    }

    /// The `_id` of an integer.
    pub fn whole(n: i64) -> Self {
        Self::Number(2 * n)
    }

    /// The integer, if the `_id` is one.
    pub fn to_whole(&self) -> Option<i64> {
        match self {
            Self::Number(halves) if halves % 2 == 0 => Some(halves / 2),
            _ => None,
        }
    }

    /// A random `_id` from a small set, so that operations hit the same documents.
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        match rng.u32(0..22) {
            0..=9 => Self::Number(rng.i64(-6..24) * 2),
            10 => Self::Number(rng.i64(-9..9)),
            20 => match rng.u8(0..3) {
                0 => Self::Tenth(rng.u8(1..3)),
                _ => Self::binary(vec![rng.u8(0..3); rng.usize(0..3)], rng.u8(0..2) * 128),
            },
            21 => {
                let part = |rng: &mut fastrand::Rng| match rng.u8(0..4) {
                    0 => Self::Null,
                    1 => Self::Text("x".to_owned()),
                    _ => Self::Number(rng.i64(0..4)),
                };
                let names = [["a", "b"], ["b", "a"]][rng.usize(0..2)].iter().take(rng.usize(0..3));
                Self::Map(names.map(|name| ((*name).to_owned(), part(rng))).collect())
            }
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

    fn binary(bytes: Vec<u8>, subtype: u8) -> Self {
        Self::Binary(bytes.len(), subtype, bytes)
    }

    /// A value equal to this `_id`. Numbers get any numeric type.
    pub fn value(&self, rng: &mut fastrand::Rng) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Number(halves) if rng.u8(0..9) == 0 => {
                // More zeros after the point do not change the number.
                let text = format!("{}{}", *halves as f64 / 2.0, if halves % 2 == 0 { ".00" } else { "0" });
                Value::Decimal(Decimal::from_str(&text).expect("a number"))
            }
            Self::Tenth(1) => Value::Decimal(Decimal::from_str("0.1").expect("a number")),
            Self::Tenth(_) => Value::Double(Double(0.1)),
            Self::Map(fields) => {
                let fields = fields.iter().map(|(name, id)| (name.as_str(), id.value(rng)));
                Value::Map(fields.collect::<Map>())
            }
            Self::Binary(_, subtype, bytes) => Value::Binary(Binary { subtype: *subtype, bytes: bytes.clone() }),
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

    /// The model's `_id` for a value; `None` for values that the generator never creates.
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Int32(n) => Self::Number(i64::from(*n) * 2),
            Value::Int64(n) => Self::Number(n.checked_mul(2)?),
            Value::Double(Double(x)) if *x == 0.1 => Self::Tenth(2),
            Value::Decimal(decimal) if decimal.to_string() == "0.1" => Self::Tenth(1),
            Value::Double(_) | Value::Decimal(_) => {
                let halves = value.as_f64()? * 2.0;
                if halves.fract() != 0.0 || halves.abs() > 1e15 {
                    return None;
                }
                Self::Number(halves as i64)
            }
            Value::Map(map) => {
                let field = |(name, value): &(Value, Value)| Some((name.as_str()?.to_owned(), Self::of(value)?));
                Self::Map(map.entries.iter().map(field).collect::<Option<_>>()?)
            }
            Value::Binary(binary) => Self::binary(binary.bytes.clone(), binary.subtype),
            Value::String(text) => Self::Text(text.to_string()),
            Value::ObjectId(bytes) => Self::Object(*bytes),
            Value::Bool(flag) => Self::Bool(*flag),
            Value::DateTime(millis) => Self::Date(*millis),
            _ => return None,
        })
    }
}

/// Texts that are empty, short, with a NUL, in other scripts, with a common prefix, or longer than a prefix that blocks
/// may share.
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
