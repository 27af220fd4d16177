//! A cursor that is paused after any document returns the same documents as without pauses.

use alluvium::{CappedLimits, Collection, Cursor, Database, Document, doc};

/// A database with documents in files and in memtables, some of them changed and some deleted.
fn database() -> Database {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).partitions(3).open("db").unwrap();
    let c = db.collection("c");
    for keys in [r#"{"n": 1}"#, r#"{"tags": 1}"#, r#"{"n": 1, "m": 1}"#] {
        c.create_index(keys).run().unwrap();
    }
    for from in [0, 100, 200] {
        for id in from..from + 100 {
            let text = "text ".repeat(id as usize % 50);
            c.put(id, doc! {"n": (id % 17), "m": (id % 5), "tags": [(id % 7), (id % 11)], "text": text}).unwrap();
        }
        if from < 200 {
            db.flush().unwrap();
        }
        c.update_many(doc! {"m": (from / 100)}, r#"{"$inc": {"n": 1}}"#).run().unwrap();
        c.delete_many(doc! {"_id": {"$gte": (from + 20), "$lt": (from + 30)}}).run().unwrap();
    }
    db
}

fn all(mut cursor: Cursor, pauses: bool) -> Vec<Document> {
    let mut found = Vec::new();
    while let Some(document) = cursor.next().transpose().unwrap() {
        found.push(document);
        if pauses {
            cursor.pause();
        }
    }
    cursor.pause();
    assert!(cursor.next().is_none());
    found
}

fn check(what: &str, least: usize, run: impl Fn() -> Cursor) {
    let expected = all(run(), false);
    assert!(expected.len() >= least, "{what}: {}", expected.len());
    assert!(all(run(), true) == expected, "{what}");
    // A pause before the first document changes nothing, either.
    let mut cursor = run();
    cursor.pause();
    assert!(all(cursor, true) == expected, "{what}");
}

fn find(c: &Collection, filter: &str, sort: &str) -> Cursor {
    let found = c.find(filter);
    if sort.is_empty() { found.run().unwrap() } else { found.sort(sort).run().unwrap() }
}

#[test]
fn queries() {
    let db = database();
    let c = db.collection("c");
    let cases = [
        ("{}", ""),
        ("{}", r#"{"_id": 1}"#),
        ("{}", r#"{"_id": -1}"#),
        (r#"{"_id": {"$gt": 50, "$lt": 250}}"#, r#"{"_id": -1}"#),
        (r#"{"$or": [{"_id": {"$lt": 40}}, {"_id": {"$gt": 270}}]}"#, ""),
        (r#"{"n": {"$in": [3, 5, 8]}}"#, ""),
        (r#"{"n": {"$gt": 3}}"#, r#"{"n": -1}"#),
        (r#"{"tags": {"$gte": 3}}"#, r#"{"tags": 1}"#),
        (r#"{"n": 5, "tags": 3}"#, ""),
        (r#"{"$or": [{"n": 3}, {"tags": 2}]}"#, ""),
        (r#"{"$or": [{"n": 3, "m": {"$gt": 0}}, {"n": 4, "m": {"$gt": 1}}]}"#, r#"{"m": 1}"#),
        (r#"{"m": {"$gt": 1}}"#, r#"{"text": 1}"#),
    ];
    for (filter, sort) in cases {
        check(&format!("{filter} sorted by {sort}"), 1, || find(&c, filter, sort));
    }
    check("by an index alone", 100, || {
        c.find(r#"{"n": {"$gt": 3}}"#).projection(r#"{"_id": 0, "n": 1}"#).run().unwrap()
    });
    check("with a limit", 30, || c.find("{}").skip(7).limit(30).run().unwrap());
    check("a scan", 200, || c.scan().run().unwrap());
}

#[test]
fn pipelines() {
    let db = database();
    let c = db.collection("c");
    let cases = [
        r#"[{"$match": {"n": {"$gt": 2}}}, {"$set": {"more": "$n"}}]"#,
        r#"[{"$match": {"n": 3}}, {"$unionWith": {"coll": "c", "pipeline": [{"$match": {"m": 2}}]}}]"#,
        r#"[{"$unwind": "$tags"}, {"$project": {"tags": 1}}]"#,
        r#"[{"$match": {"n": 4}}, {"$lookup": {"from": "c", "localField": "m", "foreignField": "n", "as": "of"}}]"#,
        r#"[{"$group": {"_id": "$n", "all": {"$sum": 1}}}, {"$sort": {"_id": 1}}]"#,
    ];
    for pipeline in cases {
        check(pipeline, 10, || c.aggregate(pipeline).run().unwrap());
    }
}

#[test]
fn the_order_of_insertion() {
    let db = database();
    let limits = CappedLimits { size_bytes: 1 << 20, documents: None };
    db.create_collection("log").capped(limits).run().unwrap();
    let c = db.collection("log");
    for id in [5, 3, 9, 1, 7] {
        c.put(id, doc! {"n": id}).unwrap();
    }
    db.flush().unwrap();
    c.put(2, doc! {"n": 2}).unwrap();
    check("forward", 6, || find(&c, "{}", ""));
    check("backward", 6, || find(&c, "{}", r#"{"$natural": -1}"#));
}
