use super::*;
use alluvium_document::shape::ShapeOptions;

/// Encodes a document of a collection, and says whether the encoder knew its kind.
fn speculated(encoders: &Encoders, shapes: &Arc<ShapeTable>, n: u32) -> bool {
    let (mut row, mut key) = (Vec::new(), Vec::new());
    let line = format!(r#"{{"_id":{n},"kind":"dog","age":{n}}}"#);
    encoders.with(shapes, |encoder| encoder.encode_json_line(line.as_bytes(), &mut row, &mut key)).unwrap().speculated
}

/// Encodes documents until the encoder knows their kind.
fn learnt(encoders: &Encoders, shapes: &Arc<ShapeTable>) {
    assert!(!speculated(encoders, shapes, 0), "the first of its kind");
    assert!((1..20).any(|n| speculated(encoders, shapes, n)));
}

#[test]
fn an_encoder_stays_with_its_collection() {
    let encoders = Encoders::default();
    let tables: Vec<_> = (0..KEPT + 1).map(|_| Arc::new(ShapeTable::new(ShapeOptions::default()))).collect();
    learnt(&encoders, &tables[0]);
    learnt(&encoders, &tables[1]);
    assert!(speculated(&encoders, &tables[0], 30), "its encoder has learnt it");
    // The one that was used the longest ago is dropped.
    for table in &tables[2..] {
        let _known = speculated(&encoders, table, 40);
    }
    assert_eq!(encoders.idle.lock().len(), KEPT);
    assert!(speculated(&encoders, &tables[0], 50));
    learnt(&encoders, &tables[1]);
}
