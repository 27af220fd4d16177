use super::*;
use crate::bson::{decode_document, encode_document};
use crate::doc;

#[test]
fn what_is_built_is_what_is_encoded() {
    let mut builder = BsonBuilder::new(b"before".to_vec());
    builder.open_document("cursor").expect("a name");
    builder.open_array("firstBatch").expect("a name");
    for n in 0..12 {
        let document = Document::from_map(&doc! {"n": n}).expect("a document");
        assert_eq!(builder.push(&document).expect("BSON"), 12);
    }
    builder.close().expect("small");
    builder.put("id", &Value::Int64(7)).expect("a field");
    assert_eq!(builder.put("with\0zero", &Value::Null), Err(BsonError::Nul));
    builder.close().expect("small");
    builder.put("ok", &Value::from(1.0)).expect("a field");
    let built = builder.finish().expect("small");
    let documents: Vec<Value> = (0..12).map(|n| Value::Map(doc! {"n": n})).collect();
    let expected = doc! {"cursor": {"firstBatch": Value::Array(documents), "id": 7_i64}, "ok": 1.0};
    let mut bytes = b"before".to_vec();
    encode_document(&expected, &mut bytes).expect("BSON");
    assert_eq!(built, bytes);
    assert_eq!(decode_document(&built[6..]).expect("BSON"), expected);
}
