use super::*;
use crate::{doc, json};

mod properties;

fn parse(json: &str) -> Map {
    match json::parse(json.as_bytes()).unwrap() {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

/// The bytes of a document, which differ if anything in it differs.
fn bytes(document: &Map) -> Vec<u8> {
    let mut bytes = Vec::new();
    crate::encoding::encode(&Value::Map(document.clone()), &mut bytes);
    bytes
}

/// The difference, after a check that it leads to `after`.
fn difference(before: &Map, after: &Map) -> Difference {
    let difference = Difference::between(before, after).unwrap();
    let mut document = before.clone();
    difference.apply(&mut document).unwrap();
    assert_eq!(bytes(&document), bytes(after), "{before} {after}");
    difference
}

#[test]
fn descriptions() {
    // Before, after, updated fields, removed fields, truncated arrays, paths that are ambiguous.
    let cases = [
        ("{}", "{}", "{}", "[]", "[]", "{}"),
        (r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":2}"#, "[]", "[]", "{}"),
        (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, "{}", r#"["a"]"#, "[]", "{}"),
        (r#"{"a":1}"#, r#"{"a":1,"b":{"c":2}}"#, r#"{"b":{"c":2}}"#, "[]", "[]", "{}"),
        (r#"{"a":1}"#, r#"{"a":null}"#, r#"{"a":null}"#, "[]", "[]", "{}"),
        // Documents inside.
        (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":3}}"#, r#"{"a.b":3}"#, r#"["a.c"]"#, "[]", "{}"),
        (r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{"c":{"d":1}}}}"#, r#"{"a.b.c":{"d":1}}"#, "[]", "[]", "{}"),
        (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, "{}", r#"["a.b"]"#, "[]", "{}"),
        (r#"{"a":{}}"#, r#"{"a":[]}"#, r#"{"a":[]}"#, "[]", "[]", "{}"),
        (r#"{"a":{"b":1}}"#, r#"{"a":5}"#, r#"{"a":5}"#, "[]", "[]", "{}"),
        // Arrays.
        (r#"{"a":[1,2,3]}"#, r#"{"a":[1,2,4]}"#, r#"{"a.2":4}"#, "[]", "[]", "{}"),
        (r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, r#"{"a.1":2}"#, "[]", "[]", "{}"),
        (r#"{"a":[]}"#, r#"{"a":[{"b":1}]}"#, r#"{"a.0":{"b":1}}"#, "[]", "[]", "{}"),
        (r#"{"a":[1,2,3]}"#, r#"{"a":[1]}"#, "{}", "[]", r#"[{"field":"a","newSize":1}]"#, "{}"),
        (r#"{"a":[1,2,3]}"#, r#"{"a":[]}"#, "{}", "[]", r#"[{"field":"a","newSize":0}]"#, "{}"),
        (r#"{"a":[1,2,3]}"#, r#"{"a":[1,5]}"#, r#"{"a.1":5}"#, "[]", r#"[{"field":"a","newSize":2}]"#, "{}"),
        (r#"{"a":[0,{"b":1,"c":1}]}"#, r#"{"a":[0,{"b":2}]}"#, r#"{"a.1.b":2}"#, r#"["a.1.c"]"#, "[]", "{}"),
        (r#"{"a":[[1,2],[3]]}"#, r#"{"a":[[1],[3]]}"#, "{}", "[]", r#"[{"field":"a.0","newSize":1}]"#, "{}"),
        // An array whose changes would take more space than the array.
        (r#"{"a":[1,2,3]}"#, r#"{"a":[2,3]}"#, r#"{"a":[2,3]}"#, "[]", "[]", "{}"),
        (r#"{"a":[[1,2,3],0]}"#, r#"{"a":[[2,3],0]}"#, r#"{"a.0":[2,3]}"#, "[]", "[]", "{}"),
        (r#"{"x":{"a":[1,2,3]}}"#, r#"{"x":{"a":[3,2,1]}}"#, r#"{"x.a.0":3,"x.a.2":1}"#, "[]", "[]", "{}"),
        (r#"{"xyz":{"a":[1,2,3]}}"#, r#"{"xyz":{"a":[3,1,2]}}"#, r#"{"xyz.a":[3,1,2]}"#, "[]", "[]", "{}"),
        // Fields out of order come last, and are not listed as removed.
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"a":1}"#, "[]", "[]", "{}"),
        (r#"{"a":1,"b":2}"#, r#"{"c":3,"a":1,"b":2}"#, r#"{"c":3,"a":1,"b":2}"#, "[]", "[]", "{}"),
        (r#"{"a":1,"b":2,"c":3}"#, r#"{"a":1,"x":0,"c":4}"#, r#"{"x":0,"c":4}"#, r#"["b"]"#, "[]", "{}"),
        (r#"{"x":{"a":{"n":1},"b":2}}"#, r#"{"x":{"b":2,"a":{"n":1}}}"#, r#"{"x.a":{"n":1}}"#, "[]", "[]", "{}"),
        // Ambiguous paths.
        (r#"{"0":1}"#, r#"{"0":2}"#, r#"{"0":2}"#, "[]", "[]", "{}"),
        (r#"{"a.b":1}"#, r#"{"a.b":2}"#, r#"{"a.b":2}"#, "[]", "[]", r#"{"a.b":["a.b"]}"#),
        (r#"{"a":{"0":1}}"#, r#"{"a":{"0":2}}"#, r#"{"a.0":2}"#, "[]", "[]", r#"{"a.0":["a","0"]}"#),
        (r#"{"a":{"01":1}}"#, r#"{"a":{}}"#, "{}", r#"["a.01"]"#, "[]", "{}"),
        (r#"{"a":{"10":1}}"#, r#"{"a":{}}"#, "{}", r#"["a.10"]"#, "[]", r#"{"a.10":["a","10"]}"#),
        (r#"{"a":[{"0":1}]}"#, r#"{"a":[{}]}"#, "{}", r#"["a.0.0"]"#, "[]", r#"{"a.0.0":["a",0,"0"]}"#),
        (
            r#"{"a":{"5":[1,2,3]}}"#,
            r#"{"a":{"5":[1]}}"#,
            "{}",
            "[]",
            r#"[{"field":"a.5","newSize":1}]"#,
            r#"{"a.5":["a","5"]}"#,
        ),
    ];
    for (before, after, updated, removed, truncated, ambiguous) in cases {
        let description = difference(&parse(before), &parse(after)).description(true);
        let expected = format!(
            r#"{{"updatedFields":{updated},"removedFields":{removed},"truncatedArrays":{truncated},"disambiguatedPaths":{ambiguous}}}"#
        );
        assert_eq!(description.to_string(), expected, "{before} {after}");
    }
}

#[test]
fn types_and_bits_count() {
    let other_nan = f64::from_bits(f64::NAN.to_bits() ^ 1);
    let values: Vec<Value> = vec![
        1i32.into(),
        1i64.into(),
        1.0.into(),
        0.0.into(),
        (-0.0).into(),
        f64::NAN.into(),
        other_nan.into(),
        "1".into(),
        Value::Symbol("1".into()),
        Value::Null,
        Value::Undefined,
        crate::Decimal::from(1i64).into(),
        "1.0".parse::<crate::Decimal>().unwrap().into(),
    ];
    for (at, a) in values.iter().enumerate() {
        for (other, b) in values.iter().enumerate() {
            let code = |scope: &Value| crate::Code { code: String::new(), scope: Some(doc! {"x": scope}) };
            for (a, b) in [(doc! {"a": a}, doc! {"a": b}), (doc! {"c": code(a)}, doc! {"c": code(b)})] {
                let difference = Difference::between(&a, &b).unwrap();
                assert_eq!(difference.is_empty(), at == other, "{a} {b}");
            }
        }
    }
}

#[test]
fn documents_without_a_difference() {
    let nested = |levels: usize, leaf: i32| (1..levels).fold(Map::from([("a", leaf)]), |inner, _| doc! {"a": inner});
    let duplicate = |x: i32| Map { entries: vec![("x".into(), x.into()), ("x".into(), 0.into())] };
    let number_key = |x: i32| Map { entries: vec![(1.into(), x.into())] };
    let cases = [
        (doc! {"_id": 1}, doc! {"_id": 2}),
        (doc! {"_id": 1}, doc! {"_id": 1.0}),
        (doc! {"_id": {"a": 1}}, doc! {"_id": {"a": 2}}),
        (doc! {"_id": 1}, doc! {}),
        (doc! {}, doc! {"_id": 1}),
        (doc! {"a": 1, "_id": 1}, doc! {"_id": 1, "a": 1, "b": 1}),
        (doc! {"a": 1, "_id": 1}, doc! {"b": 1, "_id": 1}),
        (duplicate(1), duplicate(2)),
        (doc! {"x": 1}, duplicate(1)),
        (duplicate(1), doc! {"x": 1}),
        (number_key(1), number_key(2)),
        (doc! {"x": 1}, number_key(2)),
        (nested(MAX_DEPTH, 1), nested(MAX_DEPTH + 1, 1)),
        (nested(MAX_DEPTH + 1, 1), nested(MAX_DEPTH, 1)),
    ];
    for (at, (before, after)) in cases.iter().enumerate() {
        let found = Difference::between(before, after);
        // In the sixth case, only the field `a` moves.
        assert_eq!(found.is_none(), at != 5, "{before} {after} {found:?}");
    }
    assert!(difference(&duplicate(1), &duplicate(1)).is_empty());
    assert!(difference(&number_key(1), &number_key(1)).is_empty());
    // Inside, such documents are set as a whole.
    for (before, after) in [(duplicate(1), duplicate(2)), (number_key(1), number_key(2))] {
        let stored = difference(&doc! {"a": {"b": (&before)}}, &doc! {"a": {"b": (&after)}}).into_map();
        assert_eq!(stored, doc! {"da": {"ub": after}});
    }
}

#[test]
fn the_deepest_documents() {
    let arrays = |leaf: Value| (2..MAX_DEPTH).fold(Value::Array(vec![leaf]), |inner, _| Value::Array(vec![inner]));
    let nested = |leaf: i32| (1..MAX_DEPTH).fold(Map::from([("a", leaf)]), |inner, _| doc! {"a": inner});
    for (before, after) in [(nested(1), nested(2)), (doc! {"a": arrays(1.into())}, doc! {"a": arrays(2.into())})] {
        let difference = difference(&before, &after);
        let mut depths = Vec::new();
        let Ok(()) = difference.try_for_each(|path, _| -> Result<(), std::convert::Infallible> {
            depths.push(path.components().len());
            Ok(())
        });
        assert_eq!(depths, [MAX_DEPTH]);
        let stored = difference.clone().into_map();
        assert!(!Value::Map(stored.clone()).is_too_deep());
        assert_eq!(Difference::from_map(stored), Ok(difference));
    }
}

#[test]
fn paths_have_a_maximum_length() {
    let digits = |count: usize, value: i32| -> Map { (0..count).map(|n| (n.to_string(), value)).collect() };
    let wide = |count: usize, value: i32| doc! {("a".repeat(1 << 20)): (digits(count, value))};
    // A path has the long name, a dot and a digit, and 16 such names alone have the maximum length.
    let deep = |value: i32| doc! {"x": (wide(10, value)), "y": (wide(5, value))};
    assert!(Difference::between(&deep(1), &deep(2)).is_some());
    let deep = |value: i32| doc! {"x": (wide(10, value)), "y": (wide(6, value))};
    assert_eq!(Difference::between(&deep(1), &deep(2)), None);
}

#[test]
fn a_difference_does_not_fit_another_document() {
    // Before, after, the other document, the path that does not fit.
    let cases = [
        (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#, "{}", "a"),
        (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#, r#"{"a":1}"#, "a"),
        (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#, r#"{"a":[{"b":1}]}"#, "a"),
        (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#, r#"{"a":{"c":1}}"#, "a.b"),
        (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, r#"{"a":{}}"#, "a.b"),
        (r#"{"a":[0,{"b":1},7]}"#, r#"{"a":[0,{"b":2}]}"#, r#"{"a":[0,{"b":1}]}"#, "a"),
        (r#"{"a":[0,{"b":1},7]}"#, r#"{"a":[0,{"b":2}]}"#, r#"{"a":[0,1,2]}"#, "a.1"),
        (r#"{"a":[0]}"#, r#"{"a":[0,1]}"#, r#"{"a":[]}"#, "a.1"),
        (r#"{"a":[[0],1]}"#, r#"{"a":[[1],1]}"#, r#"{"a":[]}"#, "a.0"),
    ];
    for (before, after, other, path) in cases {
        let error = difference(&parse(before), &parse(after)).apply(&mut parse(other)).unwrap_err();
        assert_eq!(error, DifferenceError::Misfit { path: path.to_owned() }, "{before} {after} {other}");
    }
}

#[test]
fn malformed_forms() {
    let deep = (1..=MAX_DEPTH).fold(doc! {"ua": 1}, |inner, _| doc! {"da": inner});
    let deep_value = (1..=MAX_DEPTH).fold(doc! {"a": 1}, |inner, _| doc! {"ua": inner});
    let malformed = [
        doc! {"": 1},
        doc! {1: true},
        doc! {"a": null, "xa": 1},
        doc! {"éa": 1},
        doc! {"ra": 1},
        doc! {"ra": {"ua": 1}},
        doc! {"da": 1},
        doc! {"da": {}},
        doc! {"la": {}},
        parse(r#"{"la":[1]}"#),
        doc! {"t": 1},
        doc! {"ta": 1},
        doc! {"ua": 1, "ra": true},
        doc! {"ua": 1, "da": {"ua": 1}},
        doc! {"la": {"t": 1i64}},
        doc! {"la": {"t": (-1)}},
        doc! {"la": {"t": 1, "u1": 1}},
        doc! {"la": {"t": 1, "u0": 1, "t": 1}},
        doc! {"la": {"u0": 1, "t": 1}},
        doc! {"la": {"u1": 1, "u0": 1}},
        doc! {"la": {"u1": 1, "d1": {"ua": 1}}},
        doc! {"la": {"u01": 1}},
        doc! {"la": {"u-1": 1}},
        doc! {"la": {"u": 1}},
        doc! {"la": {"u2147483648": 1}},
        doc! {"la": {"r0": true}},
        doc! {"la": {"a0": 1}},
        deep,
        deep_value,
    ];
    for map in malformed {
        let found = Difference::from_map(map.clone());
        assert!(matches!(found, Err(DifferenceError::Malformed { .. })), "{map} {found:?}");
    }
    for map in [
        doc! {},
        doc! {"u": 1},
        doc! {"r": true, "a\u{0}é": 1},
        doc! {"la": {"t": 0}, "db": {"lb": {"u2147483647": 1}}},
    ] {
        let difference = Difference::from_map(map.clone()).unwrap();
        assert_eq!(difference.into_map(), map);
    }
}
