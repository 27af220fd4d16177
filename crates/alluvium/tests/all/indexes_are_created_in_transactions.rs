//! Collections and their indexes that a transaction creates appear with its commit, together with its documents.

use alluvium::{Collection, Database, ErrorKind, Map, doc};
use alluvium_env::Env;
use alluvium_env::mem::MemFs;
use std::sync::Arc;

fn open(disk: MemFs) -> (Arc<MemFs>, Database) {
    let disk = Arc::new(disk);
    let env = Env { fs: disk.clone(), ..Env::in_memory(1) };
    (disk, Database::builder().env(env).partitions(3).open("db").unwrap())
}

fn names(pets: &Collection) -> Vec<String> {
    pets.indexes().unwrap().into_iter().map(|index| index.name).collect()
}

fn ids(pets: &Collection, filter: &Map, hint: &str) -> Vec<i64> {
    let found = pets.find(filter).hint(hint).run().unwrap();
    let mut ids: Vec<i64> = found.map(|pet| pet.unwrap().id().as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Every index finds what a scan of the documents finds.
fn check(pets: &Collection, kinds: [i64; 3]) {
    for kind in kinds {
        let filter = doc! {"kinds": kind};
        assert_eq!(ids(pets, &filter, "kinds_1"), ids(pets, &filter, "_id_"), "{filter}");
    }
    let filter = doc! {"name": {"$gte": "b"}};
    assert_eq!(ids(pets, &filter, "name_1"), ids(pets, &filter, "_id_"));
}

#[test]
fn indexes_of_new_collections_are_created_with_them() {
    let (disk, db) = open(MemFs::new());
    let transaction = db.begin();
    let pets = transaction.collection("pets");
    assert_eq!(pets.create_index(r#"{"kinds": 1}"#).run().unwrap(), "kinds_1");
    pets.create_index(r#"{"name": 1}"#).unique(true).run().unwrap();
    assert!(!pets.create_index(r#"{"name": 1}"#).unique(true).start().unwrap().is_new());
    assert_eq!(names(&pets), ["_id_", "kinds_1", "name_1"]);
    for (id, name) in (1..).zip(["a", "b", "c", "d"]) {
        // The first array is found by a statement: keys of several elements, which the index has to know at the commit.
        pets.insert_one(doc! {"_id": id, "name": name, "kinds": [(id % 2), (id % 3), 9]}).unwrap();
    }
    check(&pets, [0, 1, 9]);
    assert!(db.collection("pets").indexes().unwrap().is_empty());
    transaction.commit().unwrap();
    // In this process, and in one that begins after this one was killed.
    for db in [db.clone(), open(disk.kill_clone()).1] {
        let pets = db.collection("pets");
        assert_eq!(names(&pets), ["_id_", "kinds_1", "name_1"]);
        assert!(pets.indexes().unwrap().iter().all(|index| index.ready));
        check(&pets, [0, 1, 9]);
        let taken = pets.insert_one(doc! {"_id": 9, "name": "a"}).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::DuplicateKey);
        pets.insert_one(doc! {"_id": 9, "name": "e", "kinds": [0, 5]}).unwrap();
        check(&pets, [0, 5, 9]);
        assert!(db.verify().run().unwrap().damage.is_empty());
    }
}

#[test]
fn an_abort_leaves_no_index() {
    let (_, db) = open(MemFs::new());
    let transaction = db.begin();
    transaction.create_collection("pets").run().unwrap();
    transaction.collection("pets").create_index(doc! {"kind": 1}).run().unwrap();
    transaction.collection("pets").insert_one(doc! {"kind": "dog"}).unwrap();
    transaction.abort();
    assert!(db.collections().is_empty() && names(&db.collection("pets")).is_empty());
    db.collection("pets").create_index(doc! {"kind": 1, "age": 1}).run().unwrap();
    assert_eq!(names(&db.collection("pets")), ["_id_", "kind_1_age_1"]);
}

#[test]
fn indexes_of_documents_are_not_created_in_transactions() {
    let (_, db) = open(MemFs::new());
    let pets = db.create_collection("pets").run().unwrap();
    pets.create_index(doc! {"kind": 1}).run().unwrap();
    let transaction = db.begin();
    let inside = transaction.within(&pets);
    assert!(!inside.create_index(doc! {"kind": 1}).start().unwrap().is_new());
    let refused = |index: alluvium::CreateIndex| {
        let error = index.run().unwrap_err();
        assert!(matches!(error, alluvium::Error::NotInTransaction { .. }), "{error}");
    };
    refused(inside.create_index(doc! {"age": 1}));
    refused(inside.create_index(doc! {"text": "text"}));
    let new = transaction.collection("owners");
    new.insert_one(doc! {"name": "ann"}).unwrap();
    refused(new.create_index(doc! {"name": 1}));
    // None of it has ended the transaction.
    transaction.commit().unwrap();
    assert_eq!((names(&pets).len(), db.collection("owners").count().unwrap()), (2, 1));
}
