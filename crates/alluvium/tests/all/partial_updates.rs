//! Partial updates: checked updates, blind updates, upserts, and replacements by version, in memory, in files and after
//! reopening.

use alluvium::{Collection, Database, ErrorKind, Map, ReturnDocument, Value};
use alluvium_env::Env;

fn open(env: &Env) -> Database {
    Database::builder().memory(8 << 20).partitions(2).env(env.clone()).open("db").unwrap()
}

fn json(c: &Collection, id: impl Into<Value>) -> String {
    c.get(id).unwrap().map_or_else(|| "none".to_owned(), |d| d.to_string())
}

#[test]
fn checked_updates_report_their_effect() {
    let db = open(&Env::in_memory(31));
    let c = db.collection("c");
    c.put("a", r#"{"n":1,"tags":["x"],"in":{"ner":true}}"#).unwrap();
    let result = c
        .update_one(r#"{"_id": "a"}"#, r#"{"$inc":{"n":2},"$set":{"in.ner":false,"new":"field"},"$push":{"tags":"y"}}"#)
        .run()
        .unwrap();
    assert_eq!((result.matched_count, result.modified_count), (1, 1));
    assert_eq!(json(&c, "a"), r#"{"_id":"a","n":3,"tags":["x","y"],"in":{"ner":false},"new":"field"}"#);
    let result = c.update_one(r#"{"_id": "a"}"#, r#"{"$set":{"n":3}}"#).run().unwrap();
    assert_eq!((result.matched_count, result.modified_count), (1, 0), "nothing changes");
    let result = c.update_one(r#"{"_id": "none"}"#, r#"{"$set":{"n":3}}"#).run().unwrap();
    assert_eq!((result.matched_count, result.modified_count), (0, 0));
    let wrong = c.update_one(r#"{"_id": "a"}"#, r#"{"$inc":{"new":1}}"#).run().unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Invalid);
    let alluvium::Error::UpdateOf { collection, id, error } = &wrong else { panic!("{wrong}") };
    assert_eq!((collection.as_str(), id.as_str(), error.code().number()), ("main.c", "\"a\"", 14));
    assert_eq!(wrong.code(), Some((14, "TypeMismatch")));
    assert!(
        c.update_one(r#"{"_id": "a"}"#, r#"{"n":1}"#).run().unwrap_err().to_string().contains("replace"),
        "a document is no update"
    );
    assert!(c.update_one(r#"{"_id": "a"}"#, r#"{"$set":{"_id":"b"}}"#).run().is_err());
    assert_eq!(c.count().unwrap(), 1);
}

#[test]
fn upserts_insert_what_is_missing() {
    let db = open(&Env::in_memory(32));
    let c = db.collection("c");
    let update = r#"{"$inc":{"n":1},"$setOnInsert":{"first":true}}"#;
    assert_eq!(c.update_one(r#"{"_id": 7}"#, update).upsert(true).run().unwrap().upserted_id, Some(Value::from(7)));
    assert_eq!(c.update_one(r#"{"_id": 7}"#, update).upsert(true).run().unwrap().upserted_id, None);
    assert_eq!(json(&c, 7), r#"{"_id":7,"first":true,"n":2}"#);
    let threads = 4;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                (0..200).for_each(|n| {
                    drop(
                        c.update_one(Map::from([("_id", Value::from(100 + n % 10))]), update)
                            .upsert(true)
                            .run()
                            .unwrap(),
                    )
                })
            });
        }
    });
    for id in 100..110 {
        assert_eq!(json(&c, id), format!(r#"{{"_id":{id},"first":true,"n":{}}}"#, threads * 20));
    }
}

#[test]
fn blind_updates_are_folded_wherever_the_document_is() {
    let env = Env::in_memory(33);
    let mut db = open(&env);
    for n in 0..50 {
        db.collection("c").put(n, format!(r#"{{"n":0,"text":"document {n}","list":[]}}"#)).unwrap();
    }
    for round in 1..=8 {
        let c = db.collection("c");
        for n in 0..60 {
            // Half of the updates add the field, and some of the documents do not exist.
            c.update_blind(n, r#"{"$inc":{"n":1}}"#).unwrap();
            c.update_blind(n, format!(r#"{{"$push":{{"list":{round}}},"$set":{{"seen.last":{round}}}}}"#)).unwrap();
            // This update cannot be applied, and has no effect.
            c.update_blind(n, r#"{"$inc":{"text":1}}"#).unwrap();
        }
        match round % 4 {
            0 => db.compact().run().unwrap(),
            1 => db.flush().unwrap(),
            2 => {
                // The log is replayed and flushed before any read of the collection.
                drop((c, db));
                db = open(&env);
                db.flush().unwrap();
                db.compact().run().unwrap();
            }
            _ => {}
        }
        let c = db.collection("c");
        let list: Vec<String> = (1..=round).map(|n| n.to_string()).collect();
        let list = list.join(",");
        for n in [0, 17, 49] {
            let expected =
                format!(r#"{{"_id":{n},"n":{round},"text":"document {n}","list":[{list}],"seen":{{"last":{round}}}}}"#);
            assert_eq!(json(&c, n), expected);
        }
        assert_eq!(json(&c, 55), "none");
        assert_eq!(c.count().unwrap(), 50);
        assert_eq!(c.scan().reverse().run().unwrap().count(), 50);
    }
    db.compact().run().unwrap();
    assert!(db.stats().deltas_refused > 0);
    assert!(db.verify().run().unwrap().damage.is_empty());
}

#[test]
fn a_blind_update_in_a_batch_is_atomic_with_the_rest() {
    let db = open(&Env::in_memory(34));
    let (c, log) = (db.collection("c"), db.collection("log"));
    c.put("ada", r#"{"balance":10}"#).unwrap();
    let mut batch = db.write_batch();
    batch.update_blind(&c, "ada", r#"{"$inc":{"balance":-3}}"#).unwrap();
    batch.put(&log, 1, r#"{"what":"paid 3"}"#).unwrap();
    assert!(batch.update_blind(&c, "ada", r#"{"$frob":{"a":1}}"#).is_err());
    batch.commit().unwrap();
    assert_eq!(json(&c, "ada"), r#"{"_id":"ada","balance":7}"#);
    assert_eq!(log.count().unwrap(), 1);
}

#[test]
fn a_document_is_replaced_only_in_the_version_that_was_read() {
    let db = open(&Env::in_memory(35));
    let c = db.collection("c");
    assert_eq!(c.replace_one(r#"{"_id": "a"}"#, r#"{"n":1}"#).run().unwrap().matched_count, 0, "no such collection");
    c.put("a", r#"{"n":1}"#).unwrap();
    assert_eq!(c.replace_one(r#"{"_id": "b"}"#, r#"{"n":1}"#).run().unwrap().matched_count, 0);
    assert_eq!(c.replace_one(r#"{"_id": "a"}"#, r#"{"n":2}"#).run().unwrap().matched_count, 1);
    let (document, version) = c.get_versioned("a").unwrap().unwrap();
    assert_eq!(document.to_string(), r#"{"_id":"a","n":2}"#);
    db.flush().unwrap();
    db.compact().run().unwrap();
    assert!(c.replace_if("a", version, r#"{"n":3}"#).unwrap(), "moving files changes no version");
    assert!(!c.replace_if("a", version, r#"{"n":4}"#).unwrap());
    let (_, version) = c.get_versioned("a").unwrap().unwrap();
    c.update_blind("a", r#"{"$inc":{"n":1}}"#).unwrap();
    assert!(!c.replace_if("a", version, r#"{"n":5}"#).unwrap(), "a blind update counts too");
    assert_eq!(json(&c, "a"), r#"{"_id":"a","n":4}"#);
    assert!(c.get_versioned("none").unwrap().is_none());
    // Several threads increment by compare-and-set, and no increment is lost.
    c.put("sum", r#"{"n":0}"#).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    loop {
                        let (document, version) = c.get_versioned("sum").unwrap().unwrap();
                        let n = document.get("n").unwrap().unwrap().to_value().unwrap().as_i64().unwrap();
                        if c.replace_if("sum", version, format!(r#"{{"n":{}}}"#, n + 1)).unwrap() {
                            break;
                        }
                    }
                }
            });
        }
    });
    assert_eq!(json(&c, "sum"), r#"{"_id":"sum","n":400}"#);
}

#[test]
fn the_document_is_returned_as_it_was_or_is() {
    let db = open(&Env::in_memory(36));
    let c = db.collection("c");
    c.put("a", r#"{"n":1}"#).unwrap();
    let find = |which| {
        c.find_one_and_update(r#"{"_id": "a"}"#, r#"{"$inc":{"n":1}}"#)
            .return_document(which)
            .run()
            .unwrap()
            .unwrap()
            .to_string()
    };
    assert_eq!(find(ReturnDocument::Before), r#"{"_id":"a","n":1}"#);
    assert_eq!(find(ReturnDocument::After), r#"{"_id":"a","n":3}"#);
    assert!(
        c.find_one_and_update(r#"{"_id": "b"}"#, r#"{"$inc":{"n":1}}"#)
            .return_document(ReturnDocument::After)
            .run()
            .unwrap()
            .is_none()
    );
}
