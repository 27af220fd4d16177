use super::*;
use crate::arbitrary;
use crate::json::parse;
use crate::value::{Code, DbPointer, Regex, Timestamp};
use proptest::prelude::*;

fn relaxed(value: impl Into<Value>) -> String {
    to_string(&value.into(), Format::RELAXED).unwrap()
}

fn canonical(value: impl Into<Value>) -> String {
    to_string(&value.into(), Format::CANONICAL).unwrap()
}

fn dec(text: &str) -> Value {
    Value::Decimal(text.parse().unwrap())
}

#[test]
fn numbers() {
    assert_eq!(relaxed(1), "1");
    assert_eq!(canonical(1), r#"{"$numberInt":"1"}"#);
    assert_eq!(relaxed(-5i64), "-5");
    assert_eq!(canonical(-5i64), r#"{"$numberLong":"-5"}"#);
    assert_eq!(relaxed(1.0), "1.0");
    assert_eq!(relaxed(-0.0), "-0.0");
    assert_eq!(relaxed(0.1), "0.1");
    assert_eq!(canonical(1.0), r#"{"$numberDouble":"1.0"}"#);
    assert_eq!(relaxed(f64::NAN), r#"{"$numberDouble":"NaN"}"#);
    assert_eq!(canonical(f64::NEG_INFINITY), r#"{"$numberDouble":"-Infinity"}"#);
}

#[test]
fn decimals_are_plain_only_where_they_read_back() {
    assert_eq!(relaxed(dec("9223372036854775808")), "9223372036854775808");
    assert_eq!(relaxed(dec("0.1000000000000000055")), "0.1000000000000000055");
    assert_eq!(relaxed(dec("1E+400")), "1E+400");
    assert_eq!(relaxed(dec("-1.5E-400")), "-1.5E-400");
    assert_eq!(relaxed(dec("10000000000000001")), "10000000000000001E+0");
    for text in ["1", "1.5", "0.10", "-0", "-0.00", "1E+3", "0E-400", "NaN", "-Infinity"] {
        assert_eq!(relaxed(dec(text)), format!("{{\"$numberDecimal\":\"{text}\"}}"));
    }
    assert_eq!(canonical(dec("1E+400")), r#"{"$numberDecimal":"1E+400"}"#);
}

#[test]
fn strings() {
    assert_eq!(
        relaxed("a\"\\/\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}é😀"),
        "\"a\\\"\\\\/\\n\\r\\t\\b\\f\\u0001\\u001f\u{7f}é😀\""
    );
}

#[test]
fn the_types_that_json_does_not_have() {
    let check = |value: Value, both: &str| {
        assert_eq!(relaxed(value.clone()), both);
        assert_eq!(canonical(value), both);
    };
    check(Value::ObjectId([0xab; 12]), r#"{"$oid":"abababababababababababab"}"#);
    check(Binary { subtype: 0x80, bytes: vec![1, 2] }.into(), r#"{"$binary":{"base64":"AQI=","subType":"80"}}"#);
    check(Timestamp { time: 4_000_000_000, increment: 1 }.into(), r#"{"$timestamp":{"t":4000000000,"i":1}}"#);
    let regex = Regex { pattern: "a\"".into(), options: "im".into() };
    check(Value::Regex(Box::new(regex)), r#"{"$regularExpression":{"pattern":"a\"","options":"im"}}"#);
    check(Value::MinKey, r#"{"$minKey":1}"#);
    check(Value::MaxKey, r#"{"$maxKey":1}"#);
    check(Value::Undefined, r#"{"$undefined":true}"#);
    check(Value::Symbol("s".into()), r#"{"$symbol":"s"}"#);
    let pointer = DbPointer { namespace: "n".into(), id: [1; 12] };
    check(
        Value::DbPointer(Box::new(pointer)),
        r#"{"$dbPointer":{"$ref":"n","$id":{"$oid":"010101010101010101010101"}}}"#,
    );
    check(Value::Code(Box::new(Code { code: "x".into(), scope: None })), r#"{"$code":"x"}"#);
    let code = Value::Code(Box::new(Code { code: "x".into(), scope: Some(Map::from([("a", 1)])) }));
    assert_eq!(relaxed(code.clone()), r#"{"$code":"x","$scope":{"a":1}}"#);
    assert_eq!(canonical(code), r#"{"$code":"x","$scope":{"a":{"$numberInt":"1"}}}"#);
    assert_eq!(relaxed(Value::DateTime(1)), r#"{"$date":"1970-01-01T00:00:00.001Z"}"#);
    assert_eq!(relaxed(Value::DateTime(-1)), r#"{"$date":{"$numberLong":"-1"}}"#);
    assert_eq!(relaxed(Value::DateTime(253_402_300_800_000)), r#"{"$date":{"$numberLong":"253402300800000"}}"#);
    assert_eq!(canonical(Value::DateTime(1)), r#"{"$date":{"$numberLong":"1"}}"#);
}

#[test]
fn pretty() {
    let inner = Map::from([("c", Value::ObjectId([0; 12])), ("d", Value::Array(vec![]))]);
    let map = Map::from([("a", [1, 2].into_iter().collect::<Value>()), ("b", inner.into()), ("e", Map::new().into())]);
    let text = to_string(&map.into(), Format::PRETTY).unwrap();
    let expected = r#"{
  "a": [
    1,
    2
  ],
  "b": {
    "c": {"$oid":"000000000000000000000000"},
    "d": []
  },
  "e": {}
}"#;
    assert_eq!(text, expected);
}

#[test]
fn keys_must_be_strings() {
    let map = Map::from([("a", Value::Map(Map { entries: vec![(5.into(), 1.into())] }))]);
    let mut out = b"before".to_vec();
    assert_eq!(print_map(&map, Format::RELAXED, &mut out), Err(PrintError::Key("int")));
    assert_eq!(print(&map.into(), Format::RELAXED, &mut out), Err(PrintError::Key("int")));
    assert_eq!(out, b"before");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn plain_json_comes_back(value in arbitrary::json_value()) {
        for format in [Format::RELAXED, Format::PRETTY, Format::CANONICAL] {
            let text = to_string(&value, format).unwrap();
            prop_assert_eq!(&parse(text.as_bytes()).unwrap(), &value, "{}", text);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }

    #[test]
    fn every_type_comes_back_from_canonical(value in arbitrary::bson_value()) {
        for pretty in [false, true] {
            let text = to_string(&value, Format { canonical: true, pretty }).unwrap();
            match parse(text.as_bytes()) {
                Ok(read) => prop_assert_eq!(&read, &value, "{}", text),
                Err(error) => prop_assert!(matches!(error.reason, crate::json::Reason::DuplicateField(_)), "{}", error),
            }
        }
    }

    #[test]
    fn relaxed_keeps_the_value_of_every_number(value in arbitrary::number()) {
        let read = parse(relaxed(value.clone()).as_bytes()).unwrap();
        prop_assert!(crate::compare::equal(&read, &value), "{:?} {:?}", read, value);
        if matches!(value, Value::Decimal(_) | Value::Double(_) | Value::Int32(_)) {
            prop_assert_eq!(read, value);
        }
    }

    #[test]
    fn a_plain_number_keeps_its_value(text in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][-+]?[0-9]{1,4})?") {
        let value = parse(text.as_bytes()).unwrap();
        let printed = relaxed(value.clone());
        prop_assert!(!printed.starts_with('{'), "{} {}", text, printed);
        prop_assert_eq!(parse(printed.as_bytes()).unwrap(), value);
        let (a, b): (Decimal, Decimal) = (text.parse().unwrap(), printed.parse().unwrap());
        prop_assert!(a.compare(&b).is_eq(), "{} {}", text, printed);
    }
}

#[test]
fn values_display_as_relaxed_extended_json() {
    let id = Value::ObjectId([0xab; 12]);
    assert_eq!(id.to_string(), r#"{"$oid":"abababababababababababab"}"#);
    let map = Map::from([("a", Value::Int32(1)), ("id", id)]);
    assert_eq!(map.to_string(), r#"{"a":1,"id":{"$oid":"abababababababababababab"}}"#);
    assert_eq!(Value::Map(map.clone()).to_string(), map.to_string());
    let unprintable = Map { entries: vec![(Value::Int32(1), Value::Null)] };
    assert!(unprintable.to_string().starts_with("<a map with a key of type int"), "{unprintable}");
}
