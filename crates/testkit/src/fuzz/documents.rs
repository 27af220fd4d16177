//! Parsers and encodings of documents in every format.

use alluvium_document::json::{self, Format};
use alluvium_document::row::{decode_row, encode_row};
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_document::speculate::Encoder;
use alluvium_document::{Document, Map, Value, bson as bson_form, compare, encoding as own, key};
use std::sync::Arc;

fn same(a: &Value, b: &Value, what: &str) {
    assert!(a == b, "{what}: {a:?} became {b:?}");
}

/// Converts a value to every format that can represent it, and back.
fn round_trips(value: &Value) {
    let mut bytes = Vec::new();
    own::encode(value, &mut bytes);
    let back = own::decode(&mut bytes.as_slice()).unwrap_or_else(|e| panic!("{e}: {value:?} encoded as {bytes:?}"));
    same(value, &back, "self-describing");
    let mut rest = bytes.as_slice();
    own::skip(&mut rest).unwrap_or_else(|e| panic!("{e}: {value:?} cannot be passed over"));
    assert!(rest.is_empty(), "{value:?} is not passed over whole");
    let mut ordered = Vec::new();
    key::encode(value, &mut ordered);
    let mut rest = ordered.as_slice();
    let back = key::decode(&mut rest).unwrap_or_else(|e| panic!("{e}: the key of {value:?}"));
    assert!(rest.is_empty() && compare::equal(value, &back), "the key of {value:?} says {back:?}");
    if let Value::Map(map) = value {
        let mut bytes = Vec::new();
        if bson_form::encode_document(map, &mut bytes).is_ok() {
            assert_eq!(bytes.len(), bson_form::document_size(map), "the size of {map:?} in BSON");
            // After the first decoding, options of regular expressions are sorted.
            let (once, twice) = (bson_again(&bytes), bson_again(&bson_again(&bytes)));
            assert_eq!((bytes.len(), &once), (once.len(), &twice), "{map:?} in BSON, and back");
        }
        as_row(map);
    }
}

/// Decodes and encodes BSON.
fn bson_again(bytes: &[u8]) -> Vec<u8> {
    let map = bson_form::decode_document(bytes).unwrap_or_else(|e| panic!("{e}: {bytes:?}"));
    let mut again = Vec::new();
    bson_form::encode_document(&map, &mut again).unwrap_or_else(|e| panic!("{e}: {map:?}"));
    again
}

/// Encodes a document as a row with new shapes, and reads it.
fn as_row(map: &Map) {
    let Some(id) = map.get("_id") else { return };
    let Ok(key) = key::id_key(id) else { return };
    let options = ShapeOptions { document_sightings: 1, nested_sightings: 1, max_shapes: 64 };
    let table = Arc::new(ShapeTable::new(options));
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    if encode_row(map, &table, None, &mut row, &mut shapes).is_err() {
        return;
    }
    let back = decode_row(&row, &table, id).unwrap_or_else(|e| panic!("{e}: the row of {map:?}"));
    assert!(back == *map, "as a row {map:?} became {back:?}");
    let document = Document::from_row(&table, &key, row).unwrap_or_else(|e| panic!("{e}: {map:?}"));
    for (name, value) in map.iter().filter_map(|(name, value)| Some((name.as_str()?, value))) {
        let found = document.get(name).unwrap_or_else(|e| panic!("{e}: {name} of {map:?}"));
        // If two fields have the same name, the first one counts.
        let first = map.get(name).unwrap_or(value);
        assert!(found.is_some_and(|found| found.to_value().is_ok_and(|found| found == *first)), "{name} of {map:?}");
    }
}

/// JSON text: a parsed value is printed so that it is parsed as the same value.
pub fn json(data: &[u8]) {
    let Ok(value) = json::parse(data) else { return };
    round_trips(&value);
    for format in [Format::CANONICAL, Format::RELAXED] {
        let mut text = Vec::new();
        if json::print(&value, format, &mut text).is_err() {
            continue;
        }
        let back = json::parse(&text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&text)));
        match format.canonical {
            true => same(&value, &back, "canonical JSON"),
            false => assert!(compare::equal(&value, &back), "relaxed JSON: {value:?} became {back:?}"),
        }
    }
    if let Value::Map(map) = &value {
        let mut text = Vec::new();
        json::print_exact(map, &mut text).unwrap_or_else(|e| panic!("{e}: {map:?}"));
        let back = json::parse_exact(&text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&text)));
        same(&value, &back, "exact JSON");
    }
}

/// Speculative encoding of JSON lines must give the same rows, keys and errors as the full parser.
pub fn json_lines(data: &[u8]) {
    let options = ShapeOptions { document_sightings: 1, nested_sightings: 1, max_shapes: 64 };
    let (table, plain) = (Arc::new(ShapeTable::new(options)), ShapeTable::new(options));
    let mut encoder = Encoder::new(table.clone(), "_id");
    for line in data.split(|byte| *byte == b'\n') {
        let (mut row, mut id) = (Vec::new(), Vec::new());
        let fast = encoder.encode_json_line(line, &mut row, &mut id);
        let mut slow = json::parse(line);
        // The speculative encoder puts the `_id` first, wherever it is in the line.
        if let Ok(Value::Map(map)) = &mut slow
            && let Some(id) = map.remove("_id")
        {
            map.entries.insert(0, (Value::from("_id"), id));
        }
        match (fast, slow) {
            (Ok(encoded), Ok(Value::Map(map))) => {
                encoded.new_shapes.iter().for_each(|shape| table.mark_committed(shape.number()));
                let document_id = map.get("_id").unwrap_or_else(|| panic!("without an _id: {map:?}"));
                let back = decode_row(&row, &table, document_id).unwrap_or_else(|e| panic!("{e}: {map:?}"));
                assert!(back == map, "speculating, {map:?} became {back:?}");
                assert_eq!(id, key::id_key(document_id).unwrap_or_else(|e| panic!("{e}: {map:?}")));
                let (mut other, mut shapes) = (Vec::new(), Vec::new());
                encode_row(&map, &plain, None, &mut other, &mut shapes).unwrap_or_else(|e| panic!("{e}: {map:?}"));
                shapes.iter().for_each(|shape| plain.mark_committed(shape.number()));
                assert_eq!(row, other, "the row of {map:?}");
            }
            (Ok(_), other) => panic!("speculating takes {:?}, which is {other:?}", String::from_utf8_lossy(line)),
            (Err(error), Ok(Value::Map(map))) => {
                let takes = map.get("_id").is_some_and(|id| key::id_key(id).is_ok());
                let (mut other, mut shapes) = (Vec::new(), Vec::new());
                let takes = takes && encode_row(&map, &plain, None, &mut other, &mut shapes).is_ok();
                assert!(!takes, "speculating refuses {map:?}: {error}");
            }
            (Err(_), _) => {}
        }
    }
}

/// BSON: accepted bytes are encoded as the same bytes.
pub fn bson(data: &[u8]) {
    let Ok((map, used)) = bson_form::take_document(data) else { return };
    let mut bytes = Vec::new();
    if bson_form::encode_document(&map, &mut bytes).is_err() {
        return;
    }
    let back = bson_form::decode_document(&bytes).unwrap_or_else(|e| panic!("{e}: {map:?}"));
    assert!(back == map, "{map:?} became {back:?}");
    // The names of an array's elements are normalised.
    if bytes.len() == used {
        assert_eq!(bytes.len(), bson_form::document_size(&map));
    }
    round_trips(&Value::Map(map));
}

/// The self-describing encoding.
pub fn encoding(data: &[u8]) {
    let (mut rest, mut passed) = (data, data);
    let decoded = own::decode(&mut rest);
    let skipped = own::skip(&mut passed);
    if let Ok(value) = decoded {
        assert!(skipped.is_ok() && passed.len() == rest.len(), "{value:?} is passed over otherwise than it is read");
        round_trips(&value);
    }
}

/// The keys of two values compare like the values.
pub fn keys(data: &[u8]) {
    let mut rest = data;
    let Ok(first) = key::decode(&mut rest) else { return };
    let Ok(second) = key::decode(&mut rest) else { return };
    let encoded = |value: &Value| {
        let mut out = Vec::new();
        key::encode(value, &mut out);
        out
    };
    let (a, b) = (encoded(&first), encoded(&second));
    assert_eq!(a.cmp(&b), compare::compare(&first, &second), "{first:?} and {second:?}");
    assert!(a == b || !(a.starts_with(&b) || b.starts_with(&a)), "a key begins another: {first:?} and {second:?}");
    round_trips(&first);
}

/// A shape, and a row with it.
pub fn rows(data: &[u8]) {
    let mut rest = data;
    let Ok(shape) = Shape::decode(&mut rest) else { return };
    let mut again = Vec::new();
    shape.encode(&mut again);
    let decoded = Shape::decode(&mut again.as_slice()).unwrap_or_else(|e| panic!("{e}: {shape:?}"));
    assert_eq!(decoded.fields(), shape.fields());
    let next = shape.number().saturating_add(1);
    let Ok(table) = ShapeTable::open(ShapeOptions::DEFAULT, [shape], next).map(Arc::new) else { return };
    let id = Value::Int32(1);
    let key = key::id_key(&id).expect("a number is an _id");
    let _noted = alluvium_document::row::shapes_used(rest, &mut |_| {});
    let whole = decode_row(rest, &table, &id);
    if let Ok(document) = Document::from_row(&table, &key, rest) {
        let lazily = document.to_map();
        assert_eq!(whole.is_ok(), lazily.is_ok(), "{whole:?} and {lazily:?}");
        if let (Ok(whole), Ok(lazily)) = (whole, lazily) {
            assert!(whole == lazily, "{whole:?} and {lazily:?}");
            let _values: Vec<_> = whole.iter().filter_map(|(name, _)| document.get(name.as_str()?).ok()).collect();
        }
    }
}

/// A path.
pub fn paths(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(path) = text.parse::<alluvium_document::path::FieldPath>() else { return };
    assert_eq!(path.as_str(), text);
    assert_eq!(path.names().count(), path.depth());
    assert_eq!(path.names().collect::<Vec<_>>().join("."), text);
    let value = json::parse(br#"{"a":[{"b":1},{"b":[2,{"0":3}]}],"":{"":4},"0":[5]}"#).expect("a value");
    let _found = path.get(&value);
    let _visited = path.visit(&value, &mut |_| {});
}
