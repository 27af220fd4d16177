//! A sort that needs files checks the free space first, and leaves the reserve for writes.

use alluvium::{Database, Error, ErrorKind};
use alluvium_env::mem::MemFs;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_sort_leaves_the_disk_its_reserve() {
    let fs = Arc::new(MemFs::with_capacity(256 << 20));
    let env = alluvium_env::Env { fs: fs.clone(), ..alluvium_env::Env::in_memory(1) };
    let db = Database::builder()
        .env(env)
        .memory(8 << 20)
        .disk_reserve(16 << 20)
        .partitions(1)
        .open(Path::new("db"))
        .unwrap();
    let c = db.collection("c");
    let text = "x".repeat(400);
    for part in 0..8 {
        let all = (part * 1000..(part + 1) * 1000)
            .map(|n| format!(r#"{{"_id": {n}, "n": {}, "text": "{text}{n}"}}"#, (n * 7919) % 8000));
        c.insert_many(all).unwrap();
    }
    db.flush().unwrap();
    let sorted = || c.find("{}").sort(r#"{"n": 1}"#).run()?.collect::<Result<Vec<_>, _>>();
    assert_eq!(sorted().unwrap().len(), 8000);
    // The disk has space for the sort's files, but not for the files and the reserve together.
    fs.set_capacity(fs.used_bytes() + (17 << 20));
    let error = sorted().unwrap_err();
    assert!(matches!(error, Error::NotEnoughSpace { purpose: "the sort", .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    // A sort in memory needs no disk space.
    assert_eq!(c.find(r#"{"n": {"$lt": 10}}"#).sort(r#"{"n": -1}"#).run().unwrap().count(), 10);
    fs.set_capacity(256 << 20);
    assert_eq!(sorted().unwrap().len(), 8000);
}
