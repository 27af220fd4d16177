#![allow(clippy::disallowed_methods)]

use super::*;
use crate::shape::table::hash_fields;

fn fields(names: &[(&str, FieldKind)]) -> Vec<Field> {
    names.iter().map(|&(name, kind)| Field { name: name.into(), kind }).collect()
}

fn stored(names: &[&str]) -> Vec<Field> {
    names.iter().map(|&name| Field { name: name.into(), kind: FieldKind::Stored }).collect()
}

fn make(table: &ShapeTable, names: &[&str]) -> Option<u32> {
    let fields = names.iter().map(|&name| (name, FieldKind::Stored));
    table.find_or_make(hash_fields(fields.clone()), false, fields).map(|shape| shape.number())
}

#[test]
fn a_definition_comes_back_as_it_was_written() {
    let shape =
        Shape::new(300, fields(&[("_id", FieldKind::IsId), ("ä\"\n", FieldKind::Stored), ("", FieldKind::Stored)]))
            .unwrap();
    let mut bytes = Vec::new();
    shape.encode(&mut bytes);
    assert_eq!(bytes, b"\xac\x02\x03\x07_id\x08\xc3\xa4\"\n\x00");
    let mut input = &bytes[..];
    let decoded = Shape::decode(&mut input).unwrap();
    assert!(input.is_empty());
    assert_eq!(decoded, shape);
    assert!(decoded.is_committed() && !shape.is_committed());
    assert_eq!(decoded.json_name(0), b"\"_id\":");
    assert_eq!(decoded.json_name(1), ",\"ä\\\"\\n\":".as_bytes());
    assert_eq!((decoded.stored_before(0), decoded.stored_before(1), decoded.stored_before(2)), (0, 0, 1));
    for len in 0..bytes.len() {
        assert!(Shape::decode(&mut &bytes[..len]).is_err());
    }
}

#[test]
fn definitions_that_no_encoder_writes_are_refused() {
    assert!(matches!(Shape::new(1, stored(&["a", "b", "a"])), Err(ShapeError::Invalid(_))));
    assert!(matches!(Shape::new(0, stored(&["a"])), Err(ShapeError::Invalid(_))));
    assert!(matches!(Shape::new(MAX_NUMBER + 1, stored(&["a"])), Err(ShapeError::Invalid(_))));
    let name = "n".repeat(MAX_NAME_BYTES + 1);
    assert!(matches!(Shape::new(1, stored(&[&name])), Err(ShapeError::Invalid(_))));
    // A name that is not UTF-8; and a count that must not make the decoder claim memory.
    assert!(Shape::decode(&mut &b"\x01\x01\x02\xff"[..]).is_err());
    assert!(Shape::decode(&mut &b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f"[..]).is_err());
}

#[test]
fn every_name_is_found() {
    for count in [0, 1, 5, 6, 7, 100, MAX_FIELDS] {
        let names: Vec<String> = (0..count).map(|n| format!("field{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let shape = Shape::new(1, stored(&names)).unwrap();
        for (position, name) in names.iter().enumerate() {
            assert_eq!(shape.position(name), Some(position));
        }
        assert_eq!(shape.position("other"), None);
        assert_eq!(shape.position(""), None);
    }
}

#[test]
fn a_shape_is_made_at_the_sighting_that_was_asked_for() {
    for sightings in 1..5 {
        let options = ShapeOptions { nested_sightings: sightings, ..ShapeOptions::default() };
        let table = ShapeTable::new(options);
        for seen in 1..sightings {
            assert_eq!(make(&table, &["a", "b"]), None, "sighting {seen}");
        }
        assert_eq!(make(&table, &["a", "b"]), Some(1));
        assert_eq!(make(&table, &["a", "b"]), Some(1));
        assert_eq!((table.len(), table.next_number()), (1, 2));
    }
}

#[test]
fn the_cap_limits_the_shapes() {
    let options = ShapeOptions { nested_sightings: 1, max_shapes: 2, ..ShapeOptions::default() };
    let table = ShapeTable::new(options);
    assert_eq!(make(&table, &["a"]), Some(1));
    assert_eq!(make(&table, &["b"]), Some(2));
    assert_eq!(make(&table, &["c"]), None);
    assert!(table.is_full());
    table.mark_committed(1);
    // Committed shapes count for the limit, too, and existing shapes are still found.
    assert_eq!(make(&table, &["c"]), None);
    assert_eq!((make(&table, &["a"]), make(&table, &["b"])), (Some(1), Some(2)));
    assert_eq!(table.len(), 2);
}

#[test]
fn numbers_go_on_above_everything_seen() {
    let options = ShapeOptions { nested_sightings: 1, ..ShapeOptions::default() };
    let shapes = || [Shape::new(7, stored(&["a"])).unwrap(), Shape::new(3, stored(&["b"])).unwrap()];
    let table = ShapeTable::open(options, shapes(), 5).unwrap();
    assert_eq!(table.next_number(), 8);
    assert_eq!(make(&table, &["a"]), Some(7));
    assert_eq!(make(&table, &["c"]), Some(8));
    assert!(table.get(7).unwrap().is_committed() && !table.get(8).unwrap().is_committed());
    assert_eq!(ShapeTable::open(options, shapes(), 50).unwrap().next_number(), 50);
    assert_eq!(table.iter().map(|shape| shape.number()).collect::<Vec<_>>(), [3, 7, 8]);
    let twice = shapes().into_iter().chain([Shape::new(3, stored(&["c"])).unwrap()]);
    assert_eq!(ShapeTable::open(options, twice, 1).err(), Some(ShapeError::Conflict(3)));
    let same = shapes().into_iter().chain(shapes());
    assert_eq!(ShapeTable::open(options, same, 1).unwrap().len(), 2);
}

#[test]
fn numbers_end_and_maps_then_stay_self_describing() {
    let options = ShapeOptions { nested_sightings: 1, ..ShapeOptions::default() };
    let table = ShapeTable::open(options, [], MAX_NUMBER).unwrap();
    assert_eq!(make(&table, &["a"]), Some(MAX_NUMBER));
    assert_eq!(make(&table, &["b"]), None);
    assert_eq!(make(&table, &["a"]), Some(MAX_NUMBER));
}

#[test]
fn many_shapes_made_by_many_threads_are_each_made_once() {
    let options = ShapeOptions { nested_sightings: 1, ..ShapeOptions::default() };
    let table = ShapeTable::new(options);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..1000 {
                    let name = format!("field{n}");
                    // While another thread adds a shape, this map gets none.
                    while make(&table, &[&name, "x"]).is_none() {}
                }
            });
        }
    });
    assert_eq!(table.len(), 1000);
    let mut names: Vec<_> = table.iter().map(|shape| shape.fields()[0].name.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 1000);
}

#[test]
fn kinds_tell_shapes_apart() {
    let table = ShapeTable::new(ShapeOptions { document_sightings: 1, ..ShapeOptions::default() });
    let make = |kind| {
        let fields = [("_id", kind), ("a", FieldKind::Stored)].into_iter();
        table.find_or_make(hash_fields(fields.clone()), true, fields).map(|shape| shape.number())
    };
    assert_eq!(make(FieldKind::IsId), Some(1));
    assert_eq!(make(FieldKind::Stored), Some(2));
    assert_eq!(make(FieldKind::IsId), Some(1));
}
