use super::*;
use crate::arbitrary;
use ::bson::{Bson, Document};
use proptest::prelude::*;

fn bytes(map: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    encode_document(map, &mut out).unwrap();
    out
}

fn has_duplicates(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(has_duplicates),
        Value::Map(map) => map_has_duplicates(map),
        Value::Code(code) => code.scope.as_ref().is_some_and(map_has_duplicates),
        _ => false,
    }
}

fn map_has_duplicates(map: &Map) -> bool {
    let twice = |at: usize| map.entries[..at].iter().any(|(key, _)| *key == map.entries[at].0);
    (0..map.len()).any(twice) || map.iter().any(|(_, value)| has_duplicates(value))
}

#[test]
fn a_name_may_stand_twice() {
    let map: Map = [("a", 1), ("b", 2), ("a", 3)].into();
    assert_eq!(decode_document(&bytes(&map)).unwrap(), map);
    assert_eq!(Document::try_from(map), Err(BsonError::DuplicateField));
}

#[test]
fn known_bytes() {
    let map = Map::from([("hello", "world")]);
    assert_eq!(bytes(&map), b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0");
    let old = Map::from([("x", Binary { subtype: 2, bytes: vec![255, 255] })]);
    assert_eq!(bytes(&old), b"\x13\0\0\0\x05x\0\x06\0\0\0\x02\x02\0\0\0\xff\xff\0");
    assert_eq!(decode_document(&bytes(&old)).unwrap(), old);
}

#[test]
fn the_names_of_an_arrays_elements_are_counted_in_full() {
    for count in [0, 1, 9, 10, 11, 100, 101, 1000, 1001] {
        let map = Map::from([("a", (0..count).collect::<Value>())]);
        assert_eq!(document_size(&map), bytes(&map).len(), "{count}");
        assert_eq!(decode_document(&bytes(&map)).unwrap(), map);
    }
}

#[test]
fn the_options_of_a_regular_expression_are_sorted() {
    let map = decode_document(b"\x0c\0\0\0\x0bx\0a\0mi\0\0").unwrap_err();
    assert_eq!(map, BsonError::Truncated);
    let map = decode_document(b"\x0d\0\0\0\x0bx\0a\0mi\0\0").unwrap();
    let regex = Regex { pattern: "a".into(), options: "im".into() };
    assert_eq!(map.get("x"), Some(&Value::Regex(Box::new(regex))));
}

#[test]
fn a_decimal_that_bson_cannot_hold_counts_as_its_text() {
    let size = |text: &str| bson_size(&Value::Decimal(text.parse().unwrap()));
    for fits in ["1", "-1.5", "1E+6111", "0E+99999", "NaN", &"9".repeat(34)] {
        assert_eq!(size(fits), 16, "{fits}");
    }
    assert_eq!(size(&"9".repeat(35)), 40);
    assert_eq!(size("-1E+7000"), 13);
    let long = Value::Decimal("1".repeat(1_000_000).parse().unwrap());
    let map = Map::from([("_id", Value::from(1)), ("a", Value::Array(vec![long.clone(), long]))]);
    assert!((2_000_000..2_000_100).contains(&document_size(&map)));
    let document = crate::Document::from_map(&map).unwrap();
    assert_eq!(document.bson_size().unwrap(), document_size(&map));
}

#[test]
fn what_bson_cannot_hold() {
    let fails = |map: Map, error: BsonError| {
        let mut out = vec![7];
        assert_eq!(encode_document(&map, &mut out), Err(error));
        assert_eq!(out, [7]);
        assert_eq!(Document::try_from(map), Err(error));
    };
    fails(Map { entries: vec![("a".into(), 1.into()), (1.into(), 1.into())] }, BsonError::Key("int"));
    fails(Map::from([("a\0", 1)]), BsonError::Nul);
    let regex = Regex { pattern: "\0".into(), options: String::new() };
    fails(Map::from([("a", Value::Regex(Box::new(regex)))]), BsonError::Nul);
    let decimal: Decimal = "1E+7000".parse().unwrap();
    fails(Map::from([("a", decimal)]), BsonError::Decimal);
    let mut deep = Map::new();
    for _ in 0..LEVELS_MAX {
        deep = Map::from([("a", deep)]);
    }
    fails(deep, BsonError::TooDeep);
}

#[test]
fn broken_documents() {
    let fails = |bytes: &[u8], offset, problem| {
        assert_eq!(decode_document(bytes), Err(BsonError::Invalid { offset, problem }));
    };
    fails(b"\x05\0\0\0\0x", 5, "there is more behind the document");
    fails(b"\x04\0\0\0", 4, "a document shorter than five bytes");
    fails(b"\xff\xff\xff\xff\0", 4, "a negative length");
    fails(b"\x06\0\0\0\0\0", 5, "a document that ends before its length");
    fails(b"\x09\0\0\0\x08a\0\x02\0", 8, "a boolean that is neither 0 nor 1");
    fails(b"\x08\0\0\0\x20a\0\0", 7, "an unknown type");
    fails(b"\x0d\0\0\0\x02a\0\x01\0\0\0x\0", 12, "a string without a zero at its end");
    fails(b"\x0c\0\0\0\x02a\0\0\0\0\0\0", 11, "a string without a zero at its end");
    fails(b"\x0e\0\0\0\x02a\0\x02\0\0\0\xff\0\0", 13, "a string that is not UTF-8");
    fails(b"\x08\0\0\0\x0a\xff\0\0", 7, "a string that is not UTF-8");
    assert_eq!(decode_document(b""), Err(BsonError::Truncated));
    assert_eq!(decode_document(b"\x06\0\0\0\0"), Err(BsonError::Truncated));
    assert_eq!(decode_document(b"\x0c\0\0\0\x02a\0\xff\xff\xff\x7f\0"), Err(BsonError::Truncated));
    let mut deep = b"\x05\0\0\0\0".to_vec();
    for _ in 0..LEVELS_MAX {
        let len = (deep.len() + 8) as i32;
        deep = [&len.to_le_bytes()[..], b"\x03a\0", &deep, b"\0"].concat();
    }
    assert_eq!(decode_document(&deep), Err(BsonError::TooDeep));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn documents_come_back_and_have_the_size_foretold(value in arbitrary::bson_value()) {
        let map = Map::from([("a", value)]);
        let bytes = bytes(&map);
        prop_assert_eq!(document_size(&map), bytes.len());
        prop_assert_eq!(decode_document(&bytes).unwrap(), map);
    }

    #[test]
    fn the_bson_crate_agrees(value in arbitrary::bson_value()) {
        let map = Map::from([("a", value)]);
        if map_has_duplicates(&map) {
            return Ok(());
        }
        let ours = bytes(&map);
        let theirs = Document::from_reader(&ours[..]).unwrap();
        prop_assert_eq!(theirs.to_vec().unwrap(), ours);
        prop_assert_eq!(Map::from(theirs.clone()), map.clone());
        prop_assert_eq!(Document::try_from(map).unwrap().to_vec().unwrap(), theirs.to_vec().unwrap());
    }

    #[test]
    fn single_values_come_back_from_the_bson_crate(value in arbitrary::bson_value()) {
        if has_duplicates(&value) {
            return Ok(());
        }
        prop_assert_eq!(Value::from(Bson::try_from(value.clone()).unwrap()), value);
    }

    #[test]
    fn damaged_documents_are_taken_without_panic(
        value in arbitrary::bson_value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), tail in any::<u8>()
    ) {
        let mut bytes = bytes(&Map::from([("a", value)]));
        let at = at.index(bytes.len());
        prop_assert!(decode_document(&bytes[..at]).is_err());
        bytes.push(tail);
        prop_assert!(decode_document(&bytes).is_err());
        bytes[at] = byte;
        if let Ok((map, taken)) = take_document(&bytes) {
            prop_assert!(taken <= bytes.len());
            let _ = encode_document(&map, &mut Vec::new());
        }
    }

    #[test]
    fn any_bytes_are_taken_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = take_document(&bytes);
        let len = bytes.len() as i32 + 4;
        let _ = take_document(&[&len.to_le_bytes()[..], &bytes].concat());
    }
}

#[test]
fn the_first_zero_is_found() {
    for len in 0..40 {
        for filling in [1, 0x7f, 0x80, 0xff] {
            let mut bytes = vec![filling; len];
            assert_eq!(find_zero(&bytes), None);
            for at in (0..len).rev() {
                bytes[at] = 0;
                assert_eq!(find_zero(&bytes), Some(at), "{bytes:?}");
            }
        }
    }
}
