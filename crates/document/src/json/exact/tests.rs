use super::*;
use crate::arbitrary;
use crate::value::Binary;
use proptest::prelude::*;

fn text(map: &Map) -> String {
    let mut out = Vec::new();
    print_exact(map, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn map(entries: impl IntoIterator<Item = (Value, Value)>) -> Map {
    Map { entries: entries.into_iter().collect() }
}

proptest! {
    #[test]
    fn every_document_comes_back(entries in proptest::collection::vec((arbitrary::value(), arbitrary::value()), 0..4)) {
        let document = Map { entries };
        let text = text(&document);
        prop_assert!(!text.contains('\n'));
        prop_assert_eq!(parse_exact(text.as_bytes()).unwrap(), Value::Map(document), "{}", text);
    }
}

#[test]
fn what_json_has_no_text_for_is_a_list_of_keys_and_values() {
    let id = Value::ObjectId([1; 12]);
    let oid = Value::from("$oid");
    assert_eq!(text(&map([(Value::Int32(1), Value::Null)])), r#"{"$alluviumMap":[{"$numberInt":"1"},null]}"#);
    assert_eq!(text(&map([(oid, Value::from("x"))])), r#"{"$alluviumMap":["$oid","x"]}"#);
    let twice = map([(Value::from("a"), Value::Bool(true)), (Value::from("a"), Value::Bool(false))]);
    assert_eq!(text(&twice), r#"{"$alluviumMap":["a",true,"a",false]}"#);
    assert_eq!(text(&map([(Value::from("a"), id)])), r#"{"a":{"$oid":"010101010101010101010101"}}"#);
}

#[test]
fn as_deep_as_documents_go() {
    let innermost = [
        Value::Int32(1),
        Value::DateTime(-1),
        Value::Binary(Binary { subtype: 0, bytes: vec![1] }),
        Value::DbPointer(Box::new(crate::DbPointer { namespace: "a.b".into(), id: [0; 12] })),
    ];
    for inner in innermost {
        let wraps: [fn(Value) -> Value; 4] = [
            |value| Value::Map(map([(Value::Null, value)])),
            |value| Value::Map(map([(Value::from("a"), value)])),
            |value| Value::Array(vec![value]),
            |value| Value::Code(Box::new(Code { code: "c".into(), scope: Some(map([(Value::from("$x"), value)])) })),
        ];
        for wrap in wraps {
            let mut value = inner.clone();
            for _ in 1..MAX_DEPTH {
                value = wrap(value);
            }
            let whole = map([(Value::from("a"), value.clone())]);
            let text = text(&whole);
            assert_eq!(parse_exact(text.as_bytes()).unwrap(), Value::Map(whole));
            let over = map([(Value::from("a"), wrap(value))]);
            let mut out = Vec::new();
            print_exact(&over, &mut out).unwrap();
            assert_eq!(parse_exact(&out).unwrap_err().reason, Reason::TooDeep);
        }
    }
}

#[test]
fn a_list_that_is_none_is_refused() {
    for text in [r#"{"$alluviumMap":[1]}"#, r#"{"$alluviumMap":1}"#, r#"{"a":{"$alluviumMap":[],"b":1}}"#] {
        let reason = parse_exact(text.as_bytes()).unwrap_err().reason;
        assert!(matches!(reason, Reason::Extended { name: NAME, .. }), "{text}: {reason}");
    }
}
