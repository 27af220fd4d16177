//! Random documents with a few recurring shapes, and some with unusual ones.

use super::Id;
use alluvium::{Map, Value};
use alluvium_document::decimal::Decimal;
use alluvium_document::value::{Binary, Code, DbPointer, Double, Regex, Timestamp};
use std::str::FromStr;

/// The initial date of a manual clock ([`alluvium_env::ManualClock`]).
const START_MS: i64 = 1_767_225_600_000;

/// Creates documents. Each document contains a serial number, so that no two are equal.
#[derive(Debug, Default, Clone)]
pub struct Documents {
    serial: i64,
}

/// Parses a JSON text to a map.
pub fn map_of(json: &str) -> Map {
    match alluvium_document::json::parse(json.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{json} is no document: {other:?}"),
    }
}

impl Documents {
    /// Creates a generator whose documents differ from the documents of any other generator.
    pub fn after() -> Self {
        Self { serial: 1_000_000 }
    }

    /// A document without `_id`.
    pub fn body(&mut self, rng: &mut fastrand::Rng) -> Map {
        self.serial += 1;
        let mut map = Map::new();
        map.push("n", self.serial);
        if rng.u8(0..3) > 0 {
            map.push("k", few(rng));
        }
        if rng.u8(0..12) == 0 {
            map.push("u", if rng.u8(0..4) == 0 { long(rng.u32(..)) } else { Value::Int32(rng.i32(0..12)) });
        }
        if rng.u8(0..6) == 0 {
            map.push("when", Value::DateTime(START_MS + rng.i64(-5000..3000)));
        }
        match rng.u32(0..8) {
            0 => {}
            1 | 2 => {
                map.push("score", rng.i32(-5..500));
                map.push("body", text(rng));
            }
            3 | 4 => {
                map.push("by", Value::Map([("name", Value::from(text(rng))), ("flair", any(rng, 1))].into()));
                map.push("tags", Value::Array((0..rng.usize(0..4)).map(|_| any(rng, 1)).collect()));
            }
            5 => map.push("deep", any(rng, 4)),
            6 => {
                // Any subset of these names may occur, which gives many similar shapes.
                for name in ["a", "b", "c", "", "a.b", "ü"] {
                    if rng.bool() {
                        map.push(name, any(rng, 2));
                    }
                }
            }
            _ => {
                // The text is sometimes longer than a sector, a block, or a segment of the log.
                let most = [8, 8, 60, 200, 400][rng.usize(0..5)];
                map.push("long", "lorem ipsum ".repeat(rng.usize(0..most)));
            }
        }
        map
    }

    /// A document with `_id`, usually as the first field.
    pub fn with_id(&mut self, id: &Id, rng: &mut fastrand::Rng) -> Map {
        let mut map = self.body(rng);
        if rng.u8(0..50) == 0 {
            // A number with more digits than BSON can represent.
            map.push("wide", Value::Decimal(Decimal::from_str(&"123456789".repeat(5)).unwrap()));
        }
        let at = if rng.u8(0..5) == 0 { rng.usize(0..=map.len()) } else { 0 };
        map.entries.insert(at, (Value::from("_id"), id.value(rng)));
        map
    }

    /// A document with `_id` that JSON text can represent without loss.
    pub fn for_json(&mut self, id: &Id, rng: &mut fastrand::Rng) -> Map {
        let body = self.body(rng);
        let mut map = Map::new();
        map.push("_id", id.value(rng));
        map.entries.extend(body.entries);
        map
    }
}

/// The maximum length of a text whose key in an index is not cut (`docs/format/index.md`).
pub(crate) const WHOLE_TEXT_BYTES: usize = 8192 - 3;

/// One of a few texts around the maximum length of an index key. The keys of some have that length or are a little
/// shorter or longer. Other keys are longer and begin with the same bytes.
pub(crate) fn long(which: u32) -> Value {
    let (more, end) = [(0, ""), (0, "a"), (0, "b"), (8, ""), (8, "a"), (900, "a"), (900, "b")][which as usize % 7];
    let text = "k".repeat(WHOLE_TEXT_BYTES - 1 + more);
    Value::from(text + if (which / 7).is_multiple_of(2) { "k" } else { "" } + end)
}

/// One of a few values, including equal values of several types, so that documents share values and return to earlier
/// ones.
fn few(rng: &mut fastrand::Rng) -> Value {
    if rng.u8(0..16) == 0 {
        let (one, other) = (long(rng.u32(..)), long(rng.u32(..)));
        return if rng.bool() { one } else { Value::Array(vec![one, other]) };
    }
    match rng.u32(0..10) {
        0..=3 => Value::Int32(rng.i32(0..3)),
        4 => Value::Double(Double(f64::from(rng.i32(0..3)))),
        5 => Value::Null,
        6 => Value::from("x"),
        _ => Value::Array((0..rng.usize(0..3)).map(|_| Value::Int32(rng.i32(0..3))).collect()),
    }
}

fn text(rng: &mut fastrand::Rng) -> String {
    const WORDS: [&str; 8] = ["the", "quick", "brún", "狐", "jumps\n", "\"over\"", "\u{0}", "dog 🐕"];
    (0..rng.usize(0..6)).map(|_| WORDS[rng.usize(0..WORDS.len())]).collect::<Vec<_>>().join(" ")
}

/// A value of a rare type, or NaN, or an infinity.
fn odd(rng: &mut fastrand::Rng) -> Value {
    let code = "f()".to_owned();
    match rng.u32(0..12) {
        0 => Value::Binary(Binary { subtype: rng.u8(0..2) * 128, bytes: vec![rng.u8(..); rng.usize(0..3)] }),
        1 => Value::Regex(Box::new(Regex {
            pattern: "^a".to_owned(),
            options: ["", "i", "ms"][rng.usize(0..3)].to_owned(),
        })),
        2 => Value::MinKey,
        3 => Value::MaxKey,
        4 => Value::Undefined,
        5 => Value::Code(Box::new(Code { code, scope: None })),
        6 => Value::Code(Box::new(Code { code, scope: Some(Map::from([("x", Value::from(rng.i32(0..3)))])) })),
        7 => Value::Symbol("x".into()),
        8 => Value::DbPointer(Box::new(DbPointer { namespace: "main.a".to_owned(), id: [rng.u8(0..3); 12] })),
        9 => Value::Double(Double([f64::NAN, f64::INFINITY, f64::NEG_INFINITY][rng.usize(0..3)])),
        10 => Value::Decimal([Decimal::NAN, Decimal::INFINITY, Decimal::NEG_INFINITY][rng.usize(0..3)].clone()),
        _ => Value::Int64(rng.i64(0..3)),
    }
}

fn any(rng: &mut fastrand::Rng, depth: u32) -> Value {
    if rng.u8(0..12) == 0 {
        return odd(rng);
    }
    match rng.u32(0..if depth == 0 { 11 } else { 14 }) {
        0 => Value::Null,
        1 => Value::Bool(rng.bool()),
        2 => Value::Int32(rng.i32(..)),
        3 => Value::Int32(rng.i32(-2..20)),
        4 => Value::Int64(rng.i64(..)),
        5 => Value::Double(Double([0.0, -0.0, 1.5, -1e300, 0.1][rng.usize(0..5)])),
        6 => Value::Decimal(Decimal::from_str("3.140").unwrap()),
        7 => Value::DateTime(rng.i64(-1000..1000)),
        8 => Value::ObjectId([rng.u8(..); 12]),
        9 => Value::Timestamp(Timestamp { time: rng.u32(..), increment: 1 }),
        10 => Value::from(text(rng)),
        11 | 12 => {
            let mut map = Map::new();
            for name in ["x", "y", "z"].iter().take(rng.usize(0..4)) {
                map.push(*name, any(rng, depth - 1));
            }
            Value::Map(map)
        }
        _ => Value::Array((0..rng.usize(0..4)).map(|_| any(rng, depth - 1)).collect()),
    }
}
