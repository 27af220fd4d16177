//! Within a batch, an insert sees the effects of earlier operations on its document.

use alluvium::{Database, ErrorKind};
use alluvium_env::Env;

#[test]
fn an_insert_after_a_delete_is_allowed() {
    let db = Database::builder().env(Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
    let c = db.collection("c");
    c.put(1, r#"{"n": 1}"#).unwrap();
    let mut batch = db.write_batch();
    batch.delete(&c, 1).unwrap();
    batch.insert(&c, r#"{"_id": 1, "n": 2}"#).unwrap();
    batch.commit().unwrap();
    assert_eq!(c.get(1).unwrap().unwrap().to_string(), r#"{"_id":1,"n":2}"#);
}

#[test]
fn an_insert_after_a_put_is_refused() {
    let db = Database::builder().env(Env::in_memory(2)).memory(8 << 20).open("db").unwrap();
    let c = db.collection("c");
    let mut batch = db.write_batch();
    batch.put(&c, 1, r#"{"n": 1}"#).unwrap();
    batch.insert(&c, r#"{"_id": 1.0, "n": 2}"#).unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert!(c.get(1).unwrap().is_none(), "all or nothing");
}
