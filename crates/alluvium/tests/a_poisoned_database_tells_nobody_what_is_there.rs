//! A document that was seen before a sync failed may be gone after a power cut: who writes it again is told that nothing is written
//! any more, not that it is there.

#![allow(clippy::unwrap_used)]

use alluvium::{Database, Durability, ErrorKind};
use env::Env;
use env::fault::{Fault, FaultFs, OpKind};
use env::mem::MemFs;
use std::sync::Arc;

#[test]
fn a_poisoned_database_tells_nobody_what_is_there() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), ..Env::in_memory(1) };
    let db = Database::builder().env(env).memory(8 << 20).durability(Durability::Bulk).open("db").unwrap();
    let pets = db.collection("pets");
    pets.create_index_with(r#"{"tag":1}"#, r#"{"unique":true}"#).unwrap();
    pets.put("rex", r#"{"tag":7}"#).unwrap();
    let kinds = || {
        let mut batch = db.write_batch();
        batch.insert(&pets, r#"{"_id":"rex","tag":8}"#).unwrap();
        [
            pets.insert_one(r#"{"_id":"rex","tag":8}"#).unwrap_err().kind(),
            batch.commit().unwrap_err().kind(),
            pets.put("tom", r#"{"tag":7}"#).unwrap_err().kind(),
            pets.insert_one(r#"{"_id":"tom","tag":7}"#).unwrap_err().kind(),
        ]
    };
    assert_eq!(kinds(), [ErrorKind::DuplicateKey; 4]);
    faults.inject(Fault::nth(1).of(OpKind::Sync).on("wal"));
    assert!(db.sync().is_err());
    assert_eq!(kinds(), [ErrorKind::Poisoned; 4]);
    assert!(pets.get("rex").unwrap().is_some(), "reads go on");
}
