//! Each index entry contains the `_id` of its document; the total size of a document's entries is
//! limited.

use alluvium::{Collection, Database, Error, IndexError, Map, Value};

fn open(env: &alluvium_env::Env) -> Database {
    Database::builder().env(env.clone()).memory(32 << 20).partitions(2).open("db").unwrap()
}

/// Puts a document that would have 512 MB of entries in an index on `a`.
fn put(c: &Collection) -> alluvium::Result<()> {
    let numbers: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    c.put(id(), format!(r#"{{"a": [{}]}}"#, numbers.join(",")))
}

fn id() -> Value {
    Value::from("x".repeat(256 << 10))
}

#[test]
fn a_document_with_too_long_an_id_for_an_index_is_refused() {
    let db = open(&alluvium_env::Env::in_memory(1));
    let c = db.collection("c");
    c.create_index(r#"{"a": 1}"#).run().unwrap();
    let error = put(&c).unwrap_err();
    assert!(matches!(error, Error::IndexOf { error: IndexError::KeyTooLong(_), .. }), "{error}");
    assert!(error.to_string().contains("2000 keys, each with the 262"), "{error}");
    // A document with one key fits. A change that adds too many keys is refused, as in an insert.
    c.put(id(), r#"{"a": 1}"#).unwrap();
    let each: Vec<i32> = (0..2000).collect();
    let error = c.modify(id(), |draft| Ok(draft.set("a", Value::from_iter(each.iter().copied())).map(|()| true)?));
    assert!(matches!(error, Err(Error::IndexOf { error: IndexError::KeyTooLong(_), .. })), "{error:?}");
    assert!(db.verify().run().unwrap().damage.is_empty());
}

#[test]
fn a_build_over_such_a_document_ends_by_name() {
    let env = alluvium_env::Env::in_memory(1);
    let db = open(&env);
    let c = db.collection("c");
    put(&c).unwrap();
    let error = c.create_index(r#"{"a": 1}"#).run().unwrap_err();
    assert!(matches!(error, Error::Index(IndexError::KeyTooLong(_))), "{error}");
    // While the index is being built, the document can be changed and deleted.
    drop(c.create_index(r#"{"a": 1}"#).start().unwrap());
    db.close().unwrap();
    let db = open(&env);
    let c = db.collection("c");
    assert!(db.finish_indexes().is_err() || c.indexes().unwrap().len() == 1);
    assert_eq!(c.indexes().unwrap().len(), 1, "it is dropped again");
    drop(c.create_index(r#"{"a": 1}"#).start().unwrap());
    assert!(c.find_one_and_delete(Map::from([("_id", id())])).run().unwrap().is_some());
    c.create_index(r#"{"a": 1}"#).run().unwrap();
    assert!(db.verify().run().unwrap().damage.is_empty());
}
