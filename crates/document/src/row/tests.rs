use proptest::prelude::*;

use super::*;
use crate::shape::ShapeOptions;
use crate::value::{Binary, Code, Double, Regex, Timestamp};

/// Any value with few names and small numbers, so that shapes occur again.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-20i32..20).prop_map(Value::Int32),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        (-20i64..20).prop_map(Value::Int64),
        any::<f64>().prop_map(|x| Value::Double(Double(x))),
        Just(Value::Decimal("1.50".parse().unwrap())),
        "[a-cä\u{0}\"\\\\\n]{0,20}".prop_map(Value::from),
        "[a-c]{100,200}".prop_map(Value::from),
        any::<[u8; 12]>().prop_map(Value::ObjectId),
        any::<i64>().prop_map(Value::DateTime),
        (any::<u8>(), proptest::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(subtype, bytes)| Value::Binary(Binary { subtype, bytes })),
        (any::<u32>(), any::<u32>()).prop_map(|(time, increment)| Value::Timestamp(Timestamp { time, increment })),
        Just(Value::Regex(Box::new(Regex { pattern: "^a".into(), options: "i".into() }))),
        Just(Value::Code(Box::new(Code { code: "f()".into(), scope: Some(Map::new()) }))),
        Just(Value::MinKey),
        Just(Value::MaxKey),
        Just(Value::Undefined),
        Just(Value::Symbol("s".into())),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..20).prop_map(Value::Array),
            any_map(inner.clone()).prop_map(Value::Map),
            proptest::collection::vec((inner.clone(), inner), 0..3).prop_map(|entries| Value::Map(Map { entries })),
        ]
    })
}

/// A map with few different names; a name may occur twice.
fn any_map(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    let name = prop_oneof![Just(""), Just("a"), Just("b"), Just("ä\n"), Just("$date"), Just("_id"), Just("id")];
    proptest::collection::vec((name.prop_map(|name| Value::String(name.into())), values), 0..6)
        .prop_map(|entries| Map { entries })
}

/// A document, often with an `_id`.
pub(crate) fn any_document() -> impl Strategy<Value = Map> {
    (proptest::option::of(any_value()), any_map(any_value())).prop_map(|(id, mut map)| {
        if let Some(id) = id {
            map.entries.retain(|(key, _)| key.as_str() != Some(ID));
            map.entries.insert(0, (Value::String(ID.into()), id));
        }
        map
    })
}

fn table() -> ShapeTable {
    ShapeTable::new(ShapeOptions::default())
}

fn encode(document: &Map, table: &ShapeTable, id_copy: Option<&str>) -> (Vec<u8>, Vec<u32>) {
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(document, table, id_copy, &mut row, &mut shapes).unwrap();
    (row, shapes.iter().map(|shape| shape.number()).collect())
}

fn document(entries: &[(&str, Value)]) -> Map {
    Map { entries: entries.iter().map(|(name, value)| (Value::String((*name).into()), value.clone())).collect() }
}

fn nested(entries: &[(&str, Value)]) -> Value {
    Value::Map(document(entries))
}

#[test]
fn the_bytes_are_as_agreed() {
    let table = table();
    let document = document(&[
        ("_id", Value::String("x".into())),
        ("id", Value::String("x".into())),
        ("n", Value::Int32(5)),
        ("m", nested(&[("k", Value::Null)])),
        ("e", Value::Map(Map::new())),
        ("l", Value::Array(vec![nested(&[("k", Value::Int32(1))])])),
    ]);
    // At the first occurrence the document is self-describing. The nested map occurs twice in it, and has a shape the
    // second time.
    let (row, shapes) = encode(&document, &table, Some("id"));
    assert_eq!(row, b"\x00\x69\x37_id\x17x\x27id\x17x\x17n\x54\x17m\x19\x17k\x01\x17e\x09\x17l\x18\x1e\x01\x14");
    assert_eq!(shapes, [1]);
    let (row, shapes) = encode(&document, &table, Some("id"));
    assert_eq!(row, b"\x02\x54\x1e\x01\x01\x09\x18\x1e\x01\x14");
    assert_eq!(shapes, [2, 1]);
    table.mark_committed(1);
    assert_eq!(encode(&document, &table, Some("id")).1, [2]);
    // Without `id_copy`, the row contains the value of `id`, and the shape differs.
    encode(&document, &table, None);
    assert_eq!(encode(&document, &table, None).0, b"\x03\x17x\x54\x1e\x01\x01\x09\x18\x1e\x01\x14");
    assert_eq!(decode_row(&row, &table, &Value::String("x".into())).unwrap(), document);
}

#[test]
fn a_copy_that_differs_is_stored() {
    let table = ShapeTable::new(ShapeOptions { document_sightings: 1, ..ShapeOptions::default() });
    let document = document(&[("_id", Value::Int32(1)), ("id", Value::Int64(1))]);
    let (row, _) = encode(&document, &table, Some("id"));
    assert_eq!(row, b"\x01\xfb\x02".iter().copied().take(1).chain([0x2b]).collect::<Vec<u8>>());
    assert_eq!(decode_row(&row, &table, &Value::Int32(1)).unwrap(), document);
}

#[test]
fn a_long_nested_map_has_a_long_length() {
    let table = ShapeTable::new(ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() });
    for len in [100, 125, 126, 127, 128, 16381, 16382, 20000] {
        let document = document(&[("m", nested(&[("k", Value::from("x".repeat(len)))])), ("n", Value::Int32(7))]);
        let (row, _) = encode(&document, &table, None);
        assert_eq!(decode_row(&row, &table, &Value::Null).unwrap(), document);
    }
}

#[test]
fn keys_that_are_no_strings_or_stand_twice_stay_self_describing() {
    let table = ShapeTable::new(ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() });
    let twice = document(&[("a", Value::Int32(1)), ("a", Value::Int32(2))]);
    let odd = Map { entries: vec![(Value::Int32(1), Value::Null)] };
    for map in [twice, odd] {
        let (row, shapes) = encode(&map, &table, None);
        assert_eq!(row[0], 0);
        assert!(shapes.is_empty());
        assert_eq!(decode_row(&row, &table, &Value::Null).unwrap(), map);
    }
}

#[test]
fn a_document_that_is_too_deep_is_refused_and_leaves_nothing_behind() {
    let table = ShapeTable::new(ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() });
    for (deep, fits) in [(MAX_DEPTH - 2, true), (MAX_DEPTH - 1, true), (MAX_DEPTH, false), (1000, false)] {
        for is_array in [true, false] {
            let mut value = Value::Null;
            for _ in 0..deep {
                value = if is_array { Value::Array(vec![value]) } else { nested(&[("a", value)]) };
            }
            let document = document(&[("a", value)]);
            assert_eq!(!Value::Map(document.clone()).is_too_deep(), fits);
            let (mut row, mut shapes) = (vec![7], Vec::new());
            let result = encode_row(&document, &table, None, &mut row, &mut shapes);
            assert_eq!(result.is_ok(), fits);
            if fits {
                assert_eq!(decode_row(&row[1..], &table, &Value::Null).unwrap(), document);
            } else {
                assert_eq!((row, result), (vec![7], Err(RowError::TooDeep)));
            }
        }
    }
}

/// Nested values of type code, also within arrays, can be decoded after they were encoded.
#[test]
fn codes_with_scopes_count_with_what_is_around_them() {
    let table = ShapeTable::new(ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() });
    const MOST: usize = MAX_DEPTH - 1;
    for (arrays, codes) in [
        (0, MOST - 1),
        (0, MOST),
        (0, MOST + 1),
        (MOST - 60, 60),
        (MOST - 59, 60),
        (MOST - 39, 60),
        (MOST - 1, 1),
        (MOST, 1),
        (MOST - 1, 2),
        (MOST, 0),
    ] {
        let code = |inner| Value::Code(Box::new(Code { code: "f".into(), scope: Some(Map::from([("s", inner)])) }));
        let value = (0..codes).fold(Value::Null, |inner, _| code(inner));
        let value = (0..arrays).fold(value, |inner, _| Value::Array(vec![inner]));
        let document = document(&[("a", value)]);
        let fits = arrays + codes < MAX_DEPTH;
        assert_eq!(!Value::Map(document.clone()).is_too_deep(), fits, "{arrays} {codes}");
        let (mut row, mut shapes) = (Vec::new(), Vec::new());
        match encode_row(&document, &table, None, &mut row, &mut shapes) {
            Ok(()) => assert_eq!(decode_row(&row, &table, &Value::Null).as_ref(), Ok(&document), "{arrays} {codes}"),
            Err(error) => assert_eq!((error, fits), (RowError::TooDeep, false), "{arrays} {codes}"),
        }
        assert_eq!(encode_plain_row(&document, MAX_DEPTH).is_ok(), fits, "{arrays} {codes}");
    }
}

#[test]
fn an_unknown_shape_is_named() {
    let error = |row: &[u8]| decode_row(row, &table(), &Value::Null).unwrap_err();
    assert_eq!(error(b"\x09"), RowError::UnknownShape(9));
    assert_eq!(error(b"\x00\x19\x17a\x5e\x00"), RowError::UnknownShape(5));
    let view =
        MapRef::of_row(b"\x00\x19\x17a\x5e\x00", Context { table: &table(), id: b"\x01" }).unwrap().get("a").err();
    assert_eq!(view, Some(RowError::UnknownShape(5)));
}

#[test]
fn a_path_goes_through_maps_and_arrays() {
    let table = table();
    let document = document(&[(
        "a",
        nested(&[("b", Value::Array(vec![Value::Int32(1), nested(&[("", Value::String("x".into()))])]))]),
    )]);
    for _ in 0..3 {
        let (row, _) = encode(&document, &table, None);
        let view = ValueRef::Map(MapRef::of_row(&row, Context { table: &table, id: b"\x01" }).unwrap());
        let at = |path: &str| view.clone().get_path(path).unwrap().map(|value| value.to_value().unwrap());
        assert_eq!(at("a.b.0"), Some(Value::Int32(1)));
        assert_eq!(at("a.b.1."), Some(Value::String("x".into())));
        assert_eq!(at("a.b.2"), None);
        assert_eq!(at("a.b.x"), None);
        assert_eq!(at("a.b.0.c"), None);
        assert_eq!(at("b"), None);
        assert_eq!(at(""), Some(Value::Map(document.clone())));
    }
}

fn check_view(view: MapRef<'_>, map: &Map) -> Result<(), TestCaseError> {
    prop_assert_eq!(view.len(), map.len());
    let mut seen = Vec::new();
    for (field, (key, value)) in view.iter().zip(&map.entries) {
        let (k, v) = field.unwrap();
        prop_assert_eq!(&k.to_value().unwrap(), key);
        prop_assert_eq!(&v.to_value().unwrap(), value);
        match (v, value) {
            (ValueRef::Map(view), Value::Map(map)) => check_view(view, map)?,
            (ValueRef::Array(view), Value::Array(elements)) => {
                prop_assert_eq!(view.len(), elements.len());
                for (position, element) in elements.iter().enumerate() {
                    prop_assert_eq!(&view.get(position).unwrap().unwrap().to_value().unwrap(), element);
                }
                prop_assert!(view.get(elements.len()).unwrap().is_none());
                prop_assert_eq!(&view.to_values().unwrap(), elements);
            }
            _ => {}
        }
        seen.push(key);
    }
    for name in ["", "a", "b", "ä\n", "$date", "_id", "id", "other"] {
        let found = view.get(name).unwrap().map(|value| value.to_value().unwrap());
        prop_assert_eq!(found.as_ref(), map.get(name));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rows_come_back_whole_and_field_by_field(
        documents in proptest::collection::vec(any_document(), 1..5),
        id_copy in proptest::option::of(Just("id")),
        sightings in 1u32..4,
    ) {
        let table = ShapeTable::new(ShapeOptions { document_sightings: sightings, nested_sightings: sightings, max_shapes: 8 });
        for document in documents.iter().cycle().take(documents.len() * 4) {
            let (row, shapes) = encode(document, &table, id_copy);
            shapes.iter().for_each(|&number| table.mark_committed(number));
            let id = document.get(ID).cloned().unwrap_or_default();
            prop_assert_eq!(&decode_row(&row, &table, &id).unwrap(), document);
            let mut id_bytes = Vec::new();
            encoding::encode(&id, &mut id_bytes);
            check_view(MapRef::of_row(&row, Context { table: &table, id: &id_bytes }).unwrap(), document)?;
        }
    }

    #[test]
    fn damaged_rows_give_errors_and_never_panic(
        document in any_document(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let table = table();
        for _ in 0..3 {
            let (mut row, _) = encode(&document, &table, None);
            for (at, byte) in &changes {
                let at = at.index(row.len());
                row[at] = *byte;
            }
            row.truncate(cut.index(row.len() + 1));
            walk(&row, &table);
        }
    }

    #[test]
    fn random_bytes_never_panic(row in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..0x20], 0..60)) {
        let table = ShapeTable::new(ShapeOptions { nested_sightings: 1, document_sightings: 1, ..ShapeOptions::default() });
        encode(&document(&[("a", Value::Null), ("b", nested(&[("c", Value::Null)]))]), &table, None);
        walk(&row, &table);
    }
}

/// Reads a row by all methods.
fn walk(row: &[u8], table: &ShapeTable) {
    let whole = decode_row(row, table, &Value::Int32(1));
    let Ok(view) = MapRef::of_row(row, Context { table, id: b"\x14" }) else {
        assert!(whole.is_err());
        return;
    };
    let mut ok = true;
    for field in view.iter() {
        match field {
            Ok((key, value)) => ok &= key.to_value().is_ok() & value.to_value().is_ok(),
            Err(_) => ok = false,
        }
    }
    assert_eq!(ok, whole.is_ok());
    for path in ["a", "b", "a.b.0.c", "b.c"] {
        let found = ValueRef::Map(view).get_path(path);
        assert!(found.is_ok() || whole.is_err());
    }
}

/// The scalars of a stored document are read without decoding it, with the same results as those of a value.
#[test]
fn values_are_read_as_rust_types() {
    let whole = Value::Decimal("3.0".parse().unwrap());
    let values = [Value::from(3), Value::from(3i64), Value::from(3.0), whole, Value::from(0.5), Value::from(true)];
    for value in values.into_iter().chain([Value::Null, Value::from("3"), Value::DateTime(3), Value::Array(vec![])]) {
        let document = crate::Document::from_map(&Map::from([("a", value.clone())])).unwrap();
        let stored = document.get("a").unwrap().unwrap();
        assert_eq!(stored.as_i64(), value.as_i64(), "{value:?}");
        assert_eq!(stored.as_f64(), value.as_f64(), "{value:?}");
        assert_eq!(stored.as_bool(), value.as_bool(), "{value:?}");
        assert_eq!(stored.as_str(), value.as_str(), "{value:?}");
        assert_eq!(stored.as_array().map(|array| array.len()), value.as_array().map(<[Value]>::len));
        assert_eq!(stored.as_millis(), if value == Value::DateTime(3) { Some(3) } else { None });
        assert!(stored.as_map().is_none());
    }
}
