//! A sweep removes an entry because its document was replaced. If a power cut then loses the end of
//! the log, the old document is current again, and must be found.

use alluvium::{Database, Durability};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_testkit::IndexEntries;
use std::sync::Arc;

fn open(disk: &Arc<MemFs>) -> Database {
    let env = alluvium_env::Env { fs: disk.clone(), ..alluvium_env::Env::in_memory(1) };
    let options = alluvium_store::Options {
        memory_bytes: 8 << 20,
        partitions: Some(2),
        background: false,
        durability: Durability::Bulk,
        ..alluvium_store::Options::default()
    };
    Database::builder().env(env).options(options).open("db").unwrap()
}

#[test]
fn a_sweep_waits_for_the_log() {
    for deleted in [false, true] {
        let disk = Arc::new(MemFs::new());
        let db = open(&disk);
        let pets = db.collection("pets");
        pets.create_index(r#"{"k":1}"#).run().unwrap();
        pets.put(1, r#"{"k":1}"#).unwrap();
        db.flush().unwrap();
        match deleted {
            true => pets.delete(1).unwrap(),
            false => pets.put(1, r#"{"k":2}"#).unwrap(),
        }
        assert_eq!(db.sweep_indexes().unwrap(), 1);
        let disk = Arc::new(disk.crash_clone(3, CrashStyle::AllLost));
        let db = open(&disk);
        let pets = db.collection("pets");
        let found = pets.count().unwrap() as usize;
        assert_eq!(pets.index_entries(&db.snapshot(), "k_1", false).unwrap().len(), found, "deleted: {deleted}");
    }
}
