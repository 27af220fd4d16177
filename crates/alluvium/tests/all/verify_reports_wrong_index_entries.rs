//! `verify` reports missing and wrong entries of an index, and counts stale ones; the statistics of
//! an index are approximately right.

use alluvium::{Collection, Database, Error, Map, Value, VerifyReport};
use alluvium_store::{Durability, Store, TreeId};
use std::path::Path;

fn open(env: &alluvium_env::Env) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).partitions(2).open(Path::new("db")).unwrap()
}

fn pets(db: &Database) -> Collection {
    let pets = db.collection("pets");
    pets.create_index(r#"{"kind": 1}"#).run().unwrap();
    pets.create_index(r#"{"chip": -1}"#).options(r#"{"unique": true, "sparse": true}"#).run().unwrap();
    for n in 0..20 {
        pets.put(n, Map::from([("kind", Value::from(n % 3)), ("chip", Value::from(n))])).unwrap();
    }
    pets
}

fn verify(db: &Database) -> VerifyReport {
    db.verify().run().unwrap()
}

/// The trees of a kind, which is the first byte of their description: 1 for documents, 4 for
/// indexes.
fn trees(store: &Store, kind: u8) -> Vec<TreeId> {
    store.trees().into_iter().filter(|(_, described)| described.first() == Some(&kind)).map(|(tree, _)| tree).collect()
}

fn id_key(id: i32) -> Vec<u8> {
    alluvium_document::key::id_key(&Value::from(id)).unwrap()
}

fn part(value: i32, descending: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    alluvium_document::key::encode(&Value::from(value), &mut bytes);
    if descending {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    bytes
}

/// Rewrites the document of `id` unchanged, and in the same batch, bypassing all checks, adds the
/// operations of `change`.
fn tamper(db: &Database, id: i32, change: impl Fn(&mut alluvium_store::WriteBatch, &[TreeId], &[u8])) {
    let store = db.store();
    let (documents, indexes) = (trees(store, 1)[0], trees(store, 4));
    let (key, mut row) = (id_key(id), Vec::new());
    assert!(store.get(documents, &key, &mut row).unwrap());
    let mut batch = store.batch();
    batch.put(documents, &key, &row);
    change(&mut batch, &indexes, &key);
    store.write(batch, Durability::Sync).unwrap();
}

/// The only damage in the report, which must be about the index.
fn only(report: &VerifyReport, index: &str) -> String {
    let [error] = &report.damage[..] else { panic!("{:?}", report.damage) };
    assert_eq!(error.kind(), alluvium::ErrorKind::Corruption);
    let Error::DamagedIndex { collection, index: named, .. } = error else { panic!("{error}") };
    assert_eq!((collection.as_str(), named.as_str()), ("main.pets", index));
    error.to_string()
}

#[test]
fn stale_entries_are_counted_and_are_no_damage() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    let pets = pets(&db);
    for n in 0..5 {
        pets.put(n, Map::from([("kind", Value::from(9)), ("chip", Value::from(n))])).unwrap();
    }
    pets.delete(19).unwrap();
    pets.update_one(r#"{"_id": 18}"#, r#"{"$set": {"kind": 7}}"#).run().unwrap();
    db.flush().unwrap();
    let report = verify(&db);
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    let figures: Vec<_> = report.indexes.iter().map(|i| (i.name.as_str(), i.entries, i.stale, i.ready)).collect();
    // The entries of the replaced documents and of the deleted document are stale. The update
    // removed the old entry of its document.
    assert_eq!(figures, [("kind_1", 25, 6, true), ("chip_-1", 20, 1, true)]);
}

#[test]
fn a_missing_entry_is_named() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    pets(&db);
    tamper(&db, 4, |batch, indexes, id| batch.delete_entry(indexes[0], &[&part(1, false), id].concat()));
    let said = only(&verify(&db), "kind_1");
    assert!(said.contains("document 4 has no entry in it") && said.contains("create it again"), "{said}");
}

#[test]
fn an_entry_that_readers_would_trust_is_named() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    pets(&db);
    tamper(&db, 4, |batch, indexes, id| batch.put_entry(indexes[0], &[&part(2, false), id].concat(), b""));
    let said = only(&verify(&db), "kind_1");
    assert!(said.contains("an entry leads to document 4 by a key that the document does not have"), "{said}");
}

#[test]
fn values_that_are_not_the_documents_are_named() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    pets(&db);
    let mut other = vec![0];
    alluvium_document::encoding::encode(&Value::Array(vec![Value::from(1.0)]), &mut other);
    tamper(&db, 4, |batch, indexes, id| batch.put_entry(indexes[0], &[&part(1, false), id].concat(), &other));
    assert!(only(&verify(&db), "kind_1").contains("an entry of document 4 has other values"));
}

#[test]
fn an_entry_in_another_partition_than_its_document_is_named() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    pets(&db);
    let place = |id| db.store().partition_of(&id_key(id));
    let other = (5..20).find(|id| place(*id) != place(4)).unwrap();
    tamper(&db, other, |batch, indexes, _| {
        batch.put_entry(indexes[0], &[part(7, false), id_key(4)].concat(), b"");
    });
    let said = only(&verify(&db), "kind_1");
    assert!(said.contains("belongs to partition"), "{said}");
}

#[test]
fn what_is_no_entry_is_named() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    pets(&db);
    for bytes in [&part(1, false)[..1], &part(1, false), &[part(1, false), id_key(4), vec![0]].concat()] {
        tamper(&db, 4, |batch, indexes, _| batch.put_entry(indexes[0], bytes, b""));
        let said = only(&verify(&db), "kind_1");
        assert!(said.contains("an entry that cannot be read"), "{said}");
        tamper(&db, 4, |batch, indexes, _| batch.delete_entry(indexes[0], bytes));
    }
}

#[test]
fn two_documents_with_one_unique_key_are_named() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    let pets = pets(&db);
    // Give document 30 its own entry in the first index, and the key of document 4 in the unique
    // index, as if there had been no check.
    pets.put(30, r#"{"kind": 0}"#).unwrap();
    let (documents, indexes) = (trees(db.store(), 1)[0], trees(db.store(), 4));
    let mut row = Vec::new();
    assert!(db.store().get(documents, &id_key(4), &mut row).unwrap());
    let mut batch = db.store().batch();
    batch.put(documents, &id_key(30), &row);
    batch.put_entry(indexes[0], &[part(1, false), id_key(30)].concat(), b"");
    batch.put_entry(indexes[1], &[part(4, true), id_key(30)].concat(), b"");
    db.store().write(batch, Durability::Sync).unwrap();
    let report = verify(&db);
    // The row may also contain the _id of document 4, so only the error of the unique index is
    // checked.
    let unique: Vec<String> = report.damage.iter().map(ToString::to_string).filter(|e| e.contains("unique")).collect();
    assert_eq!(unique.len(), 1, "{:?}", report.damage);
    assert!(unique[0].contains("documents 4 and 30") && unique[0].contains("chip_-1"), "{unique:?}");
}

#[test]
fn figures_of_indexes_are_about_right() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    let pets = db.collection("pets");
    pets.create_index(r#"{"n": 1}"#).run().unwrap();
    pets.create_index(r#"{"t": 1}"#).run().unwrap();
    let put = |from: i32, to: i32, n: i32| {
        let mut batch = db.write_batch();
        for id in from..to {
            let map = Map::from([("n", Value::from(id + n)), ("t", Value::from(format!("{:04}", id % 700)))]);
            batch.put(&pets, id, map).unwrap();
        }
        batch.commit().unwrap();
    };
    put(0, 6000, 10_000);
    // A third of the documents move to the end of the first index, and keep their place in the
    // second.
    put(0, 3000, 16_000);
    db.flush().unwrap();
    let stats = pets.index_stats().unwrap();
    let names: Vec<&str> = stats.iter().map(|stats| stats.name.as_str()).collect();
    assert_eq!(names, ["n_1", "t_1"]);
    for (stats, entries, stale) in [(&stats[0], 9000, 1.0 / 3.0), (&stats[1], 6000, 0.0)] {
        assert!(stats.entries.abs_diff(entries) < entries / 5, "{stats:?}");
        let share = stats.stale_share().unwrap();
        assert!((share - stale).abs() < 0.12, "{share}: {stats:?}");
        assert!(stats.ready && stats.build.is_none() && stats.bytes + stats.shared_bytes > 0);
        assert_eq!(stats.sampled, 1024);
    }
    pets.drop_indexes().unwrap();
    assert!(pets.index_stats().unwrap().is_empty());
}
