use super::*;
use crate::index::{CUT_HASH_BYTES, MAX_KEYS};
use alluvium_document::json;
use proptest::prelude::*;

fn map(text: &str) -> Map {
    let Value::Map(map) = json::parse(text.as_bytes()).unwrap() else { panic!("a map") };
    map
}

fn index(keys: &str, options: &str) -> Definition {
    Definition::parse(&map(keys), &map(options)).unwrap()
}

/// The values of each key, as text; missing values as `-`.
fn keys_text(index: &Definition, document: &Map) -> String {
    let found = match index.keys(document) {
        Ok(found) => found,
        Err(error) => return error.code().name().to_owned(),
    };
    let (mut plain, mut values) = (Vec::new(), Vec::new());
    if index.plain_key(document, &mut plain, &mut values) {
        assert_eq!((found.multikey, found.keys.len()), (0, 1));
        assert_eq!((&found.keys[0].bytes, &found.keys[0].values), (&plain, &values));
    } else {
        assert!(plain.is_empty() && values.is_empty());
    }
    let show = |value: &Option<Value>| match value {
        None => "-".to_owned(),
        Some(Value::Undefined) => "undefined".to_owned(),
        Some(value) => {
            let mut out = Vec::new();
            json::print_map(&Map::from([("", value.clone())]), json::Format::RELAXED, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            text[4..text.len() - 1].to_owned()
        }
    };
    let keys = found.keys.iter().map(|key| {
        let mut entry = key.bytes.clone();
        entry.extend_from_slice(b"\x0f id");
        assert_eq!(index.key_len(&entry).unwrap(), key.bytes.len());
        let values = index.values(&key.bytes, &key.values).unwrap();
        values.iter().map(show).collect::<Vec<_>>().join(",")
    });
    let keys = keys.collect::<Vec<_>>().join(" | ");
    match found.multikey {
        0 => keys,
        bits => format!("{keys} multikey {bits:b}"),
    }
}

/// Keys, options, a document, and the keys that it yields.
fn check(cases: &[(&str, &str, &str, &str)]) {
    for (keys, options, document, expected) in cases {
        let text = |text: &str| text.replace('\'', "\"");
        let index = index(&text(keys), &text(options));
        assert_eq!(keys_text(&index, &map(&text(document))), *expected, "{keys} {options} {document}");
    }
}

#[test]
fn keys_follow_mongodb() {
    let cases = [
        ("{'a':1}", "{}", "{'a':5}", "5"),
        ("{'a':1}", "{}", "{'b':5}", "-"),
        ("{'a':1}", "{}", "{'a':null}", "null"),
        ("{'a':1}", "{}", "{'a':5.0}", "5.0"),
        ("{'a':1}", "{}", "{'a':{'b':1}}", "{\"b\":1}"),
        ("{'a':1,'b':-1}", "{}", "{'a':'x','b':2.5}", "\"x\",2.5"),
        ("{'a':1,'b':-1}", "{}", "{'b':'x'}", "-,\"x\""),
        ("{'a.b':1}", "{}", "{'a':{'b':1}}", "1"),
        ("{'a.b':1}", "{}", "{'a':{'c':1}}", "-"),
        ("{'a.b':1}", "{}", "{'a':7}", "-"),
        ("{'a':1}", "{}", "{'a':[1,2,2,1.0]}", "1 | 2 multikey 1"),
        ("{'a':1}", "{}", "{'a':[]}", "undefined multikey 1"),
        ("{'a':1}", "{}", "{'a':[[1,2],3]}", "3 | [1,2] multikey 1"),
        ("{'a':1}", "{}", "{'a':[null]}", "null multikey 1"),
        ("{'a.b':1}", "{}", "{'a':[]}", "- multikey 1"),
        ("{'a.b':1}", "{}", "{'a':[{'b':1},{'b':2},{'c':3},4]}", "- | 1 | 2 multikey 1"),
        ("{'a.b':1}", "{}", "{'a':[[{'b':1}]]}", "- multikey 1"),
        ("{'a.b':1}", "{}", "{'a':[{'b':[1,2]},{'b':[3]}]}", "1 | 2 | 3 multikey 1"),
        ("{'a':1,'b':1}", "{}", "{'a':[1,2],'b':3}", "1,3 | 2,3 multikey 1"),
        ("{'a':1,'b':1}", "{}", "{'a':[1,2],'b':[3]}", "CannotIndexParallelArrays"),
        ("{'a':1,'b':1}", "{}", "{'a':[],'b':[]}", "CannotIndexParallelArrays"),
        ("{'a.b':1,'a.c':-1}", "{}", "{'a':[{'b':1,'c':2},{'b':3,'c':4}]}", "1,2 | 3,4 multikey 11"),
        ("{'a.b':1,'a.c':1}", "{}", "{'a':[{'b':1,'c':[5,6]},{'c':4}]}", "-,4 | 1,5 | 1,6 multikey 11"),
        ("{'a.b':1,'a.c':1}", "{}", "{'a':[{'b':[1],'c':[5]}]}", "CannotIndexParallelArrays"),
        ("{'a':1,'a.b':1}", "{}", "{'a':[{'b':1}]}", "{\"b\":1},1 multikey 11"),
        ("{'a':1}", "{'sparse':true}", "{'b':1}", ""),
        ("{'a':1}", "{'sparse':true}", "{'a':null}", "null"),
        ("{'a':1,'b':1}", "{'sparse':true}", "{'b':1}", "-,1"),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$gt':5}}}", "{'a':1,'b':6}", "1"),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$gt':5}}}", "{'a':1,'b':5}", ""),
        ("{'a':'hashed'}", "{}", "{'a':[1]}", "Location16766"),
        ("{'a':'hashed','b':1}", "{}", "{'a':1,'b':2}", "-,2"),
    ];
    check(&cases);
}

#[test]
fn positions_in_paths_follow_mongodb() {
    let cases = [
        ("{'a.0':1}", "{}", "{'a':[7,8]}", "7"),
        ("{'a.1':1}", "{}", "{'a':[7]}", "-"),
        ("{'a.0':1}", "{}", "{'a':[[7,8]]}", "[7,8]"),
        ("{'a.0':1}", "{}", "{'a':[[]]}", "undefined"),
        ("{'a.0':1}", "{}", "{'a':[[[7]],8]}", "[[7]]"),
        ("{'a.0':1}", "{}", "{'a':[{'b':[7,8]}]}", "{\"b\":[7,8]}"),
        ("{'a.0':1}", "{}", "{'a':[]}", "-"),
        ("{'a.0.0':1}", "{}", "{'a':[[[7,8]]]}", "[7,8]"),
        ("{'a.0.0':1}", "{}", "{'a':[[7,8]]}", "7"),
        ("{'a.0.0':1}", "{}", "{'a':{'0':[7,8]}}", "7"),
        ("{'a.0':1}", "{}", "{'a':{'0':[7,8]}}", "7 | 8 multikey 1"),
        ("{'a.0.b':1}", "{}", "{'a':[{'b':[7,8]}]}", "7 | 8 multikey 1"),
        ("{'a.0.b':1}", "{}", "{'a':[[{'b':7},{'b':8},9]]}", "- | 7 | 8 multikey 1"),
        ("{'a.0.b':1}", "{}", "{'a':[[{'b':[7,8]}],{'b':9}]}", "7 | 8 multikey 1"),
        ("{'a.b.0':1}", "{}", "{'a':[{'b':[7,8]},{'b':[[9]]},{'b':5}]}", "- | 7 | [9] multikey 1"),
        ("{'a.0':1}", "{'sparse':true}", "{'a':[]}", ""),
        ("{'a.0':-1,'a.c':1}", "{}", "{'a':[7,{'c':1},{'c':2}]}", "7,- | 7,1 | 7,2 multikey 10"),
        ("{'a.0':1,'a.c':1}", "{}", "{'a':[[5,6],{'c':1}]}", "[5,6],- | [5,6],1 multikey 10"),
        ("{'a.0':1,'a':1}", "{}", "{'a':[[5,6],4]}", "[5,6],4 | [5,6],[5,6] multikey 10"),
        (
            "{'a.0':1,'a.0.b':1}",
            "{}",
            "{'a':[[{'b':1},{'b':2}]]}",
            "[{\"b\":1},{\"b\":2}],1 | [{\"b\":1},{\"b\":2}],2 multikey 10",
        ),
        ("{'a.0.b':1,'a.c':1}", "{}", "{'a':[{'b':[1,2],'c':3},{'c':4}]}", "1,3 | 1,4 | 2,3 | 2,4 multikey 11"),
        ("{'a.0':1,'a.1':1}", "{}", "{'a':[[1],[2]]}", "CannotIndexParallelArrays"),
        ("{'a.0':1,'b.0':1}", "{}", "{'a':[1],'b':[2]}", "CannotIndexParallelArrays"),
        ("{'a.0':'hashed'}", "{}", "{'a':[1]}", "Location16766"),
        ("{'a.1':1}", "{}", "{'a':[1,[{'1':5}]]}", "[{\"1\":5}]"),
        ("{'a.0':1}", "{}", "{'a':[1,{'0':5}]}", "Location16746"),
        ("{'a.0':1}", "{}", "{'a':{'0':5}}", "5"),
        ("{'a.0':1}", "{}", "{'a':[{'0':5}]}", "Location16746"),
        ("{'a.5':1}", "{}", "{'a':[{'5':1},{'5':2}]}", "1 | 2 multikey 1"),
        ("{'a.0.b':1}", "{}", "{'a':[{'b':5},{'b':6}]}", "5"),
    ];
    check(&cases);
}

#[test]
fn a_hash_is_of_the_value_whatever_its_type() {
    let index = index(r#"{"a":"hashed"}"#, "{}");
    let key = |value: Value| index.keys(&Map::from([("a", value)])).unwrap().keys[0].bytes.clone();
    assert_eq!(key(Value::Int32(5)), key(Value::from(5.0)));
    assert_ne!(key(Value::Int32(5)), key(Value::Int32(6)));
    assert_eq!(key(Value::Int32(5)).len(), 8);
}

#[test]
fn a_long_key_is_cut() {
    for keys in [r#"{"a":1}"#, r#"{"a":-1}"#] {
        let index = index(keys, "{}");
        let keys = |text: String| index.keys(&Map::from([("a", Value::from(text))])).unwrap();
        let key = |text: String| keys(text).keys.swap_remove(0);
        let most = MAX_PART_BYTES - 3;
        let longest = keys("x".repeat(most));
        assert_eq!((longest.cut, longest.keys[0].bytes.len()), (0, MAX_PART_BYTES));
        assert_eq!(index.values(&longest.keys[0].bytes, &[]).unwrap(), [Some(Value::from("x".repeat(most)))]);
        let cut = keys("x".repeat(most + 1));
        assert_eq!((cut.cut, cut.marks(), cut.keys[0].bytes.len()), (1, 1 << 32, MAX_PART_BYTES + CUT_HASH_BYTES));
        assert_eq!(index.values(&cut.keys[0].bytes, &cut.keys[0].values).unwrap(), [None]);
        assert_eq!(index.key_len(&[&cut.keys[0].bytes[..], &[5, 0]].concat()), Ok(MAX_PART_BYTES + CUT_HASH_BYTES));
        let long = |end: &str| key("x".repeat(3 * MAX_PART_BYTES) + end);
        assert_eq!(long("a"), long("a"));
        assert_ne!(long("a"), long("b"));
        assert_eq!(long("a").bytes[..MAX_PART_BYTES], long("b").bytes[..MAX_PART_BYTES]);
        // The message shows the beginning of the value.
        let shown = index.values_to_show(&long("a").bytes);
        assert!(shown[0].as_str().unwrap().starts_with("xxxx"), "{shown:?}");
        assert_ne!(shown, index.values_to_show(&long("b").bytes));
    }
}

/// The bytes of a cut key are part of the disk format.
#[test]
fn the_bytes_of_a_cut_key() {
    let text = "x".repeat(MAX_PART_BYTES + 100);
    let of = |keys: &str| {
        index(keys, "{}").keys(&Map::from([("a", Value::from(&*text))])).unwrap().keys.swap_remove(0).bytes
    };
    let mut whole = Vec::new();
    key::encode(&Value::from(&*text), &mut whole);
    let (head, tail) = whole.split_at(8192);
    let expected = [head, &xxhash_rust::xxh3::xxh3_128(tail).to_be_bytes()].concat();
    assert_eq!(of(r#"{"a":1}"#), expected);
    whole.iter_mut().for_each(|byte| *byte = !*byte);
    let (head, tail) = whole.split_at(8192);
    assert_eq!(of(r#"{"a":-1}"#), [head, &xxhash_rust::xxh3::xxh3_128(tail).to_be_bytes()].concat());
}

#[test]
fn a_long_key_of_several_parts_is_marked() {
    let index = index(r#"{"a":1,"b":-1,"c":"hashed"}"#, "{}");
    let keys = |a: usize, b: usize, c: usize| {
        let text = |len: usize| Value::from("x".repeat(len));
        let keys = index.keys(&Map::from([("a", text(a)), ("b", text(b)), ("c", text(c))])).unwrap();
        let values = index.values(&keys.keys[0].bytes, &keys.keys[0].values).unwrap();
        assert_eq!(index.key_len(&keys.keys[0].bytes), Ok(keys.keys[0].bytes.len()));
        (keys.cut, values.into_iter().map(|value| value.map(|text| text.as_str().unwrap().len())).collect::<Vec<_>>())
    };
    assert_eq!(keys(4000, 4000, 50_000), (0, vec![Some(4000), Some(4000), None]));
    // No part is cut, so the bit of the longest part is set.
    assert_eq!(keys(5000, 6000, 1), (0b10, vec![Some(5000), Some(6000), None]));
    assert_eq!(keys(10_000, 20_000, 1), (0b11, vec![None, None, None]));
    assert_eq!(keys(10_000, 6000, 1), (0b1, vec![None, Some(6000), None]));
}

/// If a key does not determine its value exactly, the entry has a copy of the value, unless the
/// value is long.
#[test]
fn an_entry_keeps_no_long_value() {
    let index = index(r#"{"a":1,"b":1}"#, "{}");
    let symbol = Value::Symbol("x".repeat(20_000).into());
    let keys = index.keys(&Map::from([("a", symbol), ("b", Value::from(5.0))])).unwrap();
    assert!(keys.keys[0].values.len() < 30, "{:?}", keys.keys[0].values);
    assert_eq!(index.values(&keys.keys[0].bytes, &keys.keys[0].values).unwrap(), [None, Some(Value::from(5.0))]);
}

fn no_array() -> impl Strategy<Value = Value> {
    alluvium_document::arbitrary::value()
        .prop_filter("an array has several keys", |value| !matches!(value, Value::Array(_)))
}

proptest! {
    /// Keys have the order of their values, part by part. Decoding a key and its value returns the
    /// original values with their types.
    #[test]
    fn keys_have_the_order_of_the_values(
        a in no_array(), b in no_array(), c in no_array(), d in no_array(),
    ) {
        let index = index(r#"{"x":1,"y":-1}"#, "{}");
        let of = |x: &Value, y: &Value| {
            let found = index.keys(&Map::from([("x", x.clone()), ("y", y.clone())])).unwrap();
            let (mut plain, mut values) = (Vec::new(), Vec::new());
            if index.plain_key(&Map::from([("x", x.clone()), ("y", y.clone())]), &mut plain, &mut values) {
                assert_eq!((&found.keys[0].bytes, &found.keys[0].values), (&plain, &values));
            }
            found.keys[0].clone()
        };
        let (one, two) = (of(&a, &b), of(&c, &d));
        let order = alluvium_document::compare::compare(&a, &c).then(alluvium_document::compare::compare(&d, &b));
        prop_assert_eq!(one.bytes.cmp(&two.bytes), order);
        prop_assert_eq!(index.values(&one.bytes, &one.values).unwrap(), vec![Some(a), Some(b)]);
    }
}

#[test]
fn keys_of_one_document_have_a_limit_together() {
    let index = index(r#"{"tags": 1, "text": 1}"#, "{}");
    let document = |tags: i32, distinct: i32| {
        let text = Value::from("x".repeat(8000));
        Map::from([("tags", Value::from_iter((0..tags).map(|n| n % distinct))), ("text", text)])
    };
    assert_eq!(index.keys(&document(4000, 4000)).unwrap().keys.len(), 4000);
    // Equal keys count only once, even though they have 400 MB in total.
    assert_eq!(index.keys(&document(50_000, 7)).unwrap().keys.len(), 7);
    let error = index.keys(&document(50_000, 5000)).unwrap_err().to_string();
    assert!(error.contains("more than 33554432 bytes of keys"), "{error}");
    let tags = self::index(r#"{"tags": 1}"#, "{}");
    let many = |distinct: i32| Map::from([("tags", Value::from_iter((0..1_200_000).map(|n| n % distinct)))]);
    assert_eq!(tags.keys(&many(3)).unwrap().keys.len(), 3);
    let error = tags.keys(&many(2_000_000)).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 keys"), "{error}");
}

/// The result does not depend on whether unique or repeated values come first.
#[test]
fn repeats_do_not_raise_the_limit_of_keys() {
    let tags = index(r#"{"tags": 1}"#, "{}");
    let of = |tags: Vec<i32>| Map::from([("tags", Value::from_iter(tags))]);
    // The document has a thousand distinct keys fewer than allowed, then repetitions of the first
    // key, then further keys. After duplicates are removed once, the next removal is far away.
    let repeated: Vec<i32> = (0..MAX_KEYS as i32 - 1000).chain([0; 2000]).chain(2_000_000..2_400_000).collect();
    let document = of(repeated);
    let error = tags.keys(&document).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 keys"), "{error}");
    // A stored document is accepted as it is.
    let stored = Document::from_map(&document).unwrap();
    assert_eq!(tags.stored_keys_of(&stored).unwrap().keys.len(), MAX_KEYS - 1000 + 400_000);
    assert_eq!(tags.keys(&of((0..MAX_KEYS as i32).chain([0; 5]).collect())).unwrap().keys.len(), MAX_KEYS);
}

#[test]
fn a_stored_document_has_all_its_keys() {
    let index = index(r#"{"tags": 1, "text": 1}"#, "{}");
    let text = Value::from("x".repeat(8000));
    let document = Map::from([("tags", Value::from_iter(0..5000)), ("text", text)]);
    assert_eq!(index.keys(&document).unwrap_err().code().number(), 17280);
    let stored = Document::from_map(&document).unwrap();
    assert_eq!(index.keys_of(&stored).unwrap_err().code().number(), 17280);
    assert_eq!(index.stored_keys_of(&stored).unwrap().keys.len(), 5000);
    // No version ever accepted this many keys.
    let many = Map::from([("tags", Value::from_iter(0..2 * MAX_KEYS as i32 + 1))]);
    assert_eq!(index.stored_keys_of(&Document::from_map(&many).unwrap()).unwrap_err().code().number(), 17280);
}

#[test]
fn keys_under_a_collation_hold_no_strings() {
    let index = index(r#"{"a": 1, "b": -1}"#, r#"{"collation": {"locale": "en", "strength": 2}}"#);
    let key = |document: &str| {
        let keys = index.keys(&map(document)).unwrap().keys;
        assert_eq!((keys.len(), keys[0].values.is_empty()), (1, document.contains("\"b\"")), "{document}");
        keys[0].bytes.clone()
    };
    let same = key(r#"{"a": "Zoe", "b": {"c": ["X"]}}"#);
    assert_eq!(same, key(r#"{"a": "ZOE", "b": {"c": ["x"]}}"#));
    assert_ne!(same, key(r#"{"a": "Zoë", "b": {"c": ["x"]}}"#));
    assert_ne!(same, key(r#"{"a": "Zoe", "b": {"C": ["X"]}}"#));
    assert_eq!(index.values(&same, &[]).unwrap(), [None, None]);
    let numbers = key(r#"{"a": 1, "b": "y"}"#);
    assert_eq!(index.values(&numbers, &[]).unwrap(), [Some(Value::Int32(1)), None]);
    let shown = index.values_to_show(&numbers);
    assert_eq!(shown[0], Value::Int32(1));
    assert!(shown[1].as_str().is_some_and(|text| text.starts_with("CollationKey(0x")), "{shown:?}");
    // As without a collation, there is one key for each element, and equal elements yield one key.
    let many = index.keys(&map(r#"{"a": ["x", "X", "y"], "b": 1}"#)).unwrap();
    assert_eq!((many.keys.len(), many.multikey), (2, 1));
    assert_eq!(index.key_of_values([&Value::from("zoe"), &Value::Null]), key(r#"{"a": "Zoe"}"#));
}
