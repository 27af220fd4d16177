//! A document that was visible before a sync failed may be lost in a power cut. A write that finds
//! such a document and changes nothing must report that the database is poisoned, and not success.

use alluvium::{Database, Durability, ErrorKind};
use alluvium_env::Env;
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use std::sync::Arc;

#[test]
fn a_poisoned_database_confirms_no_write() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), ..Env::in_memory(1) };
    let db = Database::builder().env(env).memory(8 << 20).durability(Durability::Bulk).open("db").unwrap();
    let pets = db.collection("pets");
    pets.create_index(r#"{"tag":1}"#).unique(true).run().unwrap();
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
    // Writes that have nothing to change.
    let idle = || {
        let same = r#"{"$set":{"tag":7}}"#;
        [
            pets.update_blind("tom", same).map(drop),
            pets.update_blind("rex", r#"{"$inc":{"tag.x":1}}"#).map(drop),
            pets.update_one(r#"{"_id": "tom"}"#, same).run().map(drop),
            pets.update_one(r#"{"_id": "rex"}"#, same).run().map(drop),
            pets.replace_one(r#"{"_id": "tom"}"#, "{}").run().map(drop),
            pets.update_one(r#"{"tag":8}"#, same).run().map(drop),
            pets.update_many("{}", same).run().map(drop),
            pets.update_many(r#"{"tag":8}"#, same).run().map(drop),
            pets.delete_one(r#"{"tag":8}"#).run().map(drop),
            pets.delete_many(r#"{"tag":8}"#).run().map(drop),
            pets.find_one_and_delete(r#"{"tag":8}"#).run().map(drop),
            pets.bulk_write([pets.delete_many(r#"{"tag":8}"#).into()]).run().map(drop),
        ]
        .map(|done| done.err().map(|error| error.kind()))
    };
    // Changes of names and indexes that fail because the name is taken or does not exist.
    let names = || {
        [
            db.create_collection("pets").run().map(drop),
            db.rename_collection("pets", "main.pets"),
            db.rename_collection("gone", "other"),
            db.drop_collection("gone"),
            pets.drop_index("gone"),
        ]
        .map(|done| done.unwrap_err().kind())
    };
    assert_eq!(idle(), [None; 12]);
    assert_eq!(kinds(), [ErrorKind::DuplicateKey; 4]);
    assert_eq!(names(), [ErrorKind::Namespace; 5]);
    faults.inject(Fault::nth(1).of(OpKind::Sync).on("wal"));
    assert!(db.sync().is_err());
    assert_eq!(kinds(), [ErrorKind::Poisoned; 4]);
    assert_eq!(names(), [ErrorKind::Poisoned; 5]);
    assert_eq!(pets.create_index(r#"{"tag":1}"#).run().map(drop).unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(idle(), [Some(ErrorKind::Poisoned); 12]);
    assert!(pets.get("rex").unwrap().is_some(), "reads go on");
}
