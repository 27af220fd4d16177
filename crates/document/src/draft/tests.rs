use proptest::prelude::*;

use super::*;
use crate::json;
use crate::row::encode_row;
use crate::row::tests::any_document;
use crate::shape::ShapeOptions;

fn table() -> Arc<ShapeTable> {
    Arc::new(ShapeTable::new(ShapeOptions::default()))
}

fn key_of(map: &Map) -> Vec<u8> {
    crate::key::id_key(map.get("_id").unwrap()).unwrap()
}

fn stored(map: &Map, table: &Arc<ShapeTable>) -> Document {
    let (mut row, mut shapes) = (Vec::new(), Vec::new());
    encode_row(map, table, Some("id"), &mut row, &mut shapes).unwrap();
    Document::from_row(table, &key_of(map), row).unwrap()
}

/// The document, stored so often that its fields have a shape.
fn often_stored(map: &Map, table: &Arc<ShapeTable>) -> Document {
    (0..3).for_each(|_| drop(stored(map, table)));
    stored(map, table)
}

fn parse(json: &str) -> Map {
    match json::parse(json.as_bytes()).unwrap() {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

type Change = fn(&mut Draft);

/// The document in the row that the draft appends; `None` if it appends none.
fn through_row(draft: &Draft, table: &Arc<ShapeTable>, map: &Map) -> Option<Document> {
    let (mut row, mut shapes) = (b"before".to_vec(), Vec::new());
    let made = draft.encode_row(table, &mut row, &mut shapes).unwrap();
    assert_eq!(&row[..6], b"before");
    made.then(|| Document::from_row(table, &key_of(map), &row[6..]).unwrap())
}

#[test]
fn a_field_is_replaced_without_decoding_the_others() {
    let map = parse(r#"{"_id":"x","a":{"b":[1,{"c":"deep"}]},"id":"x","n":5,"t":"text","z":null}"#);
    let table = table();
    let document = often_stored(&map, &table);
    assert!(document.map().unwrap().shape().is_some());
    let mut draft = Draft::new(document.clone()).unwrap();
    assert_eq!(draft.id_copy(), Some("id"));
    assert_eq!(draft.get("n").unwrap(), Some(Value::Int32(5)));
    draft.set("z", "last").unwrap();
    draft.set("n", 6_000_000_000i64).unwrap();
    draft.set("n", 7i32).unwrap();
    draft.set("a", parse(r#"{"b":[2]}"#)).unwrap();
    assert_eq!(draft.get("n").unwrap(), Some(Value::Int32(7)));
    assert_eq!(draft.get("t").unwrap(), Some(Value::from("text")));
    assert_eq!(draft.get("none").unwrap(), None);
    let expected = parse(r#"{"_id":"x","a":{"b":[2]},"id":"x","n":7,"t":"text","z":"last"}"#);
    let made = through_row(&draft, &table, &map).unwrap();
    assert_eq!(made.to_map().unwrap(), expected);
    // The copy of `_id` still costs nothing: the shape is the same.
    assert_eq!(made.map().unwrap().shape(), document.map().unwrap().shape());
    assert_eq!(draft.bson_size().unwrap(), bson::document_size(&expected));
    assert_eq!(draft.into_map().unwrap(), expected);
}

#[test]
fn other_fields_decode_it_whole() {
    let map = parse(r#"{"_id":"x","id":"x","n":5,"t":"text"}"#);
    let table = table();
    let document = often_stored(&map, &table);
    let changes: [(Change, &str); 4] = [
        (|draft| draft.set("new", 1i32).unwrap(), r#"{"_id":"x","id":"x","n":6,"t":"text","new":1}"#),
        (|draft| drop(draft.remove("t").unwrap()), r#"{"_id":"x","id":"x","n":6}"#),
        (|draft| draft.set("id", "y").unwrap(), r#"{"_id":"x","id":"y","n":6,"t":"text"}"#),
        (|draft| draft.map().unwrap().entries.reverse(), r#"{"t":"text","n":6,"id":"x","_id":"x"}"#),
    ];
    for (change, expected) in changes {
        let mut draft = Draft::new(document.clone()).unwrap();
        draft.set("n", 6i32).unwrap();
        change(&mut draft);
        assert!(through_row(&draft, &table, &map).is_none());
        assert_eq!(draft.bson_size().unwrap(), bson::document_size(&parse(expected)));
        assert_eq!(draft.into_map().unwrap(), parse(expected));
    }
}

#[test]
fn a_row_for_a_fold_uses_committed_shapes_only() {
    let table = table();
    let map = parse(r#"{"_id":"x","n":5}"#);
    let document = often_stored(&map, &table);
    let shape = document.map().unwrap().shape().unwrap().number();
    let whole = |json: &str| {
        let mut draft = Draft::new(document.clone()).unwrap();
        *draft.map().unwrap() = parse(json);
        let mut row = Vec::new();
        draft.encode_known_row(&table, &mut row).unwrap();
        Document::from_row(&table, &key_of(&map), row).unwrap()
    };
    let shape_of = |document: &Document| document.map().unwrap().shape().map(Shape::number);
    assert_eq!(shape_of(&whole(r#"{"_id":"x","n":6}"#)), None);
    table.mark_committed(shape);
    assert_eq!(shape_of(&whole(r#"{"_id":"x","n":6}"#)), Some(shape));
    for _ in 0..5 {
        assert_eq!(shape_of(&whole(r#"{"_id":"x","other":6}"#)), None);
    }
}

#[test]
fn a_field_is_changed_in_place_without_decoding_the_others() {
    let map = parse(r#"{"_id":"x","a":{"b":[1]},"id":"x","n":5}"#);
    let table = table();
    let mut draft = Draft::new(often_stored(&map, &table)).unwrap();
    assert_eq!(draft.get_mut("none").unwrap(), None);
    *draft.get_mut("n").unwrap().unwrap() = Value::from(6i32);
    assert_eq!(draft.get_mut("n").unwrap(), Some(&mut Value::from(6i32)));
    let Some(Value::Map(inner)) = draft.get_mut("a").unwrap() else { panic!() };
    inner.push("c", 1i32);
    let expected = r#"{"_id":"x","a":{"b":[1],"c":1},"id":"x","n":6}"#;
    assert_eq!(through_row(&draft, &table, &map).unwrap().to_map().unwrap(), parse(expected));
    assert_eq!(draft.bson_size().unwrap(), bson::document_size(&parse(expected)));
    // The copy of `_id` is not in the row.
    *draft.get_mut("id").unwrap().unwrap() = Value::from("y");
    assert!(through_row(&draft, &table, &map).is_none());
    *draft.get_mut("n").unwrap().unwrap() = Value::from(7i32);
    assert_eq!(draft.get_mut("none").unwrap(), None);
    assert_eq!(draft.into_map().unwrap(), parse(r#"{"_id":"x","a":{"b":[1],"c":1},"id":"y","n":7}"#));
}

#[test]
fn the_rows_of_another_collection_are_not_patched() {
    let map = parse(r#"{"_id":1,"n":5}"#);
    let (ours, theirs) = (table(), table());
    let document = often_stored(&map, &ours);
    let mut draft = Draft::new(document).unwrap();
    draft.set("n", 6i32).unwrap();
    assert!(through_row(&draft, &ours, &map).is_some());
    assert!(through_row(&draft, &theirs, &map).is_none());
}

#[test]
fn a_value_that_nests_too_deep_is_refused() {
    let map = parse(r#"{"_id":1,"n":5}"#);
    let table = table();
    let document = often_stored(&map, &table);
    let deep = |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let mut draft = Draft::new(document).unwrap();
    draft.set("n", deep(MAX_DEPTH - 1)).unwrap();
    assert!(through_row(&draft, &table, &map).is_some());
    draft.set("n", deep(MAX_DEPTH)).unwrap();
    let (mut row, mut shapes) = (b"before".to_vec(), Vec::new());
    assert_eq!(draft.encode_row(&table, &mut row, &mut shapes), Err(RowError::TooDeep));
    assert_eq!(row, b"before");
}

proptest! {
    #[test]
    fn drafts_change_as_maps_do(
        map in any_document(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), crate::arbitrary::json_value(), 0..8u8), 0..5),
    ) {
        let mut map = map;
        map.entries.retain(|(key, _)| key.as_str() != Some("_id"));
        map.entries.insert(0, (Value::from("_id"), Value::from("an id")));
        let table = table();
        let document = often_stored(&map, &table);
        let (mut draft, mut expected) = (Draft::new(document.clone()).unwrap(), map.clone());
        prop_assert_eq!(document.bson_size().unwrap(), bson::document_size(&map));
        prop_assert!(draft.bson_size_max() >= bson::document_size(&map));
        for (index, value, how) in changes {
            let (key, _) = index.get(&map.entries);
            let Some(name) = key.as_str().filter(|name| *name != "_id") else { continue };
            if how == 0 {
                prop_assert_eq!(draft.remove(name).unwrap(), expected.remove(name));
                continue;
            }
            match draft.get_mut(name).unwrap() {
                Some(old) if how % 2 == 0 => *old = value.clone(),
                _ => draft.set(name, value.clone()).unwrap(),
            }
            match expected.get_mut(name) {
                Some(old) => *old = value,
                None => expected.push(name, value),
            }
            prop_assert_eq!(draft.get(name).unwrap(), expected.get(name).cloned());
        }
        let size = draft.bson_size().unwrap();
        prop_assert_eq!(size, bson::document_size(&expected));
        prop_assert!(draft.bson_size_max() >= size);
        prop_assert_eq!(draft.bson_size_over(size).unwrap(), None);
        prop_assert_eq!(draft.bson_size_over(size - 1).unwrap(), Some(size));
        if let Some(made) = through_row(&draft, &table, &map) {
            prop_assert_eq!(made.to_map().unwrap(), expected.clone());
        }
        // A shape that was created before the error is not committed.
        let next = table.next_number();
        table.mark_committed(next.saturating_sub(1));
        let mut row = Vec::new();
        draft.encode_known_row(&table, &mut row).unwrap();
        prop_assert_eq!(table.next_number(), next, "a shape was made");
        let made = Document::from_row(&table, &key_of(&map), row).unwrap();
        prop_assert_eq!(made.to_map().unwrap(), expected.clone());
        prop_assert_eq!(draft.into_map().unwrap(), expected);
    }
}

#[test]
fn a_row_is_not_made_of_the_old_one_under_another_id() {
    let map = parse(r#"{"_id":{"k":1},"n":1}"#);
    let table = table();
    let document = often_stored(&map, &table);
    let mut draft = Draft::new(document.clone()).unwrap();
    draft.set("n", 2).unwrap();
    assert!(through_row(&draft, &table, &map).is_some());
    draft.set("_id", parse(r#"{"k":2}"#)).unwrap();
    assert!(through_row(&draft, &table, &map).is_none());
    assert_eq!(draft.into_map().unwrap(), parse(r#"{"_id":{"k":2},"n":2}"#));
}
