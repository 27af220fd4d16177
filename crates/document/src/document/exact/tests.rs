use super::*;
use crate::json::Format;
use crate::value::{Code, Regex};
use crate::{Decimal, Document, arbitrary};
use proptest::prelude::*;

fn document(entries: impl IntoIterator<Item = (Value, Value)>) -> Document {
    Document::from_map(&Map { entries: entries.into_iter().collect() }).unwrap()
}

fn inexact(document: &Document) -> InexactError {
    match document.check_json() {
        Err(DocumentError::Inexact(error)) => error,
        other => panic!("{document}: {other:?}"),
    }
}

#[test]
fn what_json_gives_back_as_something_else_is_named() {
    let name = |name: &str| (Value::from(name), Value::Null);
    let map = |entry| Value::Map(Map { entries: vec![entry] });
    let scope = |map| Value::Code(Box::new(Code { code: String::new(), scope: Some(map) }));
    let oid = InexactError::Name("$oid".to_owned());
    assert_eq!(inexact(&document([name("$oid")])), oid);
    assert_eq!(inexact(&document([(Value::from("a"), Value::Array(vec![map(name("$oid"))]))])), oid);
    let nested = scope(Map { entries: vec![(Value::from("a"), map(name("$oid")))] });
    assert_eq!(inexact(&document([(Value::from("a"), nested)])), oid);
    assert_eq!(inexact(&document([name("a"), name("b"), name("a")])), InexactError::Twice("a".to_owned()));
    let twice = scope(Map { entries: vec![name("a"), name("a")] });
    assert_eq!(inexact(&document([(Value::from("a"), twice)])), InexactError::Twice("a".to_owned()));
    assert_eq!(inexact(&document([(Value::Int32(1), Value::Null)])), InexactError::Key("int"));
    for plain in ["$", "$set", "$type", "oid", "$oids"] {
        document([name(plain)]).check_json().unwrap();
    }
}

proptest! {
    #[test]
    fn what_passes_comes_back(entries in proptest::collection::vec((arbitrary::value(), arbitrary::value()), 0..4)) {
        let map = Map { entries };
        let document = Document::from_map(&map).unwrap();
        if document.check_json().is_ok() {
            let text = document.to_json(Format::CANONICAL).unwrap();
            prop_assert_eq!(crate::json::parse(text.as_bytes()).unwrap(), Value::Map(map.clone()));
        }
        let mut bytes = Vec::new();
        if document.write_bson_exact(&mut bytes).is_ok() {
            prop_assert_eq!(crate::bson::decode_document(&bytes).unwrap(), map);
        } else {
            prop_assert!(bytes.is_empty());
        }
    }

    #[test]
    fn what_bson_holds_is_written_as_ever(value in arbitrary::bson_value()) {
        let document = document([(Value::from("a"), value)]);
        let mut bytes = Vec::new();
        document.write_bson_exact(&mut bytes).unwrap();
        prop_assert_eq!(bytes, document.to_bson_bytes().unwrap());
    }
}

#[test]
fn what_bson_gives_back_as_something_else_is_named() {
    let decimal: Decimal = "0E+7000".parse().unwrap();
    let regex = Regex { pattern: "a".into(), options: "mi".into() };
    for (value, name) in [(Value::Decimal(decimal), "decimal"), (Value::Regex(Box::new(regex)), "regex")] {
        let document = document([(Value::from("a"), Value::Array(vec![value]))]);
        assert!(document.to_bson_bytes().is_ok());
        let error = document.write_bson_exact(&mut Vec::new()).unwrap_err();
        assert_eq!(error, DocumentError::Bson(crate::bson::BsonError::Inexact(name)));
    }
}
