use super::*;
use crate::arbitrary;
use crate::json;
use crate::value::{Binary, Timestamp};
use proptest::prelude::*;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

fn parsed(text: &str) -> Map {
    json::parse(text.as_bytes()).unwrap().as_map().unwrap().clone()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pet {
    #[serde(rename = "_id")]
    name: String,
    age: i32,
}

fn rex() -> Pet {
    Pet { name: "rex".into(), age: 3 }
}

fn refusal(document: impl IntoDocument) -> String {
    document.into_map().unwrap_err().to_string()
}

#[test]
fn text_is_json_however_it_is_held() {
    let text = r#"{"_id": "rex", "age": 3, "at": {"$date": 5}}"#;
    let expected = parsed(text);
    assert_eq!(expected.get("at"), Some(&Value::DateTime(5)));
    assert_eq!(text.into_map().unwrap(), expected);
    assert_eq!(text.to_owned().into_map().unwrap(), expected);
    assert_eq!((&text.to_owned()).into_map().unwrap(), expected);
    assert_eq!(Cow::Borrowed(text).into_map().unwrap(), expected);
    assert_eq!(Box::<str>::from(text).into_map().unwrap(), expected);
    assert!(matches!("{".into_map(), Err(InputError::Json(_))));
    assert!(matches!(String::from("{").into_map(), Err(InputError::Json(_))));
}

#[test]
fn maps_structs_and_values_of_other_crates_are_documents() {
    let expected = parsed(r#"{"_id": "rex", "age": 3}"#);
    assert_eq!(rex().into_map().unwrap(), expected);
    assert_eq!((&rex()).into_map().unwrap(), expected);
    assert_eq!(Some(rex()).into_map().unwrap(), expected);
    assert_eq!(serde_json::json!({"_id": "rex", "age": 3}).into_map().unwrap(), expected);
    assert_eq!((&serde_json::json!({"_id": "rex", "age": 3})).into_map().unwrap(), expected);
    assert_eq!((&bson::doc! {"_id": "rex", "age": 3}).into_map().unwrap(), expected);
    assert_eq!(expected.clone().into_map().unwrap(), expected);
    assert_eq!((&expected).into_map().unwrap(), expected);
    assert_eq!(Value::Map(expected.clone()).into_map().unwrap(), expected);
    assert_eq!((&Value::Map(expected.clone())).into_map().unwrap(), expected);
    let stored = Document::from_map(&expected).unwrap();
    assert_eq!((&stored).into_map().unwrap(), expected);
    assert_eq!(stored.into_map().unwrap(), expected);
    let ages = [("a", 1i64), ("b", 2)];
    assert_eq!(BTreeMap::from(ages).into_map().unwrap(), Map::from(ages));
    assert_eq!(HashMap::from([("a", 1i64)]).into_map().unwrap(), Map::from([("a", 1i64)]));
}

/// `serde_json::Value` is interpreted like the same text: with the smallest integers, and Extended JSON.
#[test]
fn json_values_are_read_as_json_text() {
    let json =
        serde_json::json!({"n": [1, -1, 3_000_000_000i64, u64::MAX, 1.5], "at": {"$date": {"$numberLong": "5"}}});
    let expected = parsed(&json.to_string());
    assert_eq!(expected.get("at"), Some(&Value::DateTime(5)));
    assert_eq!((&json).into_map().unwrap(), expected);
    assert_eq!(json.as_object().unwrap().into_map().unwrap(), expected);
    assert_eq!(json.into_map().unwrap(), expected);
    assert!(serde_json::json!({"a": {"$oid": "x"}}).into_map().is_err());
}

#[test]
fn what_is_no_document_is_refused_by_its_type() {
    for (reason, found) in [
        (refusal(5), "int"),
        (refusal(5u64), "long"),
        (refusal(true), "bool"),
        (refusal(()), "null"),
        (refusal(None::<Pet>), "null"),
        (refusal([rex(), rex()]), "array"),
        (refusal("[1]"), "array"),
        (refusal(Value::DateTime(1)), "date"),
        (refusal(bson::oid::ObjectId::new()), "objectId"),
        (refusal(SystemTime::UNIX_EPOCH), "date"),
    ] {
        assert_eq!(reason, format!("it is of type {found}, not a map"));
    }
    let reason = refusal(HashMap::from([((1, 2), 3)]));
    assert_eq!(reason, "the key of a map is of type array: keys must be text, integers, booleans or characters");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Rare {
    value: Value,
    nested: Vec<HashMap<String, Value>>,
    id: bson::oid::ObjectId,
    at: bson::DateTime,
    decimal: bson::Decimal128,
    uuid: bson::Uuid,
    binary: bson::Binary,
    timestamp: bson::Timestamp,
    bson: bson::Bson,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[test]
fn types_stay_what_they_are_inside_structs() {
    let rare = || Rare {
        value: Value::ObjectId([1; 12]),
        nested: vec![HashMap::from([("x".into(), Value::Timestamp(Timestamp { time: 1, increment: 2 }))])],
        id: bson::oid::ObjectId::from_bytes([2; 12]),
        at: bson::DateTime::from_millis(-5),
        decimal: "1.50".parse().unwrap(),
        uuid: bson::Uuid::from_bytes([3; 16]),
        binary: bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1] },
        timestamp: bson::Timestamp { time: 1, increment: 2 },
        bson: bson::Bson::Int64(7),
        rest: BTreeMap::from([("extra".into(), Value::Decimal("2.50".parse().unwrap()))]),
    };
    let map = rare().into_map().unwrap();
    assert_eq!(map.get("value"), Some(&Value::ObjectId([1; 12])));
    assert_eq!(map.get("id"), Some(&Value::ObjectId([2; 12])));
    assert_eq!(map.get("at"), Some(&Value::DateTime(-5)));
    assert_eq!(map.get("decimal"), Some(&Value::Decimal("1.50".parse().unwrap())));
    assert_eq!(map.get("uuid"), Some(&Value::Binary(Binary { subtype: 4, bytes: vec![3; 16] })));
    assert_eq!(map.get("bson"), Some(&Value::Int64(7)));
    assert_eq!(map.get("extra"), Some(&Value::Decimal("2.50".parse().unwrap())));
    let document = Document::from_map(&map).unwrap();
    assert_eq!(Rare::from_document(document).unwrap(), rare());
}

#[test]
fn a_bson_document_keeps_all_types() {
    let all = bson::doc! {
        "double": 1.5, "text": "x", "list": [1, 2i64], "map": {"a": true}, "null": null,
        "id": bson::oid::ObjectId::from_bytes([2; 12]), "at": bson::DateTime::from_millis(5),
        "binary": bson::Binary { subtype: bson::spec::BinarySubtype::UserDefined(200), bytes: vec![1] },
        "code": bson::Bson::JavaScriptCode("f".into()),
        "scoped": bson::JavaScriptCodeWithScope { code: "f".into(), scope: bson::doc! {"a": 1} },
        "symbol": bson::Bson::Symbol("s".into()),
        "regex": bson::Regex { pattern: "a".try_into().unwrap(), options: "i".try_into().unwrap() },
        "timestamp": bson::Timestamp { time: 1, increment: 2 },
        "decimal": "1.50".parse::<bson::Decimal128>().unwrap(),
        "undefined": bson::Bson::Undefined, "min": bson::Bson::MinKey, "max": bson::Bson::MaxKey,
    };
    assert_eq!(Value::Map(all.clone().into_map().unwrap()), Value::from(bson::Bson::Document(all)));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Keyed {
    integers: BTreeMap<u32, i32>,
    negative: BTreeMap<i128, i32>,
    booleans: BTreeMap<bool, i32>,
    characters: BTreeMap<char, i32>,
    wide: BTreeMap<u64, i32>,
}

#[test]
fn keys_of_maps_are_text_and_come_back() {
    let keyed = || Keyed {
        integers: BTreeMap::from([(7, 1), (10, 2)]),
        negative: BTreeMap::from([(-5, 1)]),
        booleans: BTreeMap::from([(true, 1), (false, 0)]),
        characters: BTreeMap::from([('é', 1)]),
        wide: BTreeMap::from([(u64::MAX, 1)]),
    };
    let map = keyed().into_map().unwrap();
    assert_eq!(map.get("integers"), Some(&Value::Map(Map::from([("7", 1), ("10", 2)]))));
    assert_eq!(map.get("booleans"), Some(&Value::Map(Map::from([("false", 0), ("true", 1)]))));
    let document = Document::from_map(&map).unwrap();
    assert!(document.to_json(json::Format::RELAXED).is_ok());
    assert_eq!(Keyed::from_document(document).unwrap(), keyed());
}

#[test]
fn a_system_time_is_a_date() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct At {
        at: SystemTime,
        never: Option<SystemTime>,
    }
    let at = || At { at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123), never: None };
    let map = at().into_map().unwrap();
    assert_eq!(map.get("at"), Some(&Value::DateTime(1_700_000_000_123)));
    assert_eq!(At::from_document(Document::from_map(&map).unwrap()).unwrap(), at());
    let before = Document::from_map(&Map::from([("at", Value::DateTime(-1))])).unwrap();
    assert!(At::from_document(before).unwrap_err().to_string().contains("before 1970"));
}

#[test]
fn a_document_of_another_type_is_named() {
    let document = Document::from_json(r#"{"_id": "rex", "age": "old"}"#).unwrap();
    let error = Pet::from_document(document.clone()).unwrap_err();
    assert_eq!(error.id, Value::from("rex"));
    assert!(matches!(error.reason, DocumentError::Serde(_)), "{error}");
    assert_eq!(Document::from_document(document.clone()).unwrap(), document);
    assert_eq!(Map::from_document(document).unwrap().get("age"), Some(&Value::from("old")));
}

/// Accepts the same types as a collection of `T`, by the same bound as the handles of the library.
fn fields<T>(document: impl DocumentFor<T>) -> Map {
    document.into_fields().unwrap()
}

#[test]
fn a_typed_collection_takes_its_type_and_references_to_it() {
    let expected = parsed(r#"{"_id": "rex", "age": 3}"#);
    assert_eq!(fields::<Pet>(rex()), expected);
    assert_eq!(fields::<Pet>(&rex()), expected);
    assert_eq!(fields::<Document>(rex()), expected);
    assert_eq!(fields::<Document>(&rex()), expected);
    assert_eq!(fields::<Document>(r#"{"_id": "rex", "age": 3}"#), expected);
    assert_eq!(fields::<Document>(&Document::from_map(&expected).unwrap()), expected);
    assert_eq!(fields::<Map>(&expected), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn maps_of_ours_are_taken_unchanged(value in arbitrary::value()) {
        let map = Map::from([("a", value.clone()), ("b", Value::Array(vec![value]))]);
        if Value::Map(map.clone()).is_too_deep() {
            prop_assert!(map.into_map().is_err());
        } else {
            prop_assert_eq!(&(&map).into_map().unwrap(), &map);
            #[derive(Serialize)]
            struct Holder<'a> {
                map: &'a Map,
            }
            if let Ok(held) = (Holder { map: &map }).into_map() {
                prop_assert_eq!(held.get("map"), Some(&Value::Map(map)));
            }
        }
    }
}
