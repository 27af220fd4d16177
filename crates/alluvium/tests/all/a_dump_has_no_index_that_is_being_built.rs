//! A dump does not include an index that is being built, since the index may refuse some of the
//! documents.

use alluvium::dump;
use alluvium::{Database, Error};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[test]
fn documents_that_a_build_would_refuse_are_restored() {
    let env = alluvium_env::Env::in_memory(1);
    let open = |path: &str| Database::builder().env(env.clone()).memory(8 << 20).open(path).unwrap();
    let db = open("db");
    let pets = db.collection("pets");
    pets.insert_many([r#"{"_id": 1, "chip": 7}"#, r#"{"_id": 2, "chip": 7}"#]).unwrap();
    pets.create_index(r#"{"age": 1}"#).run().unwrap();
    let build = pets.create_index(r#"{"chip": 1}"#).unique(true).start().unwrap();
    let stopped = build.stop_when(Arc::new(AtomicBool::new(true))).run();
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert_eq!(pets.indexes().unwrap().len(), 3);

    let report = db.dump("dump").run().unwrap();
    assert_eq!((report.documents, report.indexes), (2, 1));
    let other = open("other");
    dump::read("dump").env(env.clone()).run().unwrap().restore(&other).run().unwrap();
    let pets = other.collection("pets");
    assert_eq!(pets.count().unwrap(), 2);
    let names: Vec<String> = pets.indexes().unwrap().into_iter().map(|index| index.name).collect();
    assert_eq!(names, ["_id_", "age_1"]);
}
