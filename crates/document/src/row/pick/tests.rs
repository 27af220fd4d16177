use super::*;
use crate::Document;
use crate::row::encode_row;
use crate::row::tests::any_document;
use crate::shape::{ShapeOptions, ShapeTable};
use crate::value::{Map, Value};
use proptest::prelude::*;
use std::sync::Arc;

/// The fields with these names.
fn picked(document: &Map, names: &[&str]) -> Map {
    let is_picked = |key: &Value| key.as_str().is_some_and(|name| names.contains(&name));
    Map { entries: document.entries.iter().filter(|(key, _)| is_picked(key)).cloned().collect() }
}

proptest! {
    #[test]
    fn picked_fields_are_those_of_the_document(documents in proptest::collection::vec(any_document(), 1..6)) {
        // Shapes are created at the first or at the second occurrence, so that rows with and without a shape alternate.
        for document_sightings in [1, 2] {
            let options = ShapeOptions { document_sightings, nested_sightings: 1, ..ShapeOptions::default() };
            let table = Arc::new(ShapeTable::new(options));
            for names in [&["a", "id", "_id"][..], &["ä\n", "", "b", "b"], &["_id"], &[]] {
                let mut picker = FieldPicker::new(names.iter().copied());
                for document in documents.iter().chain(&documents) {
                    let (mut row, mut out) = (Vec::new(), Vec::new());
                    encode_row(document, &table, Some("id"), &mut row, &mut Vec::new()).unwrap();
                    let Some(id) = document.get("_id") else { continue };
                    let Ok(key) = crate::key::id_key(id) else { continue };
                    let stored = Document::from_row(&table, &key, row).unwrap();
                    picker.put_row(stored.map().unwrap(), &mut out).unwrap();
                    let read = Document::from_fields(&table, out).unwrap();
                    let expected = picked(&stored.to_map().unwrap(), names);
                    prop_assert_eq!(read.to_map().unwrap(), expected);
                    if names.contains(&"_id") {
                        prop_assert_eq!(read.id(), stored.id());
                    }
                }
            }
        }
    }

    /// A copy of all fields of a row equals the row.
    #[test]
    fn a_copied_row_is_the_row(document in any_document()) {
        let table = Arc::new(ShapeTable::new(ShapeOptions { document_sightings: 2, ..ShapeOptions::default() }));
        for _ in 0..2 {
            let (mut row, mut copy) = (Vec::new(), Vec::new());
            encode_row(&document, &table, None, &mut row, &mut Vec::new()).unwrap();
            Document::view(&table, &[5], &row, &mut Vec::new()).unwrap().put_row(&mut copy);
            prop_assert_eq!(copy, row);
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
        refused += u32::from(FieldPicker::new(["a", "b"]).put_row(view, &mut Vec::new()).is_err());
    }
    assert!(refused >= 5, "{refused}");
}
