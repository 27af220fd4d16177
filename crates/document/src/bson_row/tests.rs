use super::*;
use crate::bson::{decode_document, encode_document};
use crate::row::encode_row;
use crate::row::tests::any_document;
use crate::shape::ShapeOptions;
use crate::value::Map;
use proptest::prelude::*;

fn table() -> ShapeTable {
    ShapeTable::new(ShapeOptions { document_sightings: 2, nested_sightings: 3, ..ShapeOptions::DEFAULT })
}

/// The row, its new shapes, and the `_id`, computed from the decoded document.
fn by_map(document: &Map, table: &ShapeTable) -> (Vec<u8>, Vec<u32>) {
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(document, table, None, &mut row, &mut shapes).expect("a row");
    (row, shapes.iter().map(|shape| shape.number()).collect())
}

fn with_id(mut document: Map, id: Value) -> Map {
    document.remove("_id");
    document.entries.insert(0, (Value::from("_id"), id));
    document
}

proptest! {
    #[test]
    fn rows_are_those_of_decoded_documents(documents in proptest::collection::vec(any_document(), 1..6), n in any::<i64>()) {
        let (of_maps, of_bytes) = (table(), table());
        let mut encoder = BsonRowEncoder::default();
        for document in documents {
            for id in [Value::Int64(n), Value::Int32(n as i32), Value::from("rex"), Value::ObjectId([7; 12])] {
                let mut bytes = Vec::new();
                let document = with_id(document.clone(), id.clone());
                if encode_document(&document, &mut bytes).is_err() {
                    continue;
                }
                // Decoded from BSON, so that details that BSON does not keep are removed.
                let document = decode_document(&bytes).expect("BSON");
                let expected = by_map(&document, &of_maps);
                let (mut row, mut shapes) = (Vec::new(), Vec::new());
                let encoded = encoder.encode(&bytes, &of_bytes, &mut row, &mut shapes).expect("BSON").expect("an _id");
                prop_assert_eq!(&encoded.id, &id);
                prop_assert_eq!(encoded.key, key::id_key(&id).expect("a key"));
                let shapes: Vec<u32> = shapes.iter().map(|shape| shape.number()).collect();
                prop_assert_eq!((row, shapes), expected);
                if n % 2 == 0 {
                    for number in 1..of_maps.next_number() {
                        of_maps.mark_committed(number);
                        of_bytes.mark_committed(number);
                    }
                }
            }
        }
    }

    #[test]
    fn damaged_bytes_are_refused_as_by_the_decoder(document in any_document(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut bytes = Vec::new();
        let document = with_id(document, Value::from(1));
        prop_assume!(encode_document(&document, &mut bytes).is_ok());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let (mut row, mut shapes) = (vec![9], Vec::new());
        let encoded = BsonRowEncoder::default().encode(&bytes, &table(), &mut row, &mut shapes);
        match decode_document(&bytes) {
            Ok(_) => prop_assert!(encoded.is_ok(), "{:?}", encoded),
            Err(error) => {
                // A document whose first field is not an _id is left to the decoder.
                prop_assert!(matches!(encoded, Err(_) | Ok(None)), "{:?}, not {}", encoded, error);
                prop_assert_eq!(&row, &[9]);
                prop_assert!(shapes.is_empty());
            }
        }
    }
}

#[test]
fn a_document_without_its_id_first_is_left() {
    for document in [
        crate::doc! {"a": 1},
        crate::doc! {"a": 1, "_id": 1},
        Map::from([("_id", Value::Array(vec![Value::Null]))]),
        Map::new(),
    ] {
        let mut bytes = Vec::new();
        encode_document(&document, &mut bytes).expect("BSON");
        let (mut row, mut shapes) = (Vec::new(), Vec::new());
        let encoded = BsonRowEncoder::default().encode(&bytes, &table(), &mut row, &mut shapes);
        assert_eq!((encoded, row.len()), (Ok(None), 0), "{document:?}");
    }
}

#[test]
fn deep_documents_are_refused() {
    let mut value = Value::Int32(1);
    for _ in 0..MAX_DEPTH - 1 {
        value = Value::Array(vec![value]);
    }
    for (levels, fits) in [(0, true), (1, false)] {
        let value = (0..levels).fold(value.clone(), |value, _| Value::Array(vec![value]));
        let document = Map { entries: vec![("_id".into(), 1.into()), ("a".into(), value)] };
        let mut bytes = Vec::new();
        // BSON may nest deeper than a document.
        encode_document(&document, &mut bytes).expect("BSON");
        let row = BsonRowEncoder::default().encode(&bytes, &table(), &mut Vec::new(), &mut Vec::new());
        match fits {
            true => assert!(row.expect("not too deep").is_some()),
            false => assert_eq!(row.err(), Some(BsonError::TooDeep)),
        }
    }
}
