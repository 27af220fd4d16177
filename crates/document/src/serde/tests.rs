use super::*;
use crate::arbitrary;
use crate::decimal::Decimal;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Comment {
    id: String,
    score: i64,
    ratio: f64,
    edited: Option<bool>,
    tags: Vec<String>,
    kinds: Vec<Kind>,
    counts: BTreeMap<String, u32>,
    big: u64,
    wide: u128,
    pair: (i8, char),
    any: Value,
    nested: Map,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Plain,
    Wrapped(i32),
    Pair(i32, i32),
    Named { a: i32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct WithBson {
    id: bson::oid::ObjectId,
    date: bson::DateTime,
    decimal: bson::Decimal128,
    timestamp: bson::Timestamp,
    binary: bson::Binary,
    other: bson::Binary,
    regex: bson::Regex,
    any: bson::Bson,
}

fn comment() -> Comment {
    Comment {
        id: "c1".into(),
        score: 5,
        ratio: 0.5,
        edited: None,
        tags: vec!["a".into()],
        kinds: vec![Kind::Plain, Kind::Wrapped(1), Kind::Pair(2, 3), Kind::Named { a: 4 }],
        counts: BTreeMap::from([("x".into(), 7)]),
        big: u64::MAX,
        wide: u128::from(u64::MAX) * 1000,
        pair: (-1, 'é'),
        any: Value::DateTime(5),
        nested: Map::from([("k", 5i64)]),
    }
}

#[test]
fn a_struct_goes_to_a_value_and_back() {
    let value = to_value(&comment()).unwrap();
    let map = value.as_map().unwrap();
    assert_eq!(map.get("score"), Some(&Value::from(5i64)));
    assert_eq!(map.get("edited"), Some(&Value::Null));
    assert_eq!(map.get("big"), Some(&Value::Decimal(Decimal::from(u64::MAX))));
    assert_eq!(map.get("any"), Some(&Value::DateTime(5)));
    assert_eq!(from_value::<Comment>(value).unwrap(), comment());
}

#[test]
fn the_bson_crates_types_become_ours_and_come_back() {
    let ours = WithBson {
        id: bson::oid::ObjectId::from_bytes([7; 12]),
        date: bson::DateTime::from_millis(-1),
        decimal: "1.50".parse().unwrap(),
        timestamp: bson::Timestamp { time: u32::MAX, increment: 1 },
        binary: bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1] },
        other: bson::Binary { subtype: bson::spec::BinarySubtype::Uuid, bytes: vec![2; 16] },
        regex: bson::Regex { pattern: "a".try_into().unwrap(), options: "i".try_into().unwrap() },
        any: bson::Bson::MinKey,
    };
    let value = to_value(&ours).unwrap();
    let map = value.as_map().unwrap();
    assert_eq!(map.get("id"), Some(&Value::ObjectId([7; 12])));
    assert_eq!(map.get("date"), Some(&Value::DateTime(-1)));
    assert_eq!(map.get("decimal"), Some(&Value::Decimal("1.50".parse().unwrap())));
    assert_eq!(map.get("other"), Some(&Value::Binary(Binary { subtype: 4, bytes: vec![2; 16] })));
    assert_eq!(map.get("any"), Some(&Value::MinKey));
    assert_eq!(from_value::<WithBson>(value).unwrap(), ours);
}

#[test]
fn only_types_name_extended_json_to_us() {
    let map = BTreeMap::from([("$oid", "x")]);
    assert_eq!(to_value(&map).unwrap(), Value::Map(Map::from([("$oid", "x")])));
    #[derive(Serialize)]
    struct Bad {
        #[serde(rename = "$oid")]
        id: i32,
    }
    assert!(to_value(&Bad { id: 1 }).is_err());
}

#[test]
fn depth_is_bounded() {
    let mut value = Value::Null;
    for _ in 0..crate::MAX_DEPTH {
        value = Value::Array(vec![value]);
    }
    assert_eq!(to_value(&value).unwrap(), value);
    assert!(to_value(&[&value]).is_err());
    let json = (0..=crate::MAX_DEPTH).fold(serde_json::Value::Null, |inner, _| serde_json::Value::Array(vec![inner]));
    assert!(serde_json::from_value::<Value>(json.clone()).is_err());
    assert!(Value::try_from(json).is_err());
}

#[test]
fn wrong_types_are_errors() {
    assert!(from_value::<i32>("x".into()).is_err());
    assert!(from_value::<u8>(300.into()).is_err());
    assert!(from_value::<Kind>(5.into()).is_err());
    assert!(from_value::<Kind>("Other".into()).is_err());
    assert!(from_value::<Map>(Value::DateTime(1)).is_err());
    assert!(serde_json::from_str::<Value>(r#"{"$oid":"x"}"#).is_err());
    assert!(Value::try_from(serde_json::json!({"a": {"$oid": "x"}})).is_err());
    let map = Value::Map(Map { entries: vec![(1.into(), 1.into())] });
    assert_eq!(serde_json::Value::try_from(&map), Err(crate::json::PrintError::Key("int")));
}

#[test]
fn serde_json_values() {
    let json = serde_json::json!({"a": [1, 2.0, u64::MAX, null], "b": {"$date": {"$numberLong": "5"}}});
    let value = Value::try_from(json.clone()).unwrap();
    let list: Vec<Value> = vec![1.into(), 2.0.into(), u64::MAX.into(), ().into()];
    assert_eq!(value, Map::from([("a", Value::Array(list)), ("b", Value::DateTime(5))]).into());
    assert_eq!(serde_json::Value::try_from(&value).unwrap(), json);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_value_stays_what_it_is(value in arbitrary::value()) {
        prop_assert_eq!(&to_value(&value).unwrap(), &value);
        prop_assert_eq!(&from_value::<Value>(value.clone()).unwrap(), &value);
    }

    #[test]
    fn values_go_through_another_crates_json(value in arbitrary::json_value().prop_map(tame)) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        prop_assert_eq!(&crate::json::parse(text.as_bytes()).unwrap(), &value);
        let json = serde_json::Value::try_from(&value).unwrap();
        prop_assert_eq!(Value::try_from(json).unwrap(), value);
    }

    #[test]
    fn rarer_types_go_through_another_crates_json(value in arbitrary::bson_value().prop_map(tame)) {
        let text = serde_json::to_string(&value).unwrap();
        if let Ok(read) = crate::json::parse(text.as_bytes()) {
            prop_assert!(crate::compare::equal(&read, &value), "{:?} {:?}", read, value);
            prop_assert!(crate::compare::equal(&serde_json::from_str::<Value>(&text).unwrap(), &value));
        }
    }

    #[test]
    fn values_go_through_the_bson_crate(value in arbitrary::bson_value().prop_map(recent)) {
        if bson::Bson::try_from(value.clone()).is_err() {
            return Ok(());
        }
        let bson = bson::serialize_to_bson(&value).unwrap();
        prop_assert_eq!(&Value::from(bson.clone()), &value);
        prop_assert_eq!(bson::deserialize_from_bson::<Value>(bson).unwrap(), natural(value));
    }
}

/// Applies `change` to each scalar of a value.
fn each(value: Value, change: fn(Value) -> Value) -> Value {
    let map = |map: Map| Map { entries: map.entries.into_iter().map(|(k, v)| (k, each(v, change))).collect() };
    match value {
        Value::Array(elements) => Value::Array(elements.into_iter().map(|e| each(e, change)).collect()),
        Value::Map(entries) => Value::Map(map(entries)),
        Value::Code(mut code) => {
            code.scope = code.scope.map(map);
            change(Value::Code(code))
        }
        other => change(other),
    }
}

/// Other formats do not distinguish the widths of integers.
fn natural(value: Value) -> Value {
    each(value, |value| match value {
        Value::Int64(n) => i32::try_from(n).map_or(Value::Int64(n), Value::Int32),
        other => other,
    })
}

/// Doubles with a short text, because the other crate reads long ones with an error of one bit.
fn tame(value: Value) -> Value {
    each(value, |value| match value {
        Value::Double(Double(x)) if x.is_finite() => Value::from((x % 1000.0).trunc() / 4.0),
        other => other,
    })
}

/// Dates up to the year 9999, because the deserializer of the other crate changes all other dates.
fn recent(value: Value) -> Value {
    each(value, |value| match value {
        Value::DateTime(millis) => Value::DateTime(millis.rem_euclid(1 << 47)),
        other => other,
    })
}

/// Dates and a UUID, at every place that a struct can have.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct WithForeign {
    #[serde(rename = "_id")]
    id: ::uuid::Uuid,
    at: ::chrono::DateTime<::chrono::Utc>,
    seen: Option<::jiff::Timestamp>,
    times: Vec<::chrono::DateTime<::chrono::Utc>>,
    by_name: BTreeMap<String, ::jiff::Timestamp>,
    by_day: BTreeMap<::jiff::Timestamp, u8>,
    wrapped: Wrapped,
    kind: Dated,
    local: ::chrono::DateTime<::chrono::FixedOffset>,
    text: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(::jiff::Timestamp);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Dated {
    On(::chrono::DateTime<::chrono::Utc>),
}

#[test]
fn dates_and_uuids_of_other_crates_are_dates_and_uuids() {
    let at = ::chrono::DateTime::from_timestamp_millis(1_767_225_599_123).unwrap();
    let seen = ::jiff::Timestamp::from_millisecond(-1).unwrap();
    let id = ::uuid::Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    let ours = WithForeign {
        id,
        at,
        seen: Some(seen),
        times: vec![at, ::chrono::DateTime::from_timestamp(253_402_300_800, 0).unwrap()],
        by_name: BTreeMap::from([("a".to_owned(), seen)]),
        by_day: BTreeMap::from([(seen, 1)]),
        wrapped: Wrapped(seen),
        kind: Dated::On(at),
        local: at.fixed_offset(),
        text: "2026-01-01T00:00:00Z".to_owned(),
    };
    let value = to_value(&ours).unwrap();
    let map = value.as_map().unwrap();
    let date = Value::DateTime(1_767_225_599_123);
    assert_eq!(map.get("_id"), Some(&Value::Binary(Binary { subtype: 4, bytes: id.as_bytes().to_vec() })));
    assert_eq!(map.get("at"), Some(&date));
    assert_eq!(map.get("seen"), Some(&Value::DateTime(-1)));
    // The first moment of the year 10000.
    assert_eq!(map.get("times"), Some(&Value::Array(vec![date.clone(), Value::DateTime(253_402_300_800_000)])));
    assert_eq!(map.get("by_name"), Some(&Value::Map(Map::from([("a", Value::DateTime(-1))]))));
    assert_eq!(map.get("by_day"), Some(&Value::Map(Map::from([("1969-12-31T23:59:59.999Z", 1)]))));
    assert_eq!(map.get("wrapped"), Some(&Value::DateTime(-1)));
    assert_eq!(map.get("kind"), Some(&Value::Map(Map::from([("On", date)]))));
    assert!(map.get("local").unwrap().as_str().is_some(), "a date would lose the offset");
    assert_eq!(map.get("text"), Some(&Value::from("2026-01-01T00:00:00Z")));
    assert_eq!(from_value::<WithForeign>(value.clone()).unwrap(), ours);
    let document = crate::Document::from_map(map).unwrap();
    assert_eq!(document.deserialize::<WithForeign>().unwrap(), ours);
}

#[test]
fn a_date_is_no_string_and_text_is_read_as_a_date() {
    #[derive(Debug, Deserialize)]
    struct Text {
        #[expect(dead_code, reason = "only its type counts")]
        at: String,
    }
    #[derive(Debug, Deserialize)]
    struct Date {
        at: ::chrono::DateTime<::chrono::Utc>,
    }
    let date = Map::from([("at", Value::DateTime(5))]);
    assert!(from_value::<Text>(Value::Map(date.clone())).is_err());
    assert!(crate::Document::from_map(&date).unwrap().deserialize::<Text>().is_err());
    let text = Map::from([("at", "1970-01-01T00:00:00.005Z")]);
    assert_eq!(from_value::<Date>(Value::Map(text)).unwrap().at.timestamp_millis(), 5);
}
