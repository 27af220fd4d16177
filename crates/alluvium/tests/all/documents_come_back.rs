//! Documents are read as they were written: by `_id` and in order, after changes and deletes, at a
//! snapshot, and after reopening.

use alluvium::{Database, Error, ErrorKind, Value};
use alluvium_env::Env;

fn open(env: &Env) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).partitions(3).open("db").unwrap()
}

fn texts(db: &Database, name: &str) -> Vec<String> {
    db.collection(name).scan().run().unwrap().map(|d| d.unwrap().to_string()).collect()
}

#[test]
fn one_document_through_every_layer() {
    let env = Env::in_memory(1);
    let db = open(&env);
    let pets = db.collection("pets");
    let rex = r#"{"_id":"rex","kind":"dog","age":3,"toys":[{"name":"ball"},{"name":"rope"}]}"#;
    assert_eq!(pets.insert_one(rex).unwrap().inserted_id, Value::from("rex"));
    let check = |db: &Database| {
        let document = db.collection("pets").get("rex").unwrap().unwrap();
        assert_eq!(document.to_string(), rex);
        let fields = db.collection("pets").get_fields("rex", &["toys.1.name", "none"]).unwrap().unwrap();
        assert_eq!(fields.get("toys.1.name"), Some(&Value::from("rope")));
        assert_eq!(fields.len(), 2);
    };
    check(&db);
    db.flush().unwrap();
    check(&db);
    db.compact().run().unwrap();
    check(&db);
    db.close().unwrap();
    assert_eq!(pets.get("rex").unwrap_err().kind(), ErrorKind::Closed);
    drop((db, pets));
    check(&open(&env));
}

#[test]
fn a_taken_id_is_refused_and_named() {
    let env = Env::in_memory(2);
    let db = open(&env);
    let c = db.collection("c");
    c.insert_one(r#"{"_id":1,"a":1}"#).unwrap();
    let error = c.insert_many([r#"{"_id":2}"#, r#"{"_id":1.0}"#]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert!(error.to_string().contains("main.c") && error.to_string().contains('1'), "{error}");
    assert_eq!(c.count().unwrap(), 1, "all or none");
    let error = c.insert_many([r#"{"_id":5}"#, r#"{"_id":5}"#]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    c.delete(1).unwrap();
    c.insert_one(r#"{"_id":1,"a":2}"#).unwrap();
}

#[test]
fn snapshots_scans_and_modify() {
    let env = Env::in_memory(3);
    let db = open(&env);
    let c = db.collection("c");
    for n in 0..100 {
        c.put(n, format!(r#"{{"n":{n}}}"#)).unwrap();
    }
    let before = db.snapshot();
    assert!(
        c.modify(7, |draft| {
            draft.set("n", 70)?;
            Ok(true)
        })
        .unwrap()
    );
    assert!(!c.modify(1000, |_| Ok(true)).unwrap());
    assert!(c.find_one_and_delete(r#"{"_id": 8}"#).run().unwrap().is_some());
    assert!(c.find_one_and_delete(r#"{"_id": 8}"#).run().unwrap().is_none());
    assert_eq!(c.count().unwrap(), 99);
    assert_eq!(c.at(&before).count().unwrap(), 100);
    assert_eq!(c.at(&before).get(7).unwrap().unwrap().to_string(), r#"{"_id":7,"n":7}"#);
    assert_eq!(c.get(7).unwrap().unwrap().to_string(), r#"{"_id":7,"n":70}"#);
    let some = c.scan().from(5).to(12).reverse().limit(4).run().unwrap();
    let ids: Vec<_> = some.map(|d| d.unwrap().id().clone()).collect();
    assert_eq!(ids, [11, 10, 9, 7].map(Value::from));
    assert_eq!(c.get_many([1, 8, 2]).unwrap().iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn collections_are_made_listed_renamed_and_dropped() {
    let env = Env::in_memory(4);
    let db = open(&env);
    db.collection("a").insert_one(r#"{"_id":1}"#).unwrap();
    db.collection("shop.orders").insert_one(r#"{"_id":1}"#).unwrap();
    db.create_collection("empty").run().unwrap();
    assert!(matches!(db.create_collection("a").run(), Err(Error::CollectionExists(_))));
    db.rename_collection("a", "b").unwrap();
    let names = |db: &Database| db.collections().iter().map(|c| c.full_name()).collect::<Vec<_>>();
    assert_eq!(names(&db), ["main.b", "main.empty", "shop.orders"]);
    assert_eq!(db.logical_database_names(), ["main", "shop"]);
    assert_eq!(db.collection("shop.order").get(1).unwrap(), None, "it reads as empty");
    let error = db.collection("shop.order").require_existing().unwrap_err().to_string();
    assert!(error.contains("did you mean shop.orders?"), "{error}");
    db.collection("b").drop().unwrap();
    db.collection("b").insert_one(r#"{"_id":2}"#).unwrap();
    assert_eq!(texts(&db, "b"), [r#"{"_id":2}"#], "a new collection of the old name is empty");
    db.logical_database("shop").drop().unwrap();
    drop(db);
    let db = open(&env);
    assert_eq!(names(&db), ["main.b", "main.empty"]);
    assert_eq!(texts(&db, "b"), [r#"{"_id":2}"#]);
}

#[test]
fn a_batch_over_collections_is_all_or_nothing() {
    let env = Env::in_memory(5);
    let db = open(&env);
    let (a, b) = (db.collection("a"), db.collection("b"));
    a.insert_one(r#"{"_id":1}"#).unwrap();
    let mut batch = db.write_batch();
    batch.put(&b, 1, r#"{"x":1}"#).unwrap();
    batch.insert(&a, r#"{"_id":1}"#).unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(b.count().unwrap(), 0);
    let mut batch = db.write_batch();
    batch.put(&b, 1, r#"{"x":1}"#).unwrap();
    batch.delete(&a, 1).unwrap();
    let id = batch.insert(&a, r#"{"y":1}"#).unwrap();
    batch.commit().unwrap();
    assert_eq!((a.count().unwrap(), b.count().unwrap()), (1, 1));
    assert!(a.get(id).unwrap().is_some());
}

#[test]
fn what_is_no_document_is_refused() {
    let env = Env::in_memory(6);
    let db = open(&env);
    let c = db.collection("c");
    for bad in
        ["", "[]", "1", "{", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "{\"_id\":[1]}", "{\"_id\":{\"$undefined\":true}}"]
    {
        assert_eq!(c.insert_one(bad).unwrap_err().kind(), ErrorKind::Invalid, "{bad}");
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(180), "]".repeat(180));
    assert_eq!(c.insert_one(deep).unwrap_err().kind(), ErrorKind::Invalid);
    let big = format!("{{\"a\":\"{}\"}}", "x".repeat(17 << 20));
    assert_eq!(c.insert_one(big).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(db.collection("a$").insert_one("{}").unwrap_err().kind(), ErrorKind::Invalid);
    let error = c.put(1, r#"{"_id":2}"#).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    c.insert_one(r#"{"_id":"","":{"":[]},"\u0000":"\u0000"}"#).unwrap();
    assert_eq!(texts(&db, "c"), [r#"{"_id":"","":{"":[]},"\u0000":"\u0000"}"#]);
}
