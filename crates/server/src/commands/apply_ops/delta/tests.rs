use super::*;
use alluvium::doc;

/// The document after a delta.
fn applied(document: &Map, delta: &Map) -> Map {
    let mut document = document.clone();
    apply(&mut document, delta).unwrap_or_else(|error| panic!("{delta}: {error}"));
    document
}

/// The forms that MongoDB 8.0 writes: `src/mongo/db/update/document_diff_serialization.h`.
#[test]
fn fields_are_removed_changed_and_added() {
    let document = doc! {"_id": 1, "a": 1, "b": {"x": 1, "y": 2}, "c": 3};
    for (delta, expected) in [
        (doc! {"d": {"a": false, "none": false}}, doc! {"_id": 1, "b": {"x": 1, "y": 2}, "c": 3}),
        (doc! {"u": {"a": "new"}}, doc! {"_id": 1, "a": "new", "b": {"x": 1, "y": 2}, "c": 3}),
        // Inserting a field that exists moves the field to the end.
        (doc! {"i": {"a": 2, "d": 4}}, doc! {"_id": 1, "b": {"x": 1, "y": 2}, "c": 3, "a": 2, "d": 4}),
        (doc! {"sb": {"u": {"y": 9}, "i": {"z": 1}}}, doc! {"_id": 1, "a": 1, "b": {"x": 1, "y": 9, "z": 1}, "c": 3}),
        // Names are plain names here, not paths.
        (doc! {"i": {"p.q": 1, "$r": 2}}, doc! {"_id": 1, "a": 1, "b": {"x": 1, "y": 2}, "c": 3, "p.q": 1, "$r": 2}),
        // The field has another type, or is missing.
        (doc! {"sa": {"u": {"y": 9}}, "snone": {"i": {"z": 1}}}, document.clone()),
        (doc! {"sb": {"a": true, "u0": 1}}, document.clone()),
    ] {
        assert_eq!(applied(&document, &delta), expected, "{delta}");
        // If a replay starts again, entries are applied twice.
        assert_eq!(applied(&expected, &delta), expected, "{delta}");
    }
}

#[test]
fn elements_of_arrays_are_changed_cut_and_appended() {
    let document = doc! {"a": [1, {"x": 1}, [2, 3]]};
    for (delta, expected) in [
        (doc! {"sa": {"a": true, "u0": 7}}, doc! {"a": [7, {"x": 1}, [2, 3]]}),
        (doc! {"sa": {"a": true, "l": 1}}, doc! {"a": [1]}),
        (doc! {"sa": {"a": true, "l": 4, "u3": "end"}}, doc! {"a": [1, {"x": 1}, [2, 3], "end"]}),
        (doc! {"sa": {"a": true, "u4": 5}}, doc! {"a": [1, {"x": 1}, [2, 3], null, 5]}),
        (doc! {"sa": {"a": true, "s1": {"u": {"x": 2}}}}, doc! {"a": [1, {"x": 2}, [2, 3]]}),
        (doc! {"sa": {"a": true, "s2": {"a": true, "u1": 9}, "s9": {"u": {}}}}, doc! {"a": [1, {"x": 1}, [2, 9]]}),
    ] {
        assert_eq!(applied(&document, &delta), expected, "{delta}");
        assert_eq!(applied(&expected, &delta), expected, "{delta}");
    }
}

#[test]
fn malformed_deltas_are_refused() {
    let document = doc! {"a": [1], "b": {}};
    for delta in [
        doc! {"x": {}},
        doc! {"u": 1},
        doc! {"": {}},
        doc! {"sb": 1},
        doc! {"sa": {"a": true, "u": 1}},
        doc! {"sa": {"a": true, "u-1": 1}},
        doc! {"sa": {"a": true, "l": (-1)}},
        doc! {"sa": {"a": true, "l": 2_000_000_000}},
        doc! {"sa": {"a": true, "u18446744073709551615": 1}},
        doc! {"sa": {"a": true, "\u{e9}0": 1}},
        doc! {"sa": {"a": true, "s0": 1}},
    ] {
        let refused = apply(&mut document.clone(), &delta).map_err(|error| error.code);
        assert_eq!(refused, Err(2), "{delta}");
    }
}
