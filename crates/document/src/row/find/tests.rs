use super::*;
use crate::Document;
use crate::row::encode_row;
use crate::row::tests::any_document;
use crate::shape::{ShapeOptions, ShapeTable};
use crate::value::{Map, Value};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #[test]
    fn found_fields_are_those_of_the_document(documents in proptest::collection::vec(any_document(), 1..6)) {
        // Shapes are created at the first or at the second occurrence, so that rows with and without a shape alternate.
        for document_sightings in [1, 2] {
            let options = ShapeOptions { document_sightings, nested_sightings: 1, ..ShapeOptions::default() };
            let table = Arc::new(ShapeTable::new(options));
            for names in [&["b", "a", "id", "_id"][..], &["ä\n", "", "b", "b"], &["_id"], &[]] {
                let mut finder = FieldFinder::new(names.iter().copied());
                for document in documents.iter().chain(&documents) {
                    let mut row = Vec::new();
                    encode_row(document, &table, Some("id"), &mut row, &mut Vec::new()).unwrap();
                    let Some(id) = document.get("_id") else { continue };
                    let Ok(key) = crate::key::id_key(id) else { continue };
                    let stored = Document::from_row(&table, &key, row).unwrap();
                    let map = stored.map().unwrap();
                    finder.find(map).unwrap();
                    for (at, name) in names.iter().enumerate() {
                        let found = finder.value(map, at).unwrap().map(|value| value.to_value().unwrap());
                        prop_assert_eq!(&found, &map.get(name).unwrap().map(|value| value.to_value().unwrap()));
                    }
                    prop_assert!(finder.value(map, names.len()).unwrap().is_none());
                }
            }
        }
    }
}

/// Damage is an error, and never a panic.
#[test]
fn damaged_rows_are_refused() {
    let table = Arc::new(ShapeTable::new(ShapeOptions { document_sightings: 1, ..ShapeOptions::default() }));
    let document = Map::from([("_id", Value::from(1)), ("a", Value::from("text")), ("b", Value::from(2))]);
    let mut row = Vec::new();
    encode_row(&document, &table, None, &mut row, &mut Vec::new()).unwrap();
    let key = crate::key::id_key(&Value::from(1)).unwrap();
    let mut refused = 0;
    for end in 0..row.len() {
        let mut id = Vec::new();
        let Ok(view) = Document::view(&table, &key, &row[..end], &mut id) else { continue };
        let mut finder = FieldFinder::new(["a", "b"]);
        let read = finder.find(view).and_then(|()| finder.value(view, 0).and(finder.value(view, 1)).map(drop));
        refused += u32::from(read.is_err());
    }
    assert!(refused >= 5, "{refused}");
}

/// Shapes of two tables may have one number. The fields of one must not be looked for at the positions of the other.
#[test]
fn rows_of_two_collections_are_told_apart() {
    let options = ShapeOptions { document_sightings: 1, ..ShapeOptions::default() };
    let stored = |document: &Map| {
        let (table, mut row) = (Arc::new(ShapeTable::new(options)), Vec::new());
        encode_row(document, &table, None, &mut row, &mut Vec::new()).unwrap();
        Document::from_row(&table, &crate::key::id_key(&Value::from(1)).unwrap(), row).unwrap()
    };
    let one = stored(&Map::from([("_id", Value::from(1)), ("a", Value::from(2)), ("b", Value::from(3))]));
    let other = stored(&Map::from([("_id", Value::from(1)), ("b", Value::from(4)), ("a", Value::from(5))]));
    let number = |document: &Document| document.map().unwrap().shape().unwrap().number();
    assert_eq!(number(&one), number(&other));
    let (mut finder, mut picker) = (FieldFinder::new(["a"]), crate::row::FieldPicker::new(["a"]));
    for (document, a) in [(&one, 2), (&other, 5), (&one, 2)] {
        let map = document.map().unwrap();
        finder.find(map).unwrap();
        assert_eq!(finder.value(map, 0).unwrap().and_then(|value| value.as_i64()), Some(a));
        assert_eq!(document.pick(&mut picker).unwrap().to_string(), format!(r#"{{"a":{a}}}"#));
    }
}
