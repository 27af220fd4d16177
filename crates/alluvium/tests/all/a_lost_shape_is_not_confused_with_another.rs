//! The log is lost, and with it the definition of a shape that rows in files use. If the database
//! is opened anyway, reads of these rows return an error or the correct document, and never the
//! names of another shape.

use alluvium::{Database, Value};
use alluvium_env::Env;
use alluvium_env::mem::MemFs;
use std::path::Path;
use std::sync::Arc;

fn open(disk: &Arc<MemFs>, accept_log_damage: bool) -> alluvium::Result<Database> {
    let options = alluvium_store::Options {
        memory_bytes: 8 << 20,
        partitions: Some(2),
        background: false,
        segment_bytes: Some(64 << 20),
        accept_log_damage,
        ..alluvium_store::Options::default()
    };
    let env = Env { fs: disk.clone(), ..Env::in_memory(1) };
    Database::builder().env(env).options(options).open("db")
}

#[test]
fn a_lost_shape_is_not_confused_with_another() {
    let disk = Arc::new(MemFs::new());
    let db = open(&disk, false).unwrap();
    db.create_collection("pets").run().unwrap();
    db.flush().unwrap();
    let pets = db.collection("pets");
    // True if the document is in another partition than the definition of the first shape.
    let definition = db.store().partition_of(b"s\0\0\0\x01");
    let apart = |id: &i32| {
        let key = alluvium_document::key::id_key(&Value::from(*id)).unwrap();
        db.store().partition_of(&key) != definition
    };
    let mut written = Vec::new();
    for id in (0..).filter(apart) {
        pets.put(id, format!(r#"{{"kind":"dog","name":"rex","n":{id},"text":"{}"}}"#, "x".repeat(1000))).unwrap();
        written.push(id);
        if db.store().run_one_pending().unwrap() {
            break;
        }
    }
    let disk = Arc::new(disk.kill_clone());
    drop((pets, db));
    let log = Path::new("db/wal");
    for entry in alluvium_env::Fs::list(&*disk, log).unwrap() {
        alluvium_env::Fs::remove(&*disk, &log.join(entry.name)).unwrap();
    }
    assert!(open(&disk, false).is_err());
    let db = open(&disk, true).unwrap();
    assert!(!db.report().lost.is_empty());
    let pets = db.collection("pets");
    for id in 1_000_000..1_000_100 {
        pets.put(id, r#"{"colour":"red","price":7,"count":1,"words":"none"}"#).unwrap();
    }
    let mut named = 0;
    for id in written {
        match pets.get(id).map(|found| found.map(|found| found.to_map())) {
            Ok(None) => {}
            Ok(Some(Ok(map))) => assert!(map.contains("kind") && !map.contains("colour"), "{id} reads as {map:?}"),
            Ok(Some(Err(_))) | Err(_) => named += 1,
        }
    }
    assert!(named > 0, "no row had lost its shape");
}
