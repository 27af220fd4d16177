use super::*;
use crate::index::Index;
use crate::names::FullName;
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
    assert_eq!((read.tree, &read.scopes), (TreeId(9), &scopes));
    assert!(Index::read(TreeId(9), &description).is_none(), "an older build refuses it");
    for end in 0..description.len() {
        assert!(History::read(TreeId(9), &description[..end]).is_none());
    }
    assert!(History::read(TreeId(9), &[&description[..], &[0]].concat()).is_none());
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
    let encoded = |event: &Event, time_ms: i64, transaction: Option<&Map>, before: Option<&Map>| {
        NewEvent { event, documents: TreeId(300), name: &pets, time_ms, transaction, before }.encode()
    };
    let bytes = encoded(&Event::Delete { id: Value::Int32(1) }, 5, None, None);
    let mut expected = vec![4, 0xac, 2, 4];
    expected.extend_from_slice(b"shop\x04pets\x05");
    alluvium_document::encoding::encode(&Value::Int32(1), &mut expected);
    assert_eq!(bytes, expected);
    let document = || Map::from([("_id", Value::Int32(1)), ("n", Value::from(1.5))]);
    let key = [77u64.to_be_bytes(), 78u64.to_be_bytes()].concat();
    for event in [
        Event::Insert { document: document() },
        Event::of_update(&document(), Map::from([("_id", Value::Int32(1)), ("n", Value::from(2))])),
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
            let bytes = encoded(&event, -5, transaction, before);
            let change = Change::decode(&key, &bytes).unwrap();
            let expected = Change {
                number: 77,
                batch: 78,
                collection: 300,
                name: pets.clone(),
                time_ms: 0,
                transaction: transaction.cloned(),
                before: before.cloned(),
                event: event.clone(),
            };
            assert_eq!(change, expected);
            let head = Change::decode_head(&key, &bytes).unwrap();
            assert_eq!((head.batch, head.time_ms), (change.batch, change.time_ms));
            for end in 0..bytes.len() {
                assert!(Change::decode(&key, &bytes[..end]).is_none(), "{:?}: {end} bytes", change.event);
            }
            assert!(Change::decode(&key, &[&bytes[..], &[0]].concat()).is_none());
            for wrong in [&key[..15], &key[..8], &[key[8..].to_vec(), key[..8].to_vec()].concat()] {
                assert!(Change::decode(wrong, &bytes).is_none());
            }
        }
    }
    assert!(Change::decode(&key, &[12, 1, 0, 0, 0]).is_none());
}
