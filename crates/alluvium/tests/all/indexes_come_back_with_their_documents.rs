//! Dumps, checkpoints and repairs keep indexes: the restored indexes have the same definitions, and
//! an entry for every key.

use alluvium::dump;
use alluvium::load::Metadata;
use alluvium::repair::{self, RepairReport};
use alluvium::{Collection, Database, Map, Value};
use alluvium_env::{Env, OpenMode};
use alluvium_testkit::IndexEntries;
use std::path::Path;

const INDEXES: [(&str, &str); 5] = [
    (r#"{"kind": 1, "age": -1}"#, "{}"),
    (r#"{"chip": 1}"#, r#"{"unique": true, "sparse": true}"#),
    (r#"{"age": 1}"#, r#"{"partialFilterExpression": {"age": {"$gt": 3}}, "name": "old"}"#),
    (r#"{"seen": 1}"#, r#"{"expireAfterSeconds": 2000000000}"#),
    (r#"{"name": "hashed"}"#, "{}"),
];

fn open(env: &Env, path: &str) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).partitions(2).open(path).unwrap()
}

fn fill(db: &Database) -> Collection {
    let pets = db.collection("pets");
    for (keys, options) in INDEXES {
        pets.create_index(keys).options(options).run().unwrap();
    }
    for n in 0..100 {
        let mut map = Map::from([("kind", Value::from(n % 7)), ("age", Value::from(n % 11))]);
        map.push("name", format!("pet {n}"));
        if n % 2 == 0 {
            map.push("chip", n);
        }
        pets.put(n, map).unwrap();
    }
    pets.put(3, r#"{"kind": [1, 2], "age": 5}"#).unwrap();
    pets
}

fn definitions(collection: &Collection) -> Vec<Map> {
    collection.indexes().unwrap().into_iter().map(|index| index.definition).collect()
}

/// All entries of all indexes that are proved by sequence numbers.
fn entries(db: &Database, collection: &Collection) -> Vec<(Vec<u8>, Vec<u8>)> {
    let names = collection.indexes().unwrap().into_iter().map(|index| index.name).filter(|name| name != "_id_");
    names.flat_map(|name| collection.index_entries(&db.snapshot(), &name, false).unwrap()).collect()
}

fn same(env: &Env, original: &str, copy: &str) {
    let (a, b) = (open(env, original), open(env, copy));
    let (pets, copied) = (a.collection("pets"), b.collection("pets"));
    b.finish_indexes().unwrap();
    assert_eq!(definitions(&pets), definitions(&copied));
    assert_eq!(definitions(&copied).len(), INDEXES.len() + 1);
    assert_eq!(entries(&a, &pets), entries(&b, &copied));
    let report = b.verify().run().unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    let full = |index: &alluvium::VerifiedIndex| index.entries > index.stale || index.collection == "main.empty";
    assert!(report.indexes.iter().all(|index| index.ready && full(index)), "{:?}", report.indexes);
    // The restored unique index refuses duplicates.
    assert_eq!(copied.put(500, r#"{"chip": 4}"#).unwrap_err().kind(), alluvium::ErrorKind::DuplicateKey);
}

#[test]
fn a_dump_carries_indexes() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let pets = fill(&db);
    db.create_collection("empty").run().unwrap();
    db.collection("empty").create_index(r#"{"a": 1}"#).run().unwrap();
    let report = db.dump("dump").run().unwrap();
    assert_eq!(report.indexes, INDEXES.len() as u64 + 1);
    // The dump has the definitions in the form that mongorestore reads.
    let metadata = Metadata::read_in(&env, Path::new("dump/main/pets.metadata.json")).unwrap().unwrap();
    assert_eq!(metadata.indexes, definitions(&pets));
    let copy = open(&env, "copy");
    let dump = dump::read("dump").env(env.clone()).run().unwrap();
    let restored = dump.restore(&copy).run().unwrap();
    let made: Vec<&str> = restored.collections[1].indexes.iter().map(String::as_str).collect();
    assert_eq!(made, ["kind_1_age_-1", "chip_1", "old", "seen_1", "name_hashed"]);
    assert_eq!(copy.collection("empty").indexes().unwrap().len(), 2);
    // A second restore into the same database creates no index.
    let restored = dump.restore(&copy).on_duplicate(alluvium::OnDuplicate::Replace).run().unwrap();
    assert!(restored.collections.iter().all(|collection| collection.indexes.is_empty()));
    drop((pets, db, copy));
    same(&env, "db", "copy");
}

#[test]
fn a_dump_has_the_indexes_of_its_moment() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let pets = fill(&db);
    let mut dropped = false;
    let report = db.dump("dump").on_progress(|_, _| {
        if !dropped {
            dropped = true;
            db.collection("pets").drop_indexes().unwrap();
        }
    });
    assert_eq!(report.run().unwrap().indexes, INDEXES.len() as u64);
    assert_eq!(pets.indexes().unwrap().len(), 1);
}

/// Replaces the metadata file of a dump.
fn with_metadata(env: &Env, text: &str) {
    let file = env.fs.open(Path::new("dump/main/pets.metadata.json"), OpenMode::ReadWrite).unwrap();
    file.set_len(0).unwrap();
    file.write_at(text.as_bytes(), 0).unwrap();
}

#[test]
fn kinds_that_are_not_supported_are_passed_over_or_refused() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    db.collection("pets").put(1, r#"{"a": 1}"#).unwrap();
    db.dump("dump").run().unwrap();
    with_metadata(
        &env,
        r#"{"options":{},"indexes":[
        {"v":{"$numberInt":"2"},"key":{"_id":{"$numberInt":"1"}},"name":"_id_"},
        {"v":{"$numberInt":"2"},"key":{"place":"2dsphere"},"name":"place_2dsphere","2dsphereIndexVersion":3},
        {"v":{"$numberInt":"2"},"key":{"place":"geoHaystack"},"name":"old"},
        {"v":{"$numberInt":"2"},"key":{"a":{"$numberDouble":"1.0"}},"name":"a_1","ns":"main.pets","background":true},
        {"v":{"$numberInt":"2"},"key":{"b":1},"name":"b_1","collation":{"locale":"de","version":"57.1"}},
        {"v":{"$numberInt":"2"},"key":{"c":1},"name":"c_1","collation":{"locale":"de@collation=search"}}
        ],"collectionName":"pets","type":"collection"}"#,
    );
    let dump = dump::read("dump").env(env.clone()).run().unwrap();
    let (_, metadata) = dump.collections[0].metadata.as_ref().unwrap();
    let unsupported = metadata.unsupported_indexes();
    let names: Vec<&str> = unsupported.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["old", "c_1"]);
    assert!(unsupported[0].1.contains("geoHaystack") && unsupported[1].1.contains("collation"), "{unsupported:?}");

    let copy = open(&env, "copy");
    let error = dump.restore(&copy).strict_indexes(true).run().unwrap_err().to_string();
    assert!(error.contains("pets.metadata.json") && error.contains("old"), "{error}");
    assert!(copy.collections().is_empty());
    let restored = dump.restore(&copy).run().unwrap();
    // The definition of an index that is not built, such as a geographic one, is kept.
    assert_eq!(restored.collections[0].indexes, ["place_2dsphere", "a_1", "b_1"]);
    let kept = |db: &Database| {
        let indexes = db.collection("pets").indexes().unwrap();
        indexes.iter().filter(|index| !index.is_built).map(|index| index.definition.to_string()).collect::<Vec<_>>()
    };
    let expected = r#"{"v":2,"key":{"place":"2dsphere"},"name":"place_2dsphere","2dsphereIndexVersion":3}"#;
    assert_eq!(kept(&copy), [expected]);
    copy.dump("again").run().unwrap();
    let again = open(&env, "copy of the copy");
    dump::read("again").env(env.clone()).run().unwrap().restore(&again).run().unwrap();
    assert_eq!(kept(&again), [expected]);
}

#[test]
fn a_checkpoint_keeps_indexes() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let pets = fill(&db);
    // Some documents are in files, and some only in the log.
    db.flush().unwrap();
    pets.put(7, r#"{"kind": 70, "age": 70}"#).unwrap();
    db.checkpoint("checkpoint").run().unwrap();
    db.close().unwrap();
    alluvium::backup::restore("checkpoint", "copy").env(env.clone()).run().unwrap();
    same(&env, "db", "copy");
}

fn repaired(env: &Env) -> RepairReport {
    repair::repair("db", "copy").env(env.clone()).run().unwrap()
}

#[test]
fn a_repair_makes_indexes_anew() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let pets = fill(&db);
    // Create an index and drop it, and make entries stale.
    pets.create_index(r#"{"other": 1}"#).run().unwrap();
    pets.drop_index("other_1").unwrap();
    pets.put(9, r#"{"kind": 90}"#).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let report = repaired(&env);
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.collections.len(), report.others, report.indexes_lost), (1, (0, 0), 0));
    assert_eq!(report.collections[0].indexes.len(), INDEXES.len());
    same(&env, "db", "copy");
}

#[test]
fn an_index_that_cannot_be_made_anew_is_named() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let pets = db.collection("pets");
    pets.put(1, r#"{"chip": 4}"#).unwrap();
    pets.put(2, r#"{"chip": 5}"#).unwrap();
    pets.create_index(r#"{"chip": 1}"#).unique(true).run().unwrap();
    // As if the write that took the key from the first document were lost.
    let store = db.store();
    let documents = store.trees().into_iter().find(|(_, described)| described.first() == Some(&1)).unwrap().0;
    let key = |id: i32| alluvium_document::key::id_key(&Value::from(id)).unwrap();
    let mut row = Vec::new();
    assert!(store.get(documents, &key(1), &mut row).unwrap());
    let mut batch = store.batch();
    batch.put(documents, &key(2), &row);
    store.write(batch, alluvium_store::Durability::Sync).unwrap();
    db.close().unwrap();
    let report = repaired(&env);
    let [collection] = &report.collections[..] else { panic!("{report:?}") };
    if collection.unreadable == 0 {
        assert!(collection.indexes.is_empty() && !report.is_whole());
        let (name, reason) = &collection.indexes_lost[0];
        assert!(name == "chip_1" && reason.contains("unique"), "{report:?}");
    }
    assert_eq!(open(&env, "copy").verify().run().unwrap().damage.len(), 0);
}

#[test]
fn an_index_whose_definition_is_lost_is_no_collection() {
    let env = Env::in_memory(1);
    let db = Database::builder().env(env.clone()).memory(8 << 20).partitions(1).open("db").unwrap();
    let pets = fill(&db);
    db.wait_for_compaction().unwrap();
    pets.put(200, r#"{"kind": 1}"#).unwrap();
    db.close().unwrap();
    // The registry is in files of partition 0: damage each block that has keys of tree 0.
    let dir = Path::new("db/p000");
    for entry in env.fs.list(dir).unwrap().into_iter().filter(|entry| entry.name.ends_with(".sst")) {
        let file = env.fs.open(&dir.join(&entry.name), OpenMode::ReadWrite).unwrap();
        let mut registry = Vec::new();
        let inspect = alluvium::inspect::file(dir.join(&entry.name)).env(env.clone()).entries(true);
        let mut block = (0, false);
        let kind = inspect.run(|item| {
            use alluvium::inspect::{FactValue::Number, Item};
            let number = |facts: &[alluvium::inspect::Fact], wanted: &str| {
                facts.iter().find_map(|(name, value)| match value {
                    Number(n) if *name == wanted => Some(*n),
                    _ => None,
                })
            };
            match item {
                Item::Row("block", facts) => block = (number(&facts, "offset").unwrap(), false),
                Item::Row("entry", facts) if number(&facts, "tree") == Some(0) && !block.1 => {
                    block.1 = true;
                    registry.push(block.0);
                }
                _ => {}
            }
        });
        kind.unwrap();
        for offset in registry {
            let mut byte = [0];
            file.read_exact_at(&mut byte, offset + 1).unwrap();
            file.write_at(&[byte[0] ^ 0xff], offset + 1).unwrap();
        }
    }
    let report = repaired(&env);
    assert!(!report.is_whole());
    // The repair does not mistake index entries for documents: each repaired collection has
    // documents, and no document is unreadable.
    assert!(report.collections.iter().all(|c| c.unreadable == 0 && c.documents + c.doubtful > 0), "{report:?}");
    assert_eq!(report.indexes_lost, INDEXES.len() as u64, "{report:?}");
}
