use super::*;
use alluvium_document::shape::ShapeOptions;

/// Encodes a document of a collection, and says whether the encoder knew its kind.
fn speculated(encoders: &Encoders, shapes: &Arc<ShapeTable>, n: u32) -> bool {
    let (mut row, mut key) = (Vec::new(), Vec::new());
    let line = format!(r#"{{"_id":{n},"kind":"dog","age":{n}}}"#);
    encoders.with(shapes, |encoder| encoder.encode_json_line(line.as_bytes(), &mut row, &mut key)).unwrap().speculated
}

#[test]
fn an_encoder_stays_with_its_collection() {
    let encoders = Encoders::default();
    let tables: Vec<_> = (0..KEPT + 1).map(|_| Arc::new(ShapeTable::new(ShapeOptions::default()))).collect();
    assert!(!speculated(&encoders, &tables[0], 1), "the first of its kind");
    assert!(speculated(&encoders, &tables[0], 2));
    assert!(!speculated(&encoders, &tables[1], 3), "of another collection");
    assert!(speculated(&encoders, &tables[0], 4));
    // The one that was used the longest ago is dropped.
    tables[2..].iter().for_each(|table| drop(speculated(&encoders, table, 5)));
    assert_eq!(encoders.idle.lock().len(), KEPT);
    assert!(speculated(&encoders, &tables[0], 6));
    assert!(!speculated(&encoders, &tables[1], 7));
}
