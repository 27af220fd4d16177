use super::*;

fn values(path: &str, documents: &[&str]) -> String {
    let mut distinct = Distinct::new(path).unwrap();
    assert!(distinct.is_empty());
    for text in documents {
        distinct.add(&Document::from_json(text).unwrap()).unwrap();
    }
    let len = distinct.len();
    let values: Vec<Value> = distinct.into_values().collect();
    assert_eq!(values.len(), len);
    alluvium_document::json::to_string(&Value::Array(values), alluvium_document::json::Format::RELAXED).unwrap()
}

#[test]
fn values_are_those_at_the_path_and_elements_of_arrays_there() {
    let cases: [(&str, &[&str], &str); 16] = [
        ("a", &[r#"{"a":2}"#, r#"{"a":1}"#, r#"{"a":2}"#], "[1,2]"),
        ("a", &[r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":{"$numberLong":"1"}}"#], "[1]"),
        ("a", &[r#"{"a":[3,1,3]}"#, r#"{"a":2}"#], "[1,2,3]"),
        ("a", &[r#"{"a":[[1,2],[1,2],1]}"#], "[1,[1,2]]"),
        ("a", &[r#"{}"#, r#"{"a":[]}"#, r#"{"a":null}"#], "[null]"),
        ("a", &[r#"{"a":"x"}"#, r#"{"a":true}"#, r#"{"a":{"b":1}}"#, r#"{"a":-0.5}"#], r#"[-0.5,"x",{"b":1},true]"#),
        ("a.b", &[r#"{"a":{"b":1}}"#, r#"{"a":5}"#, r#"{"a":{"c":2}}"#, r#"{"a":{"b":[7,8]}}"#], "[1,7,8]"),
        ("a.b", &[r#"{"a":[{"b":1},{"b":[2,3]},{"c":4},5,[{"b":6}]]}"#], "[1,2,3]"),
        ("a.b.c", &[r#"{"a":[{"b":[{"c":1},{"c":2}]},{"b":{"c":3}}]}"#], "[1,2,3]"),
        ("a.0", &[r#"{"a":[5,6]}"#, r#"{"a":{"0":7}}"#, r#"{"a":[]}"#, r#"{"a":[[8,9]]}"#], "[5,7,8,9]"),
        ("a.1.b", &[r#"{"a":[{"b":1},{"b":2}]}"#, r#"{"a":[{"1":{"b":3}}]}"#], "[2]"),
        ("a.00", &[r#"{"a":[5]}"#, r#"{"a":{"00":6}}"#], "[6]"),
        ("a.0.0", &[r#"{"a":[[1,2],[3]]}"#], "[1]"),
        ("a.0a", &[r#"{"a":[{"0a":1}]}"#], "[1]"),
        ("a.$b", &[r#"{"a":{"$b":1}}"#], "[1]"),
        ("_id", &[r#"{"_id":"x"}"#, r#"{"_id":"a"}"#], r#"["a","x"]"#),
    ];
    for (path, documents, expected) in cases {
        assert_eq!(values(path, documents), expected, "{path} {documents:?}");
    }
}

#[test]
fn what_is_no_path_is_refused() {
    for path in ["", "a.", ".", "a..b", "a\0"] {
        let error = Distinct::new(path).unwrap_err();
        let expected = if path.contains('\0') { (31032, "Location31032") } else { (2, "BadValue") };
        assert_eq!((error.code().number(), error.code().name()), expected, "{path}: {error}");
    }
}

#[test]
fn no_more_values_are_kept_than_fit() {
    let mut distinct = Distinct::new("a").unwrap();
    let text = "x".repeat(1 << 20);
    let mut add = |n: usize| distinct.add_value(&Value::from(format!("{n:02}{text}")));
    let added = (0..20).find(|n| add(*n).is_err());
    assert_eq!(added, Some(15));
    assert_eq!(add(3), Ok(()), "one that is there");
    let error = add(99).unwrap_err();
    assert_eq!((error.code().number(), error.code().name()), (17217, "Location17217"));
    // The limit is on the size of a BSON array; its elements are named by numbers of one, two and three digits.
    let mut numbers = Distinct::new("a").unwrap();
    (0..250).for_each(|n| numbers.add_value(&Value::from(n)).unwrap());
    let array: Vec<Value> = (0..250).map(Value::from).collect();
    let frame = bson_size(&Value::Array(Vec::new()));
    assert_eq!(numbers.bytes + frame, bson_size(&Value::Array(array)));
}
