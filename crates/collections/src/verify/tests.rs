use super::*;
use crate::testing::Database;
use alluvium_store::Options;

/// A document of a size at which a change of its map is written as a delta.
fn document(id: usize, map: bool) -> String {
    let map = if map { format!(r#"{{"x": {id}, "y": 2}}"#) } else { "0".to_owned() };
    let text = "some text that makes the row larger than the delta, and then some more of it, and yet more";
    format!(r#"{{"_id": {id}, "m": {map}, "n": {id}, "text": "{text}"}}"#)
}

/// Verifies with concurrent writers: a delta that is older than the snapshot is folded after the snapshot was taken,
/// when the map that the delta sets has a shape.
#[test]
fn a_shape_that_comes_after_the_snapshot_is_no_damage() {
    let db = Database::with(Options { memory_bytes: 8 << 20, ..Options::default() });
    let c = db.collection("c");
    c.create_index(r#"{"n": 1}"#, "{}");
    for id in 0..10 {
        c.insert([document(id, false)]);
    }
    c.update(3, r#"{"$set": {"m": {"x": 1, "y": 2}}}"#);
    let state = c.state();
    let (store, name) = (db.store(), FullName::parse("c").unwrap());
    let snapshot = store.snapshot();
    let shapes = Shapes::load(store, &name, state.system, &snapshot).unwrap();
    let known = shapes.table.borrow().len();
    for id in 100..200 {
        c.insert([document(id, true)]);
    }
    let check = |shapes: &Shapes| {
        let mut report = VerifyReport::default();
        verify_at(&db.engine, &state, &snapshot, shapes, &|| Ok(()), &mut report).unwrap();
        report
    };
    let report = check(&shapes);
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert_eq!((report.indexes[0].entries, report.indexes[0].stale), (10, 0));
    assert!(shapes.table.borrow().len() > known, "no shape came");

    // The check of an index finds the new shape, too, if it is the first to need it.
    let shapes = Shapes::load(store, &name, state.system, &snapshot).unwrap();
    let checking = Checking {
        store,
        name: &name,
        documents: state.documents,
        shapes: &shapes,
        snapshot: &snapshot,
        check_stop: &|| Ok(()),
    };
    let mut damage = Vec::new();
    let index = &state.indexes().indexes[0];
    let counted = Counted::new(index, &snapshot);
    assert_eq!(checking.check(&counted, &mut damage).unwrap().unwrap().entries, 10);
    assert!(damage.is_empty(), "{damage:?}");

    // A shape that is also missing on disk is damage.
    let mut batch = store.batch();
    for number in 1..=200 {
        batch.delete(state.system, &shape_key(number));
    }
    store.write(batch, alluvium_store::Durability::Sync).unwrap();
    let shapes = Shapes::load(store, &name, state.system, &snapshot).unwrap();
    let damage = check(&shapes).damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert!(damage[0].to_string().starts_with("document 3 of main.c is damaged"), "{}", damage[0]);
}
