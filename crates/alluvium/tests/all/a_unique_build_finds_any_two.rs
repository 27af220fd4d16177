//! The build of a unique index checks keys in several snapshots. It finds two documents with the
//! same key, even if it reads them at different snapshots.

use alluvium::{Database, Error, Map, Value};
use std::path::Path;

/// Two snapshots of a build cover fewer documents than this.
const DOCUMENTS: i32 = 250;

#[test]
fn wherever_they_stand() {
    let env = alluvium_env::Env::in_memory(1);
    // A snapshot covers 100 entries of 64 bytes.
    let tuning = alluvium_store::Tuning { gather_bytes: Some(6400), ..alluvium_store::Tuning::default() };
    let options = alluvium_store::Options { tuning, ..alluvium_store::Options::default() };
    let db = Database::builder().env(env).options(options).partitions(2).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    let mut batch = db.write_batch();
    for id in 0..DOCUMENTS {
        batch.put(&pets, id, Map::from([("chip", Value::from(id))])).unwrap();
    }
    batch.commit().unwrap();
    // The second document with a key may be anywhere, also near the boundaries between snapshots.
    for twin in 0..DOCUMENTS {
        pets.put("twin", Map::from([("chip", Value::from(twin))])).unwrap();
        let error = pets.create_index(r#"{"chip": 1}"#).unique(true).run().unwrap_err();
        let Error::DuplicateIndexKey { key, key_value, .. } = &error else { panic!("{twin}: {error}") };
        assert_eq!(**key_value, Map::from([("chip", Value::from(twin))]));
        assert_eq!(key, &format!("{{chip: {twin}}}"));
        assert_eq!(pets.indexes().unwrap().len(), 1, "it is dropped again");
    }
    pets.delete("twin").unwrap();
    pets.create_index(r#"{"chip": 1}"#).unique(true).run().unwrap();
    assert!(pets.put("twin", r#"{"chip": 100}"#).is_err());
    assert_eq!(db.verify().run().unwrap().damage.len(), 0);
}
