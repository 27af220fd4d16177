//! Expiry continues after a document that cannot be deleted, and returns the error at the end.

use alluvium::{Database, Error, Map, Value};

fn open(env: &alluvium_env::Env, batch: Option<usize>, at_a_time: usize) -> Database {
    let (gather_bytes, max_batch_bytes) = (Some(at_a_time), batch);
    let tuning = alluvium_store::Tuning { gather_bytes, max_batch_bytes, ..alluvium_store::Tuning::default() };
    let options = alluvium_store::Options { tuning, ..alluvium_store::Options::default() };
    Database::builder().env(env.clone()).options(options).partitions(2).open("db").unwrap()
}

#[test]
fn the_others_expire() {
    let env = alluvium_env::Env::in_memory(1);
    // Three of the documents are too large for the batches of the database as it is opened below.
    let db = open(&env, None, 1 << 20);
    let c = db.collection("c");
    c.create_index(r#"{"at": 1}"#).options(r#"{"expireAfterSeconds": 60}"#).run().unwrap();
    c.create_index(r#"{"a": 1}"#).run().unwrap();
    let document =
        |elements: i32, ms: i64| Map::from([("at", Value::DateTime(ms)), ("a", Value::from_iter(0..elements))]);
    // These documents expire first, so every pass finds them first.
    for id in 0..3 {
        c.put(id, document(100_000, i64::from(id))).unwrap();
    }
    for id in 3..20 {
        c.put(id, document(3, 1000)).unwrap();
    }
    db.close().unwrap();

    // Expiry now deletes two documents at a time, and three cannot be deleted.
    let db = open(&env, Some(1 << 20), 2);
    let c = db.collection("c");
    let error = db.delete_expired().unwrap_err();
    assert!(matches!(error, Error::Store(alluvium_store::Error::BatchTooLarge { .. })), "{error}");
    assert_eq!(c.count().unwrap(), 3);
    assert!((0..3).all(|id| c.get(id).unwrap().is_some()));
}

#[test]
fn a_document_of_a_transaction_expires_later() {
    let db = open(&alluvium_env::Env::in_memory(1), None, 2);
    for name in ["c", "d"] {
        let collection = db.collection(name);
        collection.create_index(r#"{"at": 1}"#).options(r#"{"expireAfterSeconds": 60}"#).run().unwrap();
        (0..9).for_each(|id| collection.put(id, Map::from([("at", Value::DateTime(id))])).unwrap());
    }
    let transaction = db.begin();
    transaction.collection("c").update_one(r#"{"_id": 4}"#, r#"{"$set": {"kept": true}}"#).run().unwrap();
    assert_eq!(db.delete_expired().unwrap(), 17, "all but one, without waiting");
    transaction.abort();
    assert_eq!(db.delete_expired().unwrap(), 1);
}
