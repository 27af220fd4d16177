//! Documents and updates for tests.

pub mod arbitrary;
pub mod computed;
pub mod filters;
pub mod focused;
pub mod golden;
pub mod naive;
pub mod nested;
pub mod rules;

use std::sync::Arc;

use alluvium_document::row::encode_row;
use alluvium_document::shape::{ShapeOptions, ShapeTable};
use alluvium_document::{Document, Draft, Map, Value, json, key};

/// The map that JSON text represents.
pub fn map_of(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

/// A draft of a document that has an `_id` and is stored under a shape.
pub fn draft_of(map: &Map) -> Draft {
    stored(map).0
}

/// As [`draft_of`], with the shapes.
pub fn stored(map: &Map) -> (Draft, Arc<ShapeTable>) {
    let options = ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() };
    let table = Arc::new(ShapeTable::new(options));
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(map, &table, None, &mut row, &mut shapes).unwrap();
    let id = key::id_key(map.get("_id").unwrap()).unwrap();
    (Draft::new(Document::from_row(&table, &id, row).unwrap()).unwrap(), table)
}

/// A draft of a document that is self-describing.
pub fn plain(map: &Map) -> Draft {
    Draft::new(Document::from_map(map).unwrap()).unwrap()
}

/// A document that has an `_id` and is stored under a shape.
pub fn stored_document(map: &Map) -> Document {
    let options = ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() };
    let table = Arc::new(ShapeTable::new(options));
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(map, &table, None, &mut row, &mut shapes).unwrap();
    let id = key::id_key(map.get("_id").unwrap()).unwrap();
    Document::from_row(&table, &id, row).unwrap()
}
