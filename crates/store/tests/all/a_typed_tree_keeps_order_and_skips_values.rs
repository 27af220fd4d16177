//! Keys and values of any type: the order is kept, and values are skipped and merged without decoding.

use alluvium_env::Env;
use alluvium_store::typed::{RawBytes, Serializer, SizePrefixed, Text, Typed, U64};
use alluvium_store::{Error, Options, Store};
use std::sync::Arc;

fn store(seed: u64) -> Arc<Store> {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(4), ..Options::default() };
    Arc::new(Store::open(Env::in_memory(seed), "db".as_ref(), options).unwrap())
}

#[test]
fn numbers_come_back_in_numeric_order() {
    let store = store(1);
    let tree = store.create_trees(&[b"squares"]).unwrap()[0];
    let squares = Typed::new(store.clone(), tree, U64, Text);
    for n in [300u64, 2, 1 << 40, 255, 256, 0] {
        squares.put(&n, &n.to_string()).unwrap();
    }
    squares.delete(&2).unwrap();
    store.compact().unwrap();
    let all: Vec<(u64, String)> = squares.scan().unwrap().map(Result::unwrap).collect();
    let numbers: Vec<u64> = all.iter().map(|(n, _)| *n).collect();
    assert_eq!(numbers, [0, 255, 256, 300, 1 << 40]);
    assert!(all.iter().all(|(n, text)| n.to_string() == *text));
    assert_eq!(squares.get(&2).unwrap(), None);
    squares.delete_range(&255, &300).unwrap();
    let numbers: Vec<u64> = squares.scan().unwrap().map(|found| found.unwrap().0).collect();
    assert_eq!(numbers, [0, 300, 1 << 40]);
}

#[test]
fn many_items_in_one_value_are_skipped_one_by_one() {
    let item = SizePrefixed(Text);
    let mut value = Vec::new();
    for text in ["first", "", "third"] {
        item.serialize(&text.to_owned(), &mut value);
    }
    let mut input = value.as_slice();
    item.skip(&mut input).unwrap();
    item.skip(&mut input).unwrap();
    assert_eq!(item.deserialize(&mut input).unwrap(), "third");
    assert!(input.is_empty());
    assert!(item.skip(&mut &value[..3]).is_err(), "a cut item is no item");
    let mut input = [1u8, 2, 3].as_slice();
    RawBytes.skip(&mut input).unwrap();
    assert!(input.is_empty());
}

#[test]
fn bytes_of_another_type_are_an_error_by_name() {
    let store = store(2);
    let tree = store.create_trees(&[b"mixed"]).unwrap()[0];
    Typed::new(store.clone(), tree, Text, RawBytes).put(&"key".into(), &vec![0xff, 0xfe]).unwrap();
    let texts = Typed::new(store.clone(), tree, Text, Text);
    assert!(matches!(texts.get(&"key".into()), Err(Error::Decode { what: "value", .. })));
    let numbers = Typed::new(store, tree, Text, U64);
    assert!(matches!(numbers.get(&"key".into()), Err(Error::Decode { what: "value", .. })));
}

#[test]
fn a_value_that_looks_like_a_marker_is_a_value() {
    // An earlier design marked a deleted key by a special value, which a user could store.
    let store = store(3);
    let tree = store.create_trees(&[b"bytes"]).unwrap()[0];
    let bytes = Typed::new(store.clone(), tree, RawBytes, RawBytes);
    for value in [vec![], vec![0], vec![2], b"DELETE".to_vec(), vec![0xff; 4]] {
        bytes.put(&value, &value).unwrap();
        store.flush().unwrap();
        assert_eq!(bytes.get(&value).unwrap(), Some(value));
    }
}
