//! Values of each type.

use crate::model::map_of;
use alluvium::{Map, Value};
use alluvium_document::decimal::Decimal;
use alluvium_document::value::{Binary, Code, DbPointer, Double, Regex, Timestamp};
use std::str::FromStr;

/// Values of each type, and values at the limits of types.
pub(crate) fn types() -> Vec<(&'static str, Value)> {
    let decimal = |text: &str| Value::Decimal(Decimal::from_str(text).expect("a decimal"));
    let double = |x: f64| Value::Double(Double(x));
    let map = |json: &str| Value::Map(map_of(json));
    let twice = [(Value::from("a"), Value::Int32(1)), (Value::from("a"), Value::Int32(2))];
    let odd_keys = [(Value::Int32(1), Value::from("one")), (Value::Null, Value::from("null"))];
    let scope = Some(map_of(r#"{"x":1}"#));
    vec![
        ("null", Value::Null),
        ("true", Value::Bool(true)),
        ("false", Value::Bool(false)),
        ("int32", Value::Int32(14)),
        ("int32, least", Value::Int32(i32::MIN)),
        ("int64, small", Value::Int64(14)),
        ("int64, greatest", Value::Int64(i64::MAX)),
        ("double", double(0.1)),
        ("double, minus zero", double(-0.0)),
        ("double, infinite", double(f64::NEG_INFINITY)),
        ("double, not a number", double(f64::NAN)),
        ("decimal", decimal("3.140")),
        ("decimal, long", decimal("-123456789012345678901234567890.0123456789")),
        ("decimal, of 2^63", decimal("9223372036854775808")),
        ("decimal, infinite", Value::Decimal(Decimal::INFINITY)),
        ("decimal, not a number", Value::Decimal(Decimal::NAN)),
        ("string", Value::from("straße 日本語 \u{0} 🐕")),
        ("string, empty", Value::from("")),
        ("string, long", Value::from("long ".repeat(700))),
        ("binary", Value::Binary(Binary { subtype: 0, bytes: (0..=255).collect() })),
        ("binary, of a UUID", Value::Binary(Binary { subtype: 4, bytes: vec![7; 16] })),
        ("array", Value::Array(vec![Value::Int32(1), Value::from("two"), Value::Array(Vec::new())])),
        ("map", map(r#"{"b":1,"a":{"deep":[{"c":null}]}}"#)),
        ("map, empty", Value::Map(Map::new())),
        ("map, a name twice", Value::Map(twice.into())),
        ("map, odd keys", Value::Map(odd_keys.into())),
        ("object id", Value::ObjectId(*b"\x65\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a")),
        ("date-time", Value::DateTime(1_700_000_000_123)),
        ("date-time, before 1970", Value::DateTime(-1)),
        ("timestamp", Value::Timestamp(Timestamp { time: 1_700_000_000, increment: 7 })),
        ("regex", Value::Regex(Box::new(Regex { pattern: "^a.*z$".to_owned(), options: "im".to_owned() }))),
        ("min key", Value::MinKey),
        ("max key", Value::MaxKey),
        ("undefined", Value::Undefined),
        ("code", Value::Code(Box::new(Code { code: "f()".to_owned(), scope: None }))),
        ("code, with a scope", Value::Code(Box::new(Code { code: "x".to_owned(), scope }))),
        ("symbol", Value::Symbol("sym".into())),
        ("pointer", Value::DbPointer(Box::new(DbPointer { namespace: "main.people".to_owned(), id: [9; 12] }))),
    ]
}
