//! Every sorted file contains the shapes that its rows use. Therefore a repair reads every document
//! even if all definitions of shapes are lost, and a single file can be inspected alone.

use alluvium::inspect::{self, FactValue, FileKind, Item};
use alluvium::repair;
use alluvium::{Database, Durability};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, Options, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn env_of(mem: &Arc<MemFs>) -> Env {
    Env { fs: mem.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

fn options() -> Options {
    Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..Options::default() }
}

fn open(env: &Env, path: &str) -> Database {
    Database::builder().env(env.clone()).options(options()).open(path).unwrap()
}

fn documents(db: &Database, name: &str) -> BTreeMap<i64, String> {
    let cursor = db.collection(name).scan().run().unwrap();
    cursor.map(|d| d.unwrap()).map(|d| (d.id().as_i64().unwrap(), d.to_string())).collect()
}

/// Writes documents of several shapes, with nested shapes, and changes some of them later.
fn fill(db: &Database) {
    let pets = db.collection("pets").with_durability(Durability::Sync);
    for n in 0..60 {
        let odd = if n % 2 == 1 { r#""odd": [{"deep": {"deeper": 1}}], "# } else { "" };
        pets.put(n, format!(r#"{{{odd}"n": {n}, "home": {{"street": "s{n}", "number": {n}}}}}"#)).unwrap();
    }
}

/// Makes all definitions of shapes unreadable, or deletes them.
fn lose_definitions(env: &Env, delete: bool) {
    let store = Store::open(env.clone(), Path::new("db"), options()).unwrap();
    let system = store.trees().into_iter().find(|(_, description)| description == &[2]).unwrap().0;
    let mut keys = Vec::new();
    let mut scan = store.scan(system, Bounds::all(), None).unwrap();
    while let Some((key, _)) = scan.next().unwrap() {
        keys.push(key.to_vec());
    }
    assert!(keys.len() >= 4, "{keys:?}");
    drop(scan);
    let mut batch = store.batch();
    for key in &keys {
        if delete { batch.delete(system, key) } else { batch.put(system, key, b"no shape") }
    }
    store.write(batch, Durability::Sync).unwrap();
    store.close().unwrap();
}

fn check(env: &Env, expected: &BTreeMap<i64, String>, what: &str) {
    let report = repair::repair("db", "new").env(env.clone()).run().unwrap();
    assert!(report.is_whole() && report.unreadable.is_empty(), "{what}: {report:?}");
    let db = open(env, "new");
    assert_eq!(&documents(&db, "pets"), expected, "{what}");
    db.close().unwrap();
}

fn sorted_files(env: &Env) -> Vec<PathBuf> {
    let dirs = ["db/p000", "db/p001"].map(Path::new);
    let names = dirs.iter().flat_map(|dir| env.fs.list(dir).unwrap().into_iter().map(|entry| dir.join(entry.name)));
    names.filter(|path| path.extension().is_some_and(|end| end == "sst")).collect()
}

#[test]
fn as_a_flush_has_seen_them() {
    let env = env_of(&Arc::new(MemFs::new()));
    let db = open(&env, "db");
    fill(&db);
    db.flush().unwrap();
    let expected = documents(&db, "pets");
    db.close().unwrap();
    lose_definitions(&env, false);
    check(&env, &expected, "flushed");
}

#[test]
fn as_a_flush_has_seen_them_of_an_unopened_collection() {
    let env = env_of(&Arc::new(MemFs::new()));
    let db = open(&env, "db");
    fill(&db);
    let expected = documents(&db, "pets");
    db.close().unwrap();
    let db = open(&env, "db");
    db.flush().unwrap();
    db.close().unwrap();
    lose_definitions(&env, false);
    check(&env, &expected, "replayed, then flushed");
}

#[test]
fn as_a_compaction_has_seen_them() {
    let env = env_of(&Arc::new(MemFs::new()));
    let db = open(&env, "db");
    fill(&db);
    db.flush().unwrap();
    for n in 0..60 {
        db.collection("pets").update_blind(n, r#"{"$set": {"seen": {"by": "all"}}}"#).unwrap();
    }
    db.compact().run().unwrap();
    let expected = documents(&db, "pets");
    db.close().unwrap();
    lose_definitions(&env, false);
    check(&env, &expected, "merged");
}

#[test]
fn from_file_to_file_when_the_definitions_are_lost_already() {
    let env = env_of(&Arc::new(MemFs::new()));
    let db = open(&env, "db");
    fill(&db);
    db.flush().unwrap();
    for n in 0..10 {
        db.collection("pets").delete(n).unwrap();
    }
    let expected = documents(&db, "pets");
    db.close().unwrap();
    lose_definitions(&env, true);
    let before = sorted_files(&env);
    let db = open(&env, "db");
    db.compact().run().unwrap();
    db.close().unwrap();
    assert!(sorted_files(&env).iter().all(|file| !before.contains(file)), "every file is written anew");
    check(&env, &expected, "lost, then merged");
}

#[test]
fn a_file_is_inspected_alone() {
    let env = env_of(&Arc::new(MemFs::new()));
    let db = open(&env, "db");
    fill(&db);
    db.collection("pets").update_blind(7, r#"{"$set": {"seen": true}}"#).unwrap();
    db.compact().run().unwrap();
    let mut expected = documents(&db, "pets");
    db.close().unwrap();
    lose_definitions(&env, false);
    for file in sorted_files(&env) {
        let inspect = inspect::file(&file).env(env.clone()).entries(true);
        let kind = inspect.run(|item| {
            let Item::Row("entry", facts) = item else { return };
            let fact = |wanted: &str| facts.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
            let (Some(FactValue::Key(key)), Some(FactValue::Json(json))) = (fact("key"), fact("value")) else { return };
            let id = alluvium_document::key::decode(&mut key.as_slice()).unwrap().as_i64().unwrap();
            assert_eq!(expected.remove(&id).as_ref(), Some(json));
        });
        assert_eq!(kind.unwrap(), FileKind::Sorted);
    }
    assert!(expected.is_empty(), "not shown: {expected:?}");
}
