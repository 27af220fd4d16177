//! Values of any length are indexed. The entry of a long value has the first bytes and a hash of
//! the value. The results of queries are the same as those of a scan.

use alluvium::{Collection, Database, Error, ErrorKind, Map, Value};
use alluvium::{backup, dump, repair};
use alluvium_env::Env;

fn open(env: &Env, path: &str) -> Database {
    Database::builder().env(env.clone()).memory(32 << 20).partitions(2).open(path).unwrap()
}

/// The longest text whose key is stored whole, followed by `end`.
fn text(end: &str) -> String {
    "k".repeat(8192 - 3) + end
}

fn map(field: &str, value: impl Into<Value>) -> Map {
    Map::from([(field, value.into())])
}

fn found(c: &Collection, filter: Map) -> String {
    let mut ids: Vec<String> = c.find(filter).run().unwrap().map(|d| d.unwrap().id().to_string()).collect();
    ids.sort();
    ids.join(",")
}

fn range(operator: &str, value: impl Into<Value>) -> Map {
    map("a", Map::from([(operator, value.into())]))
}

fn intact(db: &Database) {
    let verified = db.verify().run().unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
}

/// Inserts documents 0 to 5, whose values ascend.
fn fill(c: &Collection) {
    for (id, end) in ["", "\u{1}", "a", "b", "bb", "z"].into_iter().enumerate() {
        c.put(id as i32, map("a", text(end))).unwrap();
    }
}

#[test]
fn queries_are_answered() {
    for keys in [r#"{"a": 1}"#, r#"{"a": -1}"#] {
        let env = Env::in_memory(1);
        let db = open(&env, "db");
        let c = db.collection("c");
        // Some documents are indexed by the build, and others when they are written.
        fill(&c);
        let name = c.create_index(keys).run().unwrap();
        c.put(6, map("a", text("b") + &"x".repeat(1 << 20))).unwrap();
        c.put(7, map("a", Value::Array(vec![text("a").into(), text("q").into(), 1.into()]))).unwrap();
        c.put(8, map("a", "short")).unwrap();
        c.put(9, map("a", "a")).unwrap();
        for _ in 0..2 {
            let c = db.collection("c");
            assert_eq!(found(&c, map("a", text("a"))), "2,7");
            assert_eq!(found(&c, map("a", text("c"))), "");
            assert_eq!(found(&c, range("$gt", text("a"))), "3,4,5,6,7,8");
            assert_eq!(found(&c, range("$gte", text("b"))), "3,4,5,6,7,8");
            assert_eq!(found(&c, range("$lt", text("b"))), "0,1,2,7,9");
            assert_eq!(found(&c, range("$lte", text(""))), "0,9");
            assert_eq!(found(&c, range("$ne", text("a"))), "0,1,3,4,5,6,8,9");
            assert_eq!(c.find(range("$gt", text("a"))).hint(name.as_str()).count().unwrap(), 6);
            // All long values are on the same side of a short bound.
            assert_eq!(c.find(range("$gte", "k")).hint(name.as_str()).count().unwrap(), 9);
            let sorted = |sort: &str| {
                let all = c.find(range("$gt", "a")).sort(sort).hint(name.as_str()).run().unwrap();
                all.map(|d| d.unwrap().id().to_string()).collect::<Vec<_>>().join(",")
            };
            assert_eq!(sorted(r#"{"a": 1, "_id": 1}"#), "7,0,1,2,3,4,6,5,8");
            assert_eq!(sorted(r#"{"a": -1, "_id": 1}"#), "8,5,7,6,4,3,2,1,0");
            let distinct = c.find(range("$lte", text("a"))).hint(name.as_str()).distinct("a").unwrap();
            assert!(distinct.contains(&text("a").into()) && distinct.contains(&text("").into()), "{distinct:?}");
            intact(&db);
            db.flush().unwrap();
            db.compact().run().unwrap();
        }
    }
}

#[test]
fn changes_leave_no_entry_behind() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let c = db.collection("c");
    c.create_index(r#"{"a": 1, "b": -1}"#).run().unwrap();
    c.create_index(r#"{"a": 1}"#).options(r#"{"sparse": true, "name": "sparse"}"#).run().unwrap();
    fill(&c);
    c.update_blind(0, Map::from([("$set", Value::Map(map("a", text("q"))))])).unwrap();
    c.update_blind(1, r#"{"$set": {"c": 1}}"#).unwrap();
    c.update_one(r#"{"_id": 2}"#, Map::from([("$set", Value::Map(map("b", text("r"))))])).run().unwrap();
    c.update_one(r#"{"_id": 3}"#, r#"{"$set": {"a": 3}}"#).run().unwrap();
    c.delete(4).unwrap();
    c.update_many(map("a", text("z")), r#"{"$unset": {"a": 1}}"#).run().unwrap();
    assert_eq!(found(&c, map("a", text("q"))), "0");
    assert_eq!(found(&c, map("a", text("\u{1}"))), "1");
    assert_eq!(
        found(&c, Map::from([("a", text("a")), ("b", text("r"))].map(|(name, text)| (name, Value::from(text))))),
        "2"
    );
    for gone in ["", "b", "bb", "z"] {
        assert_eq!(found(&c, map("a", text(gone))), "");
    }
    intact(&db);
    db.flush().unwrap();
    db.sweep_indexes().unwrap();
    intact(&db);
    // Reopen the database, and read from the log and from files.
    db.close().unwrap();
    let db = open(&env, "db");
    assert_eq!(found(&db.collection("c"), map("a", text("a"))), "2");
    intact(&db);
}

#[test]
fn a_unique_key_may_be_long() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let c = db.collection("c");
    fill(&c);
    c.create_index(r#"{"a": 1}"#).options(r#"{"unique": true}"#).run().unwrap();
    let taken = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
        assert!(error.to_string().contains("kkkk") && error.to_string().len() < 1000, "{error}");
    };
    taken(c.put(10, map("a", text("a"))).unwrap_err());
    taken(c.insert_one(map("a", text("bb"))).map(drop).unwrap_err());
    taken(
        c.update_one(r#"{"_id": 1}"#, Map::from([("$set", Value::Map(map("a", text("z"))))]))
            .run()
            .map(drop)
            .unwrap_err(),
    );
    c.put(2, map("a", text("a"))).unwrap();
    c.put(10, map("a", text("c"))).unwrap();
    // An upsert finds the document that has the key.
    let done = c.update_one(map("a", text("c")), r#"{"$set": {"n": 1}}"#).upsert(true).run().unwrap();
    assert_eq!((done.matched_count, done.upserted_id), (1, None));
    let done = c.update_one(map("a", text("d")), r#"{"$set": {"n": 1}}"#).upsert(true).run().unwrap();
    assert!(done.upserted_id.is_some());
    intact(&db);
    let other = db.collection("other");
    other.put(1, map("a", text("same"))).unwrap();
    other.put(2, map("a", text("same"))).unwrap();
    taken(other.create_index(r#"{"a": 1}"#).options(r#"{"unique": true}"#).run().map(drop).unwrap_err());
}

#[test]
fn copies_have_the_same_entries() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let c = db.collection("c");
    c.create_index(r#"{"a": -1}"#).run().unwrap();
    fill(&c);
    db.checkpoint("checkpoint").run().unwrap();
    db.dump("dump").run().unwrap();
    db.close().unwrap();
    let dumped = open(&env, "dumped");
    dump::read("dump").env(env.clone()).run().unwrap().restore(&dumped).run().unwrap();
    dumped.close().unwrap();
    backup::restore("checkpoint", "restored").env(env.clone()).run().unwrap();
    repair::repair("db", "repaired").env(env.clone()).run().unwrap();
    for path in ["restored", "repaired", "dumped"] {
        let db = open(&env, path);
        db.finish_indexes().unwrap();
        let c = db.collection("c");
        assert_eq!(c.indexes().unwrap().len(), 2, "{path}");
        assert_eq!(found(&c, map("a", text("a"))), "2", "{path}");
        assert_eq!(found(&c, range("$lt", text("b"))), "0,1,2", "{path}");
        intact(&db);
    }
}

/// An index that got a long key is marked as long as it exists, and gives no order. Other indexes
/// are not affected.
#[test]
fn only_an_index_with_long_keys_loses_its_order() {
    let env = Env::in_memory(1);
    let db = open(&env, "db");
    let c = db.collection("c");
    c.create_index(r#"{"a": 1}"#).run().unwrap();
    for id in 0..20 {
        c.put(id, map("a", id)).unwrap();
    }
    let before = db.snapshot();
    let explain = || c.find(range("$gte", 3)).sort(r#"{"a": 1}"#).hint(r#"{"a": 1}"#).explain().unwrap().to_string();
    assert!(!explain().contains("sort"), "{}", explain());
    let covered = || {
        let shown = c.find(range("$gte", 3)).projection(r#"{"a": 1, "_id": 0}"#).hint(r#"{"a": 1}"#);
        shown.explain().unwrap().to_string()
    };
    assert!(!covered().contains("fetch"), "{}", covered());
    c.put(30, map("a", text("a"))).unwrap();
    assert!(explain().contains("sort"), "{}", explain());
    assert!(covered().contains("fetch"), "{}", covered());
    // A count between short bounds needs no values.
    let counted = c.find(range("$gte", 3)).hint(r#"{"a": 1}"#);
    assert_eq!(counted.count().unwrap(), 17);
    let then = c.at(&before).find(range("$gte", 3)).sort(r#"{"a": -1}"#).limit(2).run().unwrap();
    assert_eq!(then.map(|d| d.unwrap().id().to_string()).collect::<Vec<_>>(), ["19", "18"]);
}
