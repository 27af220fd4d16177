use proptest::prelude::*;

use super::*;
use crate::row::encode_row;
use crate::row::tests::any_document;

fn table() -> Arc<ShapeTable> {
    Arc::new(ShapeTable::new(ShapeOptions::default()))
}

/// The document as it is read from storage after the `n`-th write.
fn stored(map: &Map, table: &Arc<ShapeTable>) -> Document {
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(map, table, Some("id"), &mut row, &mut shapes).unwrap();
    let key = map.get(ID).and_then(|id| key::id_key(id).ok()).unwrap_or(vec![rank::NULL]);
    Document::from_row(table, &key, row).unwrap()
}

fn parse(json: &str) -> Map {
    match json::parse(json.as_bytes()).unwrap() {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_are_read_one_by_one() {
    let map = parse(r#"{"_id":"x","a":{"b":[1,{"c":"deep"}]},"id":"x","n":5,"t":"text"}"#);
    let table = table();
    for _ in 0..3 {
        let document = stored(&map, &table);
        assert_eq!(document.id(), &Value::String("x".into()));
        assert_eq!(document.get("t").unwrap().unwrap().as_str(), Some("text"));
        assert_eq!(document.get_path("a.b.1.c").unwrap().unwrap().as_str(), Some("deep"));
        for path in ["a.b.2", "a.b.+1", "a.b.01", "a.b.-0", "a.b."] {
            assert!(document.get_path(path).unwrap().is_none(), "{path}");
        }
        assert!(document.get("other").unwrap().is_none());
        let fields = document.get_fields(&["t", "none", "_id", "n", "t", "id"]).unwrap();
        let fields: Vec<_> = fields.into_iter().map(|field| field.map(|field| field.to_value().unwrap())).collect();
        let text = |text: &str| Some(Value::String(text.into()));
        assert_eq!(fields, [text("text"), None, text("x"), Some(Value::Int32(5)), text("text"), text("x")]);
        assert_eq!(document.to_map().unwrap(), map);
        assert_eq!(document, Document::from_map(&map).unwrap());
        assert_eq!(document.iter().unwrap().count(), 5);
    }
}

#[test]
fn every_kind_of_id_comes_back() {
    let table = table();
    for id in [
        "\"\"",
        "\"x\"",
        "\"a\\u0000b\"",
        "\"fifteen letters\"",
        "\"ä\"",
        "1",
        "1.0",
        "1.5",
        "-7",
        "3000000000",
        "0.10",
        "99999999999999999999",
        "null",
        "true",
        "{\"a\":1}",
        "{\"$oid\":\"0123456789abcdef01234567\"}",
        "{\"$date\":\"2019-08-01T00:00:00Z\"}",
        "{\"$numberLong\":\"5\"}",
        "{\"$symbol\":\"s\"}",
        "{\"$minKey\":1}",
    ] {
        let map = parse(&format!("{{\"_id\":{id},\"a\":1}}"));
        for _ in 0..3 {
            let document = stored(&map, &table);
            assert_eq!(document.id(), map.get(ID).unwrap(), "{id}");
            assert_eq!(document.clone().to_map().unwrap(), map, "{id}");
        }
    }
}

#[test]
fn json_that_is_no_document_is_refused() {
    assert!(matches!(Document::from_json("{"), Err(DocumentError::Json(_))));
    assert_eq!(Document::from_json("[1]"), Err(DocumentError::NotADocument("array")));
    assert_eq!(Document::from_json("{\"a\":1}").unwrap().to_json(Format::RELAXED).unwrap(), "{\"a\":1}");
    assert_eq!(Document::default().to_json(Format::RELAXED).unwrap(), "{}");
    assert_eq!(Document::from_json("{\"a\":1}").unwrap().id(), &Value::Null);
}

#[test]
fn a_document_that_is_too_deep_is_not_made() {
    let mut value = Value::Null;
    for _ in 0..crate::MAX_DEPTH - 1 {
        value = Value::Array(vec![value]);
    }
    let map = |value: &Value| Map { entries: vec![(Value::String("a".into()), value.clone())] };
    assert!(Document::from_map(&map(&value)).is_ok());
    assert_eq!(Document::from_map(&map(&Value::Array(vec![value]))), Err(RowError::TooDeep));
}

#[test]
fn damage_is_an_error_where_it_lies() {
    let table = table();
    let map = parse(r#"{"_id":1,"a":"text","b":2}"#);
    stored(&map, &table);
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(&map, &table, None, &mut row, &mut shapes).unwrap();
    let key = key::id_key(&Value::Int32(1)).unwrap();
    row[2] = 0xff;
    let document = Document::from_row(&table, &key, row.clone()).unwrap();
    assert!(document.get("a").is_err());
    assert_eq!(document.id(), &Value::Int32(1));
    let mut out = b"before".to_vec();
    assert!(document.write_json(&mut out).is_err());
    assert_eq!(out, b"before");
    row[0] = 9;
    assert_eq!(Document::from_row(&table, &key, row.clone()).err(), Some(RowError::UnknownShape(9)));
    assert!(Document::from_row(&table, b"\xffnonsense", row.clone()).is_err());
    assert!(Document::from_row(&table, b"\x0f", Vec::new()).is_err());
}

#[test]
fn documents_go_to_other_threads() {
    fn check<T: Send + Sync + Clone + 'static>() {}
    check::<Document>();
}

fn printed(map: &Map) -> Result<Vec<u8>, DocumentError> {
    let mut out = Vec::new();
    json::print_map(map, Format::RELAXED, &mut out)?;
    Ok(out)
}

fn bson(map: &Map) -> Result<Vec<u8>, DocumentError> {
    let mut out = Vec::new();
    crate::bson::encode_document(map, &mut out)?;
    Ok(out)
}

#[test]
fn bytes_after_the_last_value_of_a_nested_map_are_damage() {
    let table =
        Arc::new(ShapeTable::new(ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::DEFAULT }));
    let map = parse(r#"{"a":{"b":1}}"#);
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(&map, &table, None, &mut row, &mut shapes).unwrap();
    assert_eq!(row, b"\x01\x2e\x01\x14");
    let trailing = Err(DocumentError::Row(RowError::Damaged(DecodeError::Invalid("bytes after the last field"))));
    for damaged in [&b"\x01\x2e\x02\x14\x14"[..], b"\x01\x2e\x01\x14\x14"] {
        let document = Document::from_row(&table, &[rank::NULL], damaged).unwrap();
        assert_eq!(document.write_json(&mut Vec::new()), trailing);
        assert_eq!(document.write_bson(&mut Vec::new()), trailing);
        assert_eq!(document.to_map().map_err(DocumentError::from).map(|_| ()), trailing);
    }
}

#[test]
fn names_with_zeros_are_refused_by_bson_alone() {
    let table = table();
    let map = parse("{\"_id\":1,\"a\\u0000\":{\"b\\u0000\":1}}");
    for _ in 0..3 {
        let document = stored(&map, &table);
        assert_eq!(document.to_bson_bytes(), Err(DocumentError::Bson(BsonError::Nul)));
        assert_eq!(document.to_json(Format::RELAXED).unwrap(), "{\"_id\":1,\"a\\u0000\":{\"b\\u0000\":1}}");
    }
}

#[test]
fn a_document_becomes_a_type_of_the_program() {
    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Comment {
        author: String,
        score: i64,
    }
    let table = table();
    for _ in 0..3 {
        let document = stored(&parse(r#"{"_id":1,"author":"x","score":5}"#), &table);
        assert_eq!(document.deserialize::<Comment>().unwrap(), Comment { author: "x".into(), score: 5 });
        assert!(matches!(document.deserialize::<Vec<i32>>(), Err(DocumentError::Serde(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn json_and_bson_from_the_row_are_those_of_the_value(map in any_document()) {
        let table = table();
        for _ in 0..3 {
            let document = stored(&map, &table);
            let mut out = Vec::new();
            let result = document.write_json(&mut out).map(|()| out);
            prop_assert_eq!(result, printed(&map));
            prop_assert_eq!(document.to_bson_bytes(), bson(&map));
        }
        let document = Document::from_map(&map).unwrap();
        prop_assert_eq!(document.to_bson_bytes(), bson(&map));
        prop_assert_eq!(&document.to_map().unwrap(), &map);
        prop_assert_eq!(document.to_json(Format::PRETTY).is_ok(), printed(&map).is_ok());
        prop_assert_eq!(document.id(), map.get(ID).unwrap_or(&Value::Null));
    }

    #[test]
    fn damaged_documents_give_errors_and_never_panic(
        map in any_document(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let table = table();
        for _ in 0..3 {
            let document = stored(&map, &table);
            let mut row = document.inner.bytes[..document.row_len()].to_vec();
            for (at, byte) in &changes {
                let at = at.index(row.len());
                row[at] = *byte;
            }
            if let Ok(document) = Document::from_row(&table, &[rank::NULL], row) {
                let mut out = Vec::new();
                let json = document.write_json(&mut out);
                let bytes = document.to_bson_bytes();
                match document.to_map() {
                    // If the row can be decoded, its text is that of the decoded map.
                    Ok(map) => {
                        prop_assert_eq!(json.map(|()| out), printed(&map));
                        prop_assert_eq!(bytes, bson(&map));
                    }
                    Err(_) => prop_assert!(json.is_err() && bytes.is_err()),
                }
                document.id();
                let _ = format!("{document:?}");
            }
        }
    }
}

/// The value of the key follows the row if the buffer has room, and is apart otherwise.
#[test]
fn a_buffer_with_and_without_room_gives_the_same_document() {
    let table = table();
    let map = crate::doc! {"_id": "rex", "kind": "dog", "id": "rex"};
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        row.clear();
        encode_row(&map, &table, None, &mut row, &mut shapes).unwrap();
    }
    let key = key::id_key(&Value::from("rex")).unwrap();
    let mut roomy = Document::row_buffer(row.len(), &key);
    roomy.extend_from_slice(&row);
    let exact = row.clone().into_boxed_slice().into_vec();
    for buffer in [roomy, exact] {
        let document = Document::from_row(&table, &key, buffer).unwrap();
        assert_eq!((document.row(), document.row_len()), (&row[..], row.len()));
        assert_eq!((document.to_map().unwrap(), document.id()), (map.clone(), &Value::from("rex")));
        assert_eq!(document.to_bson_bytes(), bson(&map));
        assert!(document.bson_size_max() >= document.bson_size().unwrap());
    }
}

#[test]
fn text_in_a_row_is_utf_8_or_refused() {
    for len in 0..40 {
        let text = "a".repeat(len) + "ä";
        for text in [text.as_bytes(), &text.as_bytes()[..len], &text.as_bytes()[..len + 1]] {
            let mut row = vec![0, 1 << 4 | MAP, 1 << 4 | STRING, b'a'];
            put_head(&mut row, STRING, text.len() as u64);
            row.extend_from_slice(text);
            let document = Document::from_row(&table(), &[rank::NULL], row).unwrap();
            assert_eq!(document.to_bson_bytes().is_ok(), std::str::from_utf8(text).is_ok(), "{text:?}");
        }
    }
}
