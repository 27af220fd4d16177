use super::*;
use alluvium_document::{Value, json};

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
fn the_fields_that_are_enough() {
    let cases: [(&str, Option<&[&str]>); 9] = [
        (r#"{"a":1,"_id":0}"#, Some(&["a"])),
        (r#"{"b":1,"a":1}"#, Some(&["_id", "a", "b"])),
        (r#"{"a.b":1,"_id":0}"#, Some(&["a"])),
        (r#"{"a.b":1,"a.c":1,"_id":0}"#, Some(&["a"])),
        (r#"{"a":{"$slice":1},"_id":0,"b":1}"#, None),
        (r#"{"a.$":1,"_id":0}"#, None),
        (r#"{"a":{"$elemMatch":{"b":1}},"_id":0}"#, None),
        (r#"{"_id":0}"#, None),
        ("{}", None),
    ];
    for (text, needs) in cases {
        assert_eq!(projection(text).needs().as_deref(), needs, "{text}");
        assert_eq!(projection(text).is_everything(), text == "{}", "{text}");
    }
}

#[test]
fn names_that_are_no_strings_and_paths_that_are_too_long_are_refused() {
    let number = Map { entries: vec![(Value::from(1), Value::from(1))] };
    assert_eq!(Projection::parse(&number).unwrap_err().code().number(), 16410);
    assert_eq!(Projection::parse(&Map::from([("a", number)])).unwrap_err().code().number(), 16410);
    let deep = |levels: usize| (1..levels).fold(Map::from([("a", 1)]), |inner, _| Map::from([("a", inner)]));
    assert!(Projection::parse(&deep(200)).is_ok());
    assert_eq!(Projection::parse(&deep(201)).unwrap_err().code().number(), 15);
    assert_eq!(Projection::parse(&deep(5000)).unwrap_err().code().number(), 15);
}

/// Fields whose names are not strings are neither included nor excluded.
#[test]
fn fields_whose_names_are_no_strings_stay_out_of_an_inclusion() {
    let odd = Map { entries: vec![(Value::from(1), Value::from(2)), (Value::from("a"), Value::from(3))] };
    let document = Document::from_map(&odd).unwrap();
    let apply = |text: &str| projection(text).apply(&document, &Filter::default()).unwrap();
    assert_eq!(apply(r#"{"a":1}"#), map(r#"{"a":3}"#));
    assert_eq!(apply(r#"{"b":0}"#), odd);
    assert_eq!(apply(r#"{"a":0}"#).entries, odd.entries[..1]);
}

/// Each of the patterns is within the limit for a single pattern.
#[test]
fn patterns_of_a_projection_have_a_limit_together() {
    let field = |n: usize| {
        let pattern = Map::from([("$regex", format!("^q\\pL{{20}}x{n}"))]);
        (format!("a{n}"), Map::from([("$elemMatch", pattern)]))
    };
    Projection::parse(&(0..10).map(field).collect()).unwrap();
    assert_eq!(Projection::parse(&(0..1500).map(field).collect()).unwrap_err().code().number(), 51091);
}
