use super::*;
use crate::arbitrary;
use crate::document::{Document, DocumentError};
use crate::key::id_key;
use crate::row::encode_row;
use crate::shape::{ShapeOptions, ShapeTable};
use crate::value::Map;
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::Arc;

/// Fields that may have any type in a document, deserialized as one type.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(default)]
struct Typed {
    a: Option<i64>,
    b: Option<String>,
    c: Option<Vec<Value>>,
    d: Option<f64>,
    e: Option<Kind>,
    f: Option<BTreeMap<i32, Value>>,
    g: Option<(Value, Value)>,
    h: Option<u64>,
    i: Option<serde_bytes_like::Bytes>,
    j: Option<std::time::SystemTime>,
    k: Option<Box<Typed>>,
    l: Option<bson::oid::ObjectId>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

impl Default for Typed {
    fn default() -> Self {
        let (a, b, c, d, e, f, g) = (None, None, None, None, None, None, None);
        Self { a, b, c, d, e, f, g, h: None, i: None, j: None, k: None, l: None, rest: BTreeMap::new() }
    }
}

/// A few fields of a document; the others are skipped.
#[derive(Debug, PartialEq, Deserialize)]
struct Some3 {
    a: Value,
    #[serde(default)]
    b: Option<Vec<(i64, String)>>,
    #[serde(default)]
    k: Option<HashMap<u8, bool>>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Loose {
    Number(i32),
    Text(String),
    Many(Vec<Loose>),
    Named(BTreeMap<String, Loose>),
}

#[derive(Debug, PartialEq, Deserialize)]
enum Kind {
    Plain,
    Wrapped(i32),
    Pair(i32, i32),
    Named { a: i32 },
}

/// Deserializes as `serde_bytes::ByteBuf` does.
mod serde_bytes_like {
    use serde::de::{Deserialize, Deserializer, Error, Visitor};

    #[derive(Debug, PartialEq)]
    pub struct Bytes(Vec<u8>);

    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visit;
            impl Visitor<'_> for Visit {
                type Value = Bytes;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("bytes")
                }

                fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                    Ok(Bytes(bytes.to_vec()))
                }
            }
            deserializer.deserialize_byte_buf(Visit)
        }
    }
}

/// The document with shapes, and without shapes.
fn stored(fields: &Map) -> [Document; 2] {
    let (table, row) = shaped(fields);
    [Document::from_row(&table, &key(), row).unwrap(), Document::from_map(fields).unwrap()]
}

/// The row of a document whose `_id` is 1, and its shapes.
fn shaped(fields: &Map) -> (Arc<ShapeTable>, Vec<u8>) {
    let table = Arc::new(ShapeTable::new(ShapeOptions::DEFAULT));
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(fields, &table, None, &mut row, &mut shapes).unwrap();
    (table, row)
}

fn key() -> Vec<u8> {
    id_key(&1.into()).unwrap()
}

/// Checks that a type is deserialized from rows with the same result as from values, including errors.
fn same<T: DeserializeOwned + PartialEq + Debug>(fields: &Map) {
    let expected = crate::serde::from_value::<T>(Value::Map(fields.clone())).map_err(DocumentError::Serde);
    for document in stored(fields) {
        assert_eq!(document.deserialize::<T>(), expected);
    }
}

fn all_types(fields: &Map) {
    same::<Value>(fields);
    same::<Map>(fields);
    same::<Typed>(fields);
    same::<Some3>(fields);
    same::<Loose>(fields);
    same::<serde_json::Value>(fields);
    same::<BTreeMap<String, Value>>(fields);
    same::<BTreeMap<String, Loose>>(fields);
    same::<HashMap<String, i64>>(fields);
    same::<(i32, i32)>(fields);
    same::<Kind>(fields);
    same::<Option<Typed>>(fields);
    same::<()>(fields);
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    let name =
        proptest::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "7", "Wrapped"]);
    proptest::collection::vec((name, value), 0..8).prop_map(|entries| {
        let mut map = Map::from([("_id", 1)]);
        for (name, value) in entries {
            map.insert(name, value);
        }
        map
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn rows_are_read_as_their_values_are(fields in fields(arbitrary::value())) {
        all_types(&fields);
    }

    #[test]
    fn damaged_rows_are_errors(fields in fields(arbitrary::value()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (table, mut row) = shaped(&fields);
        let at = at.index(row.len());
        row[at] = byte;
        let Ok(damaged) = Document::from_row(&table, &key(), row) else { return Ok(()) };
        let whole = damaged.to_map();
        match damaged.deserialize::<BTreeMap<String, Value>>() {
            Err(DocumentError::Row(_)) => prop_assert!(whole.is_err()),
            Ok(_) => prop_assert!(whole.is_ok()),
            // A name has become a value of another type.
            Err(error) => prop_assert!(error.to_string().contains("expected a string"), "{error}"),
        }
    }
}

#[test]
fn chosen_documents_are_read_as_their_values_are() {
    for text in [
        r#"{"_id":1,"a":1,"b":[[1,"x"],[2,"y"]],"k":{"1":true,"255":false}}"#,
        r#"{"_id":1,"a":{"b":{}},"b":[[1,"x",3]]}"#,
        r#"{"_id":1,"a":[],"k":{"256":true}}"#,
        r#"{"_id":1,"e":"Plain"}"#,
        r#"{"_id":1,"e":{"Pair":[1,2]}}"#,
        r#"{"_id":1,"e":{"Pair":[1,2,3]}}"#,
        r#"{"_id":1,"e":{"Named":{"a":1}}}"#,
        r#"{"_id":1,"g":[1]}"#,
        r#"{"_id":1,"h":{"$numberDecimal":"18446744073709551615"}}"#,
        r#"{"_id":1,"i":{"$binary":{"base64":"AQI=","subType":"05"}}}"#,
        r#"{"_id":1,"j":{"$date":"2024-01-01T00:00:00Z"}}"#,
        r#"{"_id":1,"j":{"$date":"1924-01-01T00:00:00Z"}}"#,
        r#"{"_id":1,"k":{"k":{"a":5,"more":[{"x":null}]}}}"#,
        r#"{"_id":1,"l":{"$oid":"0123456789abcdef01234567"}}"#,
        r#"{"Wrapped":5,"_id":1}"#,
    ] {
        let Value::Map(fields) = crate::json::parse(text.as_bytes()).unwrap() else { unreachable!() };
        all_types(&fields);
    }
}

/// A damaged row can nest without limit. It is refused at the maximum depth, so the stack does not overflow.
#[test]
fn deep_damage_is_refused() {
    let mut row = vec![0, 1 << 4 | crate::encoding::MAP, 1 << 4 | crate::encoding::STRING, b'a'];
    row.extend(std::iter::repeat_n(1 << 4 | crate::encoding::ARRAY, 1_000_000));
    row.push(crate::encoding::NULL);
    let table = Arc::new(ShapeTable::new(ShapeOptions::DEFAULT));
    let damaged = Document::from_row(&table, &key(), row).unwrap();
    assert!(matches!(damaged.deserialize::<Loose>(), Err(DocumentError::Row(_))));
    assert!(damaged.deserialize::<serde_json::Value>().is_err_and(|error| matches!(error, DocumentError::Row(_))));
}
