use super::*;
use crate::index::Index;
use crate::names::FullName;
use alluvium_document::diff::Difference;
use alluvium_document::row::encode_row;
use alluvium_document::shape::{ShapeOptions, ShapeTable};
use alluvium_document::{Map, Value};
use alluvium_store::TreeId;

fn name(name: &str) -> FullName {
    FullName::parse(name).unwrap()
}

#[test]
fn scopes_cover_names() {
    let (all, shop, pets) = (Scope::Everything, Scope::Logical("shop".into()), Scope::Collection(name("shop.pets")));
    for (covered, expected) in [
        ("shop.pets", [true, true, true]),
        ("shop.toys", [true, true, false]),
        ("pets", [true, false, false]),
        ("config.transactions", [false, false, false]),
    ] {
        assert_eq!([&all, &shop, &pets].map(|scope| scope.covers(&name(covered))), expected, "{covered}");
    }
    let dropped = FullName { logical: "shop".into(), collection: "".into() };
    assert_eq!([&all, &shop, &pets].map(|scope| scope.covers(&dropped)), [true, true, false], "the whole database");
    let temporary = FullName::temporary("shop", 7);
    assert!(![&all, &shop].iter().any(|scope| scope.covers(&temporary)));
    let includes = |scope: &Scope| [&all, &shop, &pets].map(|other| scope.includes(other));
    assert_eq!(includes(&all), [true; 3]);
    assert_eq!(includes(&shop), [false, true, true]);
    assert_eq!(includes(&pets), [false, false, true]);
    assert!(!all.includes(&Scope::Logical("admin".into())) && !shop.includes(&Scope::Logical("main".into())));
}

#[test]
fn descriptions_come_back_and_are_those_of_no_index() {
    let recorded = |scope, since, used_ms| RecordedScope { scope, since, used_ms };
    let scopes = vec![
        recorded(Scope::Everything, 0, None),
        recorded(Scope::Logical("shop".into()), 7, Some(-1)),
        recorded(Scope::Collection(name("shop.pets")), 1 << 55, Some(1 << 40)),
    ];
    let description = History::describe(&scopes);
    let read = History::read(TreeId(9), &description).unwrap();
    assert_eq!((read.tree, &read.scopes, read.has_rows), (TreeId(9), &scopes, true));
    assert!(Index::read(TreeId(9), &description).is_none(), "an older build refuses it");
    for end in 0..description.len() {
        assert!(History::read(TreeId(9), &description[..end]).is_none());
    }
    assert!(History::read(TreeId(9), &[&description[..], &[0]].concat()).is_none());
    // The description of a build whose entries have no rows begins with the first scope.
    let elements = |bytes: &[u8]| alluvium_document::encoding::decode(&mut &bytes[5..]).unwrap();
    let Value::Array(all) = elements(&description) else { panic!() };
    let mut older = description[..5].to_vec();
    alluvium_document::encoding::encode(&Value::Array(all[1..].to_vec()), &mut older);
    let read = History::read(TreeId(9), &older).unwrap();
    assert_eq!((&read.scopes, read.has_rows), (&scopes, false));
    let mut newer = description[..5].to_vec();
    let version = std::iter::once(Value::Int32(3));
    alluvium_document::encoding::encode(&Value::Array(version.chain(all[1..].to_vec()).collect()), &mut newer);
    assert!(History::read(TreeId(9), &newer).is_none(), "a later version");
    // Scopes of the first builds that recorded, whose entries have other keys.
    for names in [vec![], vec![Value::from("shop")], vec![Value::from("shop"), Value::from("pets")]] {
        let scope: Value = std::iter::once(Value::Int64(7)).chain(names).collect();
        let mut first = description[..5].to_vec();
        alluvium_document::encoding::encode(&Value::Array(vec![scope]), &mut first);
        assert!(History::read(TreeId(9), &first).is_none() && Index::read(TreeId(9), &first).is_none());
    }
}

#[test]
fn events_have_the_bytes_of_the_format() {
    let pets = name("shop.pets");
    let encoded = |event: &Event, transaction: Option<&Map>, before: Option<&Map>| {
        let content = Content::Event { event, before };
        NewEvent { documents: TreeId(300), name: &pets, transaction, content }.encode()
    };
    let bytes = encoded(&Event::Delete { id: Value::Int32(1) }, None, None);
    let mut expected = vec![4, 0xac, 2, 4];
    expected.extend_from_slice(b"shop\x04pets");
    alluvium_document::encoding::encode(&Value::Int32(1), &mut expected);
    assert_eq!(bytes, expected);
    let document = || Map::from([("_id", Value::Int32(1)), ("n", Value::from(1.5))]);
    let key = key();
    for event in [
        Event::Insert { document: document() },
        Event::Update { id: Value::Int32(1), difference: difference() },
        Event::Replace { document: document() },
        Event::Delete { id: Value::from("rex") },
        Event::Drop,
        Event::Rename { to: name("shop.toys") },
        Event::Create { description: document() },
        Event::CreateIndexes { description: document() },
        Event::DropIndexes { description: document() },
        Event::Modify { description: document() },
        Event::DropDatabase,
    ] {
        let (transaction, before) = (Map::from([("txnNumber", Value::Int64(4))]), document());
        for [in_transaction, with_before] in [[false, false], [false, true], [true, false], [true, true]] {
            let (transaction, before) = (Some(&transaction).filter(|_| in_transaction), Some(&before));
            let before = before.filter(|_| with_before);
            let bytes = encoded(&event, transaction, before);
            let change = decode(&key, &bytes).unwrap();
            let expected = Change {
                number: 77,
                batch: 78,
                collection: 300,
                name: pets.clone(),
                time_ms: 79,
                transaction: transaction.cloned(),
                before: before.cloned(),
                event: event.clone(),
            };
            assert_eq!(change, expected);
            let head = Change::decode_head(&key, &bytes).unwrap();
            assert_eq!((head.batch, head.time_ms), (change.batch, change.time_ms));
            for end in 0..bytes.len() {
                assert!(decode(&key, &bytes[..end]).is_none(), "{:?}: {end} bytes", change.event);
            }
            assert!(decode(&key, &[&bytes[..], &[0]].concat()).is_none());
            let turned = [&key[8..16], &key[..8], &key[16..]].concat();
            for wrong in [&key[..23], &key[..17], &key[..15], &key[..8], &turned] {
                assert!(decode(wrong, &bytes).is_none());
            }
            // An older build has the time in the value.
            let at = 1 + 2 + 5 + 5;
            let older = [&bytes[..at], &[5], &bytes[at..]].concat();
            let expected = Change { time_ms: 5, ..change };
            assert_eq!(decode(&key[..16], &older).unwrap(), expected);
            assert_eq!(Change::decode_head(&key[..16], &older).unwrap().time_ms, 5);
        }
    }
    for kind in [0, 12, 32, 37] {
        assert!(decode(&key, &[kind, 1, 0, 0, 0]).is_none(), "{kind}");
    }
}

/// The key of the change 77 in the batch that ends with 78, at the time 79.
fn key() -> Vec<u8> {
    [77u64, 78, 79].map(u64::to_be_bytes).concat()
}

fn difference() -> Difference {
    Difference::between(&Map::from([("n", Value::from(1.5))]), &Map::from([("n", Value::from(2))])).unwrap()
}

fn decode(key: &[u8], value: &[u8]) -> Option<Change> {
    Change::decode(key, value, &ShapeTable::new(ShapeOptions::DEFAULT))
}

#[test]
fn documents_of_events_are_rows_under_the_shapes_of_their_collection() {
    let pets = name("shop.pets");
    let shapes = ShapeTable::new(ShapeOptions { document_sightings: 1, ..ShapeOptions::DEFAULT });
    let row = |n: i32, id: Value| {
        let (document, mut row) = (Map::from([("_id", id), ("n", Value::from(n))]), Vec::new());
        encode_row(&document, &shapes, None, &mut row, &mut Vec::new()).unwrap();
        (document, row)
    };
    // The row of 3.0 has its `_id`, because the key is that of 3.
    let ((document, after), (earlier, before)) = (row(1, Value::from(3.0)), row(2, Value::from(3)));
    let (id, mut document_key) = (Value::from(3), Vec::new());
    alluvium_document::key::encode(&id, &mut document_key);
    let cases = [
        (DocumentChange::Insert(&after), Event::Insert { document: document.clone() }),
        (DocumentChange::Replace(&after), Event::Replace { document }),
        (DocumentChange::Update(&id, difference()), Event::Update { id: id.clone(), difference: difference() }),
        (DocumentChange::Delete(&id), Event::Delete { id: id.clone() }),
    ];
    for (change, event) in cases {
        let with_row = matches!(event, Event::Insert { .. } | Event::Replace { .. });
        for with_before in [false, true] {
            let change = match &change {
                DocumentChange::Insert(row) => DocumentChange::Insert(row),
                DocumentChange::Replace(row) => DocumentChange::Replace(row),
                DocumentChange::Update(id, difference) => DocumentChange::Update(id, difference.clone()),
                DocumentChange::Delete(id) => DocumentChange::Delete(id),
            };
            let content = Content::Document { key: &document_key, before: with_before.then_some(&before), change };
            let new = NewEvent { documents: TreeId(300), name: &pets, transaction: None, content };
            let bytes = new.encode();
            let change = Change::decode(&key(), &bytes, &shapes).unwrap();
            assert_eq!((&change.event, &change.before), (&event, &with_before.then(|| earlier.clone())));
            let any_row = with_row || with_before;
            assert_eq!(Change::collection_of_rows(&bytes), any_row.then_some(300), "{event:?}");
            assert_eq!(decode(&key(), &bytes).is_none(), any_row, "another collection has other shapes: {event:?}");
            for end in 0..bytes.len() {
                assert!(Change::decode(&key(), &bytes[..end], &shapes).is_none(), "{event:?}: {end} bytes");
            }
            assert!(Change::decode(&key(), &[&bytes[..], &[0]].concat(), &shapes).is_none(), "{event:?}");
        }
    }
}
