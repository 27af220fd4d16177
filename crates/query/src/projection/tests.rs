#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use document::json;

fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

fn projection(text: &str) -> Projection {
    Projection::parse(&map(text)).unwrap()
}

#[test]
fn the_fields_that_are_looked_at() {
    let cases: [(&str, Option<&[&str]>); 8] = [
        (r#"{"b":1,"a.c":1}"#, Some(&["_id", "a", "b"])),
        (r#"{"b":1,"_id":0}"#, Some(&["b"])),
        (r#"{"b.$":1,"_id":0}"#, Some(&["b"])),
        (r#"{"b":{"$elemMatch":{"c":1}},"a":1}"#, Some(&["_id", "a", "b"])),
        (r#"{"b":{"$slice":1},"a":1}"#, Some(&["_id", "a", "b"])),
        (r#"{"b":{"$slice":1}}"#, None),
        (r#"{"b":0}"#, None),
        ("{}", None),
    ];
    for (text, fields) in cases {
        assert_eq!(projection(text).fields().as_deref(), fields, "{text}");
        assert_eq!(projection(text).is_everything(), text == "{}", "{text}");
    }
}

#[test]
fn what_values_at_paths_are_enough() {
    let cases = [
        (r#"{"a":1,"_id":0}"#, vec!["a"], true),
        (r#"{"a":1,"_id":0}"#, vec!["b", "a"], true),
        (r#"{"a":1}"#, vec!["a"], false),
        (r#"{"a":1}"#, vec!["a", "_id"], true),
        (r#"{"a.b":1,"_id":0}"#, vec!["a"], true),
        (r#"{"a.b":1,"_id":0}"#, vec!["a.b"], true),
        (r#"{"a":1,"_id":0}"#, vec!["a.b"], false),
        (r#"{"a.b":1,"a.c":1,"_id":0}"#, vec!["a.c", "a.b"], true),
        (r#"{"a.b":1,"a.c":1,"_id":0}"#, vec!["a.c", "b"], false),
        (r#"{"a":{"$slice":1},"_id":0,"b":1}"#, vec!["a", "b"], false),
        (r#"{"a.$":1,"_id":0}"#, vec!["a"], false),
        (r#"{"a":{"$elemMatch":{"b":1}},"_id":0}"#, vec!["a"], false),
        (r#"{"_id":0}"#, vec!["a"], false),
        ("{}", vec!["a"], false),
    ];
    for (text, paths, covered) in cases {
        let paths: Vec<FieldPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        assert_eq!(projection(text).is_covered_by(&paths), covered, "{text} {paths:?}");
        let values: Vec<_> = paths.iter().map(|path| (path, None)).collect();
        let known = covered && paths.iter().all(|path| path.depth() == 1);
        assert_eq!(projection(text).of_values(&values).is_some(), known, "{text} {paths:?}");
    }
}

#[test]
fn values_of_different_documents_give_no_answer() {
    let paths: [FieldPath; 2] = ["a".parse().unwrap(), "a.b".parse().unwrap()];
    let projection = projection(r#"{"a.b":1,"_id":0}"#);
    for (a, b, same) in [(r#"{"b":1}"#, 1, true), (r#"{"b":2}"#, 1, false)] {
        let (a, b) = (Value::Map(map(a)), Value::from(b));
        let answer = projection.of_values(&[(&paths[0], Some(&a)), (&paths[1], Some(&b))]);
        assert_eq!(answer, same.then(|| map(r#"{"a":{"b":1}}"#)));
    }
    let (scalar, b) = (Value::from(5), Value::from(1));
    assert_eq!(projection.of_values(&[(&paths[0], Some(&scalar)), (&paths[1], Some(&b))]), None);
}

#[test]
fn names_that_are_no_strings_and_paths_that_are_too_long_are_refused() {
    let number = Map { entries: vec![(Value::from(1), Value::from(1))] };
    assert_eq!(Projection::parse(&number).unwrap_err().code(), 16410);
    assert_eq!(Projection::parse(&Map::from([("a", number)])).unwrap_err().code(), 16410);
    let deep = |levels: usize| (1..levels).fold(Map::from([("a", 1)]), |inner, _| Map::from([("a", inner)]));
    assert!(Projection::parse(&deep(100)).is_ok());
    assert_eq!(Projection::parse(&deep(101)).unwrap_err().code(), 5_984_700);
    assert_eq!(Projection::parse(&deep(5000)).unwrap_err().code(), 5_984_700);
}

/// Keys that are no strings are neither included nor excluded.
#[test]
fn fields_whose_names_are_no_strings_stay_out_of_an_inclusion() {
    let odd = Map { entries: vec![(Value::from(1), Value::from(2)), (Value::from("a"), Value::from(3))] };
    let document = Document::from_map(&odd).unwrap();
    let apply = |text: &str| projection(text).apply(&document, &Filter::default()).unwrap();
    assert_eq!(apply(r#"{"a":1}"#), map(r#"{"a":3}"#));
    assert_eq!(apply(r#"{"b":0}"#), odd);
    assert_eq!(apply(r#"{"a":0}"#).entries, odd.entries[..1]);
}
