use super::*;
use alluvium_document::json;

fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_sort_is_given_back_as_it_was_written() {
    let sort = Sort::parse(&map(r#"{"a.b":1,"c":-1.0,"$id":{"$numberLong":"1"}}"#)).unwrap();
    assert_eq!(sort.to_map(), map(r#"{"a.b":1,"c":-1,"$id":1}"#));
    assert_eq!(sort.parts()[1].direction, Direction::Descending);
    assert!(!sort.is_empty() && Sort::parse(&Map::new()).unwrap().is_empty());
}

#[test]
fn what_is_no_sort_is_refused() {
    let cases = [
        (r#"{"a":0}"#, 15975),
        (r#"{"a":2}"#, 15975),
        (r#"{"a":2.5}"#, 15975),
        (r#"{"a":{"$numberDecimal":"0.5"}}"#, 15975),
        (r#"{"a":"1"}"#, 15974),
        (r#"{"a":true}"#, 15974),
        (r#"{"a":null}"#, 15974),
        (r#"{"a":[1]}"#, 15974),
        (r#"{"a":{"$meta":"textScore"}}"#, 40218),
        (r#"{"a":{"$meta":"randVal"}}"#, 9),
        (r#"{"a":{"$meta":"x"}}"#, 31138),
        (r#"{"a":{}}"#, 17312),
        (r#"{"$natural":1}"#, 16410),
        (r#"{"a.$b":1}"#, 16410),
        (r#"{"$a":1}"#, 16410),
        (r#"{"":1}"#, 40352),
        (r#"{"a.":1}"#, 40353),
        (r#"{"a..b":1}"#, 15998),
        (r#"{".a":1}"#, 15998),
        (r#"{"a\u0000":1}"#, 16411),
    ];
    for (text, code) in cases {
        let error = Sort::parse(&map(text)).unwrap_err();
        assert_eq!(
            (error.code().number(), error.code().name().ends_with(&code.to_string())),
            (code, code > 100),
            "{text}: {error}"
        );
    }
    let duplicate = Map::from([("a", 1), ("b", 1), ("a", -1)]);
    assert_eq!(Sort::parse(&duplicate).unwrap_err().code().number(), 7_472_500);
    let number = Map { entries: vec![(Value::from(1), Value::from(1))] };
    assert_eq!(Sort::parse(&number).unwrap_err().code().number(), 15974);
    let names: Vec<String> = (0..33).map(|n| format!("f{n}")).collect();
    let many = |n: usize| Sort::parse(&names[..n].iter().map(|name| (name.as_str(), 1)).collect());
    assert_eq!(many(32).unwrap().parts().len(), 32);
    assert_eq!(many(33), Err(SortError::TooManyParts));
    assert_eq!(Sort::parse(&Map::from([(vec!["a"; 201].join("."), 1)])).unwrap_err().code().number(), 15);
    for direction in ["1.999", "-1.999", r#"{"$numberDecimal":"0.51"}"#, r#"{"$numberDecimal":"-1.49"}"#] {
        assert!(Sort::parse(&map(&format!(r#"{{"a":{direction}}}"#))).is_ok(), "{direction}");
    }
}

#[test]
fn a_key_is_appended_or_nothing_is() {
    let sort = Sort::parse(&map(r#"{"a":1,"b":1}"#)).unwrap();
    let mut key = vec![7];
    sort.put_key(&Document::from_json(r#"{"a":1,"b":[2,1]}"#).unwrap(), &mut key).unwrap();
    let mut expected = vec![7];
    alluvium_document::key::encode(&Value::from(1), &mut expected);
    alluvium_document::key::encode(&Value::from(1), &mut expected);
    assert_eq!(key, expected);
    let parallel = Document::from_json(r#"{"a":[1],"b":[2]}"#).unwrap();
    assert!(matches!(sort.put_key(&parallel, &mut key), Err(SortError::ParallelArrays(a, b)) if a == "a" && b == "b"));
    assert_eq!(key, expected);
}

#[test]
fn arrays_that_combine_too_often_are_refused_in_time() {
    let elements = |n: usize| Value::Array(vec![Value::Null; n]);
    let inner = Map::from([("b", elements(3000))]);
    let outer = Value::Array([vec![Value::Map(inner)], vec![Value::Null; 3000]].concat());
    let document = Document::from_map(&Map::from([("a", outer)])).unwrap();
    let sort = Sort::parse(&map(r#"{"a.0.b":1,"a.c":1}"#)).unwrap();
    assert!(matches!(sort.key(&document), Err(SortError::TooManyKeys(_))));
    // If all names are positions, every element yields the same keys.
    let sort = Sort::parse(&map(r#"{"a.0.b":1}"#)).unwrap();
    assert!(sort.key(&document).is_ok());
}

#[test]
fn the_first_are_kept_and_of_equals_those_that_came_first() {
    let keys = [5u8, 3, 9, 3, 1, 9, 3, 0, 5];
    for limit in 0..=keys.len() + 1 {
        let mut top = TopK::new(Some(limit), usize::MAX);
        for (number, key) in keys.iter().enumerate() {
            let kept = top.would_keep(&[*key]);
            assert_eq!(top.offer(&[*key], 0, || number), Ok(kept));
        }
        let mut expected: Vec<usize> = (0..keys.len()).collect();
        expected.sort_by_key(|number| keys[*number]);
        expected.truncate(limit);
        assert_eq!(top.len(), expected.len());
        assert_eq!(top.is_empty(), limit == 0);
        assert_eq!(top.into_sorted().map(|(_, item)| item).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_is_kept_counts_its_bytes_and_no_more_are_kept() {
    let mut top = TopK::new(Some(2), 1000);
    assert_eq!(top.offer(b"b", 400, || 'b'), Ok(true));
    let one = top.bytes();
    assert!(one > 400 && one < 500);
    assert_eq!(top.offer(b"c", 600, || 'c'), Err(SortError::Memory { limit: 1000 }));
    assert_eq!((top.bytes(), top.len()), (one, 1));
    assert_eq!(top.offer(b"c", 300, || 'c'), Ok(true));
    assert_eq!(top.bound(), Some(&b"c"[..]));
    // An item that replaces another one counts; an item that is not kept does not.
    assert_eq!(top.offer(b"a", 400, || 'a'), Ok(true));
    assert_eq!(top.bytes(), 2 * one);
    assert_eq!(top.offer(b"z", 5000, || 'z'), Ok(false));
    assert_eq!(top.offer(b"", usize::MAX, || 'x'), Err(SortError::Memory { limit: 1000 }));
    assert_eq!(top.into_sorted().map(|(_, item)| item).collect::<String>(), "ab");
    let mut all = TopK::new(None, 1000);
    assert_eq!(all.bound(), None);
    let offered = (0..100).find(|n| all.offer(&[1], 36, || *n).is_err());
    assert_eq!(offered, Some(9));
    assert_eq!(SortError::Memory { limit: 1 }.code().number(), 292);
}

#[test]
fn a_wrong_direction_names_the_right_ones() {
    let wrong = |value: Value| Sort::parse(&Map::from([("area", value)])).unwrap_err();
    for (value, code, found) in [
        (Value::from("asc"), 15974, "not \"asc\""),
        (Value::from(2), 15975, "not 2"),
        (Value::from("x".repeat(100)), 15974, "not of type string"),
    ] {
        let error = wrong(value);
        let message = format!("the sort direction of 'area' must be 1 (ascending) or -1 (descending), {found}");
        assert_eq!((error.code().number(), error.to_string()), (code, message));
    }
}
