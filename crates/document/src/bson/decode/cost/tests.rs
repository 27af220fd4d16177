use super::*;
use crate::bson::{decode_document, encode_document};
use proptest::prelude::*;

/// The bytes of a decoded value outside its place in a vector.
fn outside(value: &Value) -> usize {
    match value {
        Value::Map(map) => inside(map),
        Value::Array(elements) => elements.capacity() * ELEMENT + elements.iter().map(outside).sum::<usize>(),
        Value::String(text) | Value::Symbol(text) if text.is_heap_allocated() => text.len(),
        Value::Binary(binary) => binary.bytes.capacity(),
        Value::Code(code) => code.code.len() + code.scope.as_ref().map_or(0, inside),
        _ => 0,
    }
}

fn inside(map: &Map) -> usize {
    let entry = |(name, value): &(Value, Value)| outside(name) + outside(value);
    map.entries.capacity() * ENTRY + map.entries.iter().map(entry).sum::<usize>()
}

fn encoded(map: &Map) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_document(map, &mut bytes).expect("BSON");
    bytes
}

/// A document whose elements have two bytes each.
fn smallest_elements(count: usize) -> Vec<u8> {
    let array = [(count as u32 * 2 + 5).to_le_bytes().to_vec(), [tag::NULL, 0].repeat(count), vec![0]].concat();
    let head = [tag::ARRAY, b'a', 0];
    let length = 4 + head.len() + array.len() + 1;
    [(length as u32).to_le_bytes().to_vec(), head.to_vec(), array, vec![0]].concat()
}

#[test]
fn the_smallest_elements_cost_what_they_take() {
    let bytes = smallest_elements(100_000);
    let map = decode_document(&bytes).expect("a document");
    let taken = inside(&map);
    assert!(taken >= 100_000 * ELEMENT);
    assert!((taken..taken + 1000).contains(&tree_bytes(&bytes)), "{taken}, counted {}", tree_bytes(&bytes));
}

proptest! {
    #[test]
    fn no_document_takes_more_than_is_counted(value in crate::arbitrary::bson_value()) {
        let bytes = encoded(&Map::from([("value", value)]));
        let decoded = decode_document(&bytes).expect("a document");
        prop_assert!(tree_bytes(&bytes) >= inside(&decoded));
    }

    #[test]
    fn any_bytes_are_counted(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        tree_bytes(&bytes);
    }

    #[test]
    fn a_damaged_document_costs_what_is_decoded_of_it(cut in 5_usize..2000) {
        let mut bytes = smallest_elements(1000);
        bytes.truncate(cut.min(bytes.len()));
        // The length exceeds the bytes, so nothing is decoded.
        prop_assert!(tree_bytes(&bytes) <= 100);
    }
}
