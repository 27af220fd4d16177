use super::*;
use crate::batch::{self, BatchAction, BatchOperation};
use crate::error::ErrorKind;
use crate::ids;
use crate::testing::{Collection, Database};
use alluvium_document::IntoDocument;
use alluvium_document::{Map, Value};
use alluvium_store::{Durability, Options};

const DOCUMENTS: i32 = 20_000;

fn open() -> Database {
    Database::in_env(alluvium_env::Env::in_memory(3), Options { memory_bytes: 64 << 20, ..Options::default() })
}

/// Puts documents, all in one batch.
fn put_all(collection: &Collection, documents: impl Iterator<Item = (i32, Map)>) {
    let operation = |(id, mut map): (i32, Map)| {
        ids::set_id(&mut map, id.into()).unwrap();
        BatchOperation { collection: collection.name.clone(), action: BatchAction::Put(map) }
    };
    let operations: Vec<_> = documents.map(operation).collect();
    batch::write(&collection.engine, &operations, Durability::Periodic, None).unwrap();
}

/// Puts documents with two tags each. The entries of an earlier round become stale; the old versions of the documents
/// disappear in a merge.
fn fill(db: &Database, name: &str, round: i32) {
    let tags = |id: i32| Value::from_iter([id * 7 + round, id * 7 + round + 1]);
    let maps: Vec<_> = (0..DOCUMENTS).map(|id| (id, Map::from([("tags", tags(id))]))).collect();
    for chunk in maps.chunks(1000) {
        put_all(&db.collection(name), chunk.iter().cloned());
    }
    db.flush();
    db.store().compact().unwrap();
}

#[test]
fn a_sweep_is_due_when_a_quarter_is_stale() {
    let db = open();
    db.collection("pets").create_index(r#"{"tags": 1}"#, "{}");
    fill(&db, "pets", 0);
    assert_eq!(sweep_where_due(&db.engine).unwrap(), 0, "two keys a document are what its tags yield");
    fill(&db, "pets", 3);
    let gone = sweep_where_due(&db.engine).unwrap();
    assert_eq!(gone, 40_000);
    assert_eq!(sweep_where_due(&db.engine).unwrap(), 0);
}

#[test]
fn a_sweep_is_due_though_few_documents_have_entries() {
    let db = open();
    let pets = db.collection("pets");
    pets.create_index(r#"{"tags": 1}"#, r#"{"partialFilterExpression": {"open": true}}"#);
    fill(&db, "pets", 0);
    // The rewritten documents are at the end, where a sample of the first documents would miss them.
    for round in 0..30 {
        let text = |id| format!(r#"{{"tags": {}, "open": true}}"#, id + round * 100_000);
        put_all(&pets, (DOCUMENTS - 500..DOCUMENTS).map(|id| (id, text(id).into_map().unwrap())));
        if round == 0 {
            db.flush();
            assert_eq!(sweep_where_due(&db.engine).unwrap(), 0);
        }
    }
    db.flush();
    let gone = sweep_where_due(&db.engine).unwrap();
    assert_eq!(gone, 29 * 500);
    assert_eq!(pets.index_stats()[0].stale_share(), Some(0.0));
}

#[test]
fn more_entries_of_more_documents_are_no_reason_for_a_sweep() {
    let db = open();
    let pets = db.collection("pets");
    pets.create_index(r#"{"tags": 1}"#, r#"{"sparse": true}"#);
    pets.insert((0..5000).map(|id| format!(r#"{{"_id": {id}}}"#)));
    db.flush();
    let name = FullName::parse("pets").unwrap();
    assert!(!is_due(&db.engine, &name).unwrap());
    pets.insert((5000..25_000).map(|id| format!(r#"{{"_id": {id}, "tags": {id}}}"#)));
    db.flush();
    assert!(!is_due(&db.engine, &name).unwrap());
    // The result of the sample is remembered.
    let open = db.engine.catalog.find(&name).unwrap().unwrap();
    let known = open.indexes().indexes[0].swept.expected(None).unwrap();
    assert!((0.7..0.9).contains(&known), "{known}");
}

#[test]
fn what_a_snapshot_kept_is_swept_when_it_has_gone() {
    let db = open();
    db.collection("pets").create_index(r#"{"tags": 1}"#, "{}");
    fill(&db, "pets", 0);
    let snapshot = db.engine.snapshot();
    fill(&db, "pets", 3);
    assert_eq!(sweep_where_due(&db.engine).unwrap(), 0, "the snapshot sees them");
    let due = || collections(&db.engine).iter().any(|name| is_due(&db.engine, name).unwrap());
    assert!(!due(), "as long as the snapshot lives, a sweep finds the same");
    drop(snapshot);
    db.store().compact().unwrap();
    assert!(due());
    assert_eq!(sweep_where_due(&db.engine).unwrap(), 40_000);
    assert!(!due());
}

#[test]
fn a_damaged_collection_keeps_no_other_from_being_swept() {
    let db = open();
    for name in ["apes", "pets"] {
        db.collection(name).create_index(r#"{"tags": 1}"#, "{}");
        fill(&db, name, 0);
        fill(&db, name, 3);
    }
    let apes = FullName::parse("apes").unwrap();
    let tree = db.engine.catalog.find(&apes).unwrap().unwrap().indexes().indexes[0].tree;
    let mut batch = db.store().batch();
    batch.put(tree, b"", b"no entry");
    db.store().write(batch, alluvium_store::Durability::Periodic).unwrap();
    assert_eq!(sweep_where_due(&db.engine).unwrap_err().kind(), ErrorKind::Corruption);
    let entries = |name: &str| {
        let open = db.engine.catalog.find(&FullName::parse(name).unwrap()).unwrap().unwrap();
        db.store().tree_stats(open.indexes().indexes[0].tree).unwrap().keys
    };
    // The numbers of entries are estimates.
    let (apes, pets) = (entries("apes"), entries("pets"));
    assert!(apes > 70_000 && pets < 50_000, "{apes}, {pets}");
}
