//! Queries and pipelines over a read-only store return the same results as over the database from
//! which the store was built. Operations that need another collection, writes or files are refused
//! with an error that names them.

use alluvium::{Collection, Database, Document, Error, ErrorKind, ReadOnly};
use alluvium_env::Env;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const COUNT: u32 = 800;

fn document(n: u32) -> String {
    let id = match n % 4 {
        0 => format!("{n}"),
        1 => format!("\"name {n}\""),
        2 => format!("{{\"$oid\": \"{n:024x}\"}}"),
        _ => format!("{{\"a\": {}, \"b\": \"{n}\"}}", n % 7),
    };
    match n % 5 {
        0 => format!(r#"{{"_id": {id}, "rare{}": [1, {n}, null]}}"#, n % 40),
        1 => format!(r#"{{"_id": {id}, "kind": "odd", "at": {{"$date": "2024-05-{:02}T07:08:09Z"}}}}"#, n % 28 + 1),
        _ => format!(
            r#"{{"_id": {id}, "kind": "kind {}", "score": {}, "tags": ["a", "b{}"], "deep": [{{"x": {}}}, {{"y": 2}}]}}"#,
            n % 6,
            n * 7919 % 100,
            n % 3,
            n % 9
        ),
    }
}

/// A collection, and a store that was built from it.
fn both() -> (Database, Collection, ReadOnly) {
    let env = Env::in_memory(1);
    let db = Database::builder().env(env.clone()).open("/db").unwrap();
    let collection = db.collection("pets");
    collection.insert_many((0..COUNT).map(document)).unwrap();
    let mut build = ReadOnly::build("/ro", "pets").env(env.clone()).start().unwrap();
    for document in collection.scan().run().unwrap() {
        build.add(document.unwrap()).unwrap();
    }
    build.finish().unwrap();
    (db, collection, open(&env, 64 << 20))
}

fn open(env: &Env, memory: usize) -> ReadOnly {
    ReadOnly::options().env(env.clone()).memory(memory).open("/ro").unwrap()
}

fn lines(documents: impl Iterator<Item = alluvium::Result<Document>>) -> Vec<String> {
    documents.map(|document| document.unwrap().to_string()).collect()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

const FILTERS: [&str; 24] = [
    "{}",
    r#"{"kind": "odd"}"#,
    r#"{"score": {"$gt": 50}}"#,
    r#"{"score": {"$gte": 10, "$lt": 20}, "tags": "b1"}"#,
    r#"{"$or": [{"score": 7}, {"kind": {"$regex": "^odd"}}]}"#,
    r#"{"deep.x": {"$in": [1, 2, 3]}}"#,
    r#"{"deep": {"$elemMatch": {"y": 2}}}"#,
    r#"{"at": {"$lt": {"$date": "2024-05-10T00:00:00Z"}}}"#,
    r#"{"score": null}"#,
    r#"{"score": {"$exists": false}, "kind": {"$type": "string"}}"#,
    r#"{"$expr": {"$gt": ["$score", {"$size": {"$ifNull": ["$tags", []]}}]}}"#,
    r#"{"$jsonSchema": {"required": ["score"], "properties": {"score": {"maximum": 30}}}}"#,
    r#"{"nothing": "has it"}"#,
    // Filters on `_id`.
    r#"{"_id": 8}"#,
    r#"{"_id": "name 5", "kind": "kind 5"}"#,
    r#"{"_id": {"$in": [0, 4, "name 1", "absent", {"a": 3, "b": "3"}]}}"#,
    r#"{"_id": {"$gt": 100, "$lte": 300}}"#,
    r#"{"_id": {"$gte": "name 2", "$lt": "name 5"}, "score": {"$gt": 20}}"#,
    r#"{"_id": {"$lt": 50}}"#,
    r#"{"_id": {"$gt": {"$oid": "000000000000000000000100"}}}"#,
    r#"{"_id": {"$ne": 8}}"#,
    r#"{"_id.a": 3}"#,
    r#"{"$or": [{"_id": 8}, {"_id": "name 9"}, {"_id": 8, "kind": "odd"}]}"#,
    r#"{"$and": [{"_id": {"$gt": 8}}, {"_id": {"$lt": 8}}]}"#,
];

const SORTS: [&str; 6] = [
    r#"{"_id": 1}"#,
    r#"{"_id": -1}"#,
    r#"{"score": 1, "_id": 1}"#,
    r#"{"score": -1, "_id": -1}"#,
    r#"{"kind": 1, "deep.x": -1, "_id": 1}"#,
    r#"{"at": -1, "_id": 1}"#,
];

#[test]
fn filters_sorts_counts_and_distinct_values() {
    let (_db, collection, store) = both();
    for filter in FILTERS {
        let found = lines(collection.find(filter).run().unwrap());
        assert_eq!(sorted(lines(store.find(filter).run().unwrap())), sorted(found.clone()), "{filter}");
        assert_eq!(store.find(filter).count().unwrap(), found.len() as u64, "{filter}");
        for path in ["kind", "score", "tags", "deep.x", "_id", "_id.b"] {
            let values = collection.find(filter).distinct(path).unwrap();
            assert_eq!(store.find(filter).distinct(path).unwrap(), values, "{filter} {path}");
        }
        for sort in SORTS {
            for (skip, limit) in [(0, 0), (3, 20), (700, 5), (0, 1)] {
                for projection in
                    [r#"{}"#, r#"{"score": 1}"#, r#"{"_id": 0, "n": {"$size": {"$ifNull": ["$tags", []]}}}"#]
                {
                    let here = store.find(filter).sort(sort).skip(skip).limit(limit).projection(projection).run();
                    let there = collection.find(filter).sort(sort).skip(skip).limit(limit).projection(projection).run();
                    let case = format!("{filter} {sort} {skip} {limit} {projection}");
                    assert_eq!(lines(here.unwrap()), lines(there.unwrap()), "{case}");
                }
            }
        }
    }
    assert_eq!(
        store.find_one(r#"{"_id": 4}"#).unwrap().unwrap().to_string(),
        collection.get(4).unwrap().unwrap().to_string()
    );
    let natural =
        |direction: i32| lines(store.find("{}").sort(format!(r#"{{"$natural": {direction}}}"#)).run().unwrap());
    assert!(natural(1).iter().eq(natural(-1).iter().rev()));
}

#[test]
fn pipelines() {
    let (_db, collection, store) = both();
    for stages in [
        r#"[{"$count": "n"}]"#,
        r#"[{"$match": {"score": {"$gt": 20}}}, {"$group": {"_id": "$kind", "n": {"$sum": 1}, "score": {"$avg": "$score"}}}, {"$sort": {"_id": 1}}]"#,
        r#"[{"$group": {"_id": {"$year": "$at"}, "ids": {"$max": "$_id"}}}, {"$sort": {"_id": 1}}]"#,
        r#"[{"$unwind": "$tags"}, {"$sortByCount": "$tags"}, {"$sort": {"count": -1, "_id": 1}}]"#,
        r#"[{"$sort": {"score": -1, "_id": 1}}, {"$skip": 5}, {"$limit": 10}, {"$project": {"score": 1}}]"#,
        r#"[{"$setWindowFields": {"partitionBy": "$kind", "sortBy": {"_id": -1}, "output": {"r": {"$documentNumber": {}}}}}, {"$match": {"r": 1}}, {"$sort": {"_id": 1}}]"#,
        r#"[{"$sort": {"_id": 1}}, {"$facet": {"a": [{"$limit": 2}], "b": [{"$match": {"_id": {"$lt": 30}}}, {"$count": "n"}]}}]"#,
        r#"[{"$bucket": {"groupBy": "$score", "boundaries": [0, 10, 50, 100], "default": "other"}}]"#,
        r#"[{"$match": {"_id": {"$gt": 8, "$lt": 99}}}, {"$sort": {"_id": -1}}]"#,
        r#"[{"$documents": [{"a": 1}, {"a": 2}]}, {"$match": {"a": 2}}]"#,
        // Lookups and unions of the store's own collection.
        r#"[{"$match": {"_id": {"$in": [4, 8]}}}, {"$sort": {"_id": 1}}, {"$lookup": {"from": "pets", "localField": "score", "foreignField": "score", "as": "same"}}, {"$project": {"n": {"$size": "$same"}}}]"#,
        r#"[{"$unionWith": "pets"}, {"$count": "n"}]"#,
    ] {
        let there = lines(collection.aggregate(stages).run().unwrap());
        assert_eq!(lines(store.aggregate(stages).run().unwrap()), there, "{stages}");
        assert!(!there.is_empty(), "{stages}");
        assert_eq!(store.aggregate(stages).explain().unwrap().returned, there.len() as u64, "{stages}");
    }
}

#[test]
fn strings_compare_by_a_collation() {
    let (_db, collection, store) = both();
    let english = r#"{"locale": "en", "strength": 2}"#;
    for filter in [r#"{"kind": "ODD"}"#, r#"{"_id": "NAME 5"}"#, r#"{"_id": {"$gte": "NAME 2", "$lt": "name 5"}}"#] {
        let there = collection.find(filter).sort(r#"{"kind": 1, "_id": 1}"#).collation(english).run();
        let here = store.find(filter).sort(r#"{"kind": 1, "_id": 1}"#).collation(english).run();
        let there = lines(there.unwrap());
        assert_eq!(lines(here.unwrap()), there, "{filter}");
        assert!(!there.is_empty(), "{filter}");
    }
    let stages = r#"[{"$match": {"kind": "ODD"}}, {"$count": "n"}]"#;
    let there = lines(collection.aggregate(stages).collation(english).run().unwrap());
    assert_eq!(lines(store.aggregate(stages).collation(english).run().unwrap()), there);
}

#[test]
fn an_id_is_looked_up_and_a_range_of_them_is_scanned() {
    let (_db, _, store) = both();
    let examined = |filter: &str| store.find(filter).explain().unwrap().documents_examined;
    assert_eq!(examined(r#"{"_id": 8}"#), 1);
    assert_eq!(examined(r#"{"_id": {"$in": [8, 12, "absent"]}}"#), 2);
    assert_eq!(examined(r#"{"_id": {"$gte": 8, "$lte": 20}}"#), 4);
    assert_eq!(examined(r#"{"$and": [{"_id": {"$gt": 8}}, {"_id": {"$lt": 8}}]}"#), 0);
    assert_eq!(examined(r#"{"kind": "odd"}"#), u64::from(COUNT));
    let plan = store.find(r#"{"_id": {"$lt": 20}, "score": 5}"#).explain().unwrap();
    assert!(plan.to_string().contains("_id"), "{plan}");
    let run = store.find("{}").sort(r#"{"_id": 1}"#).limit(5).explain().unwrap();
    assert!(run.documents_examined < 10, "{run}");
}

#[test]
fn other_collections_and_writes_are_refused_by_name() {
    let (_db, _, store) = both();
    let refused = |stages: &str| {
        store.aggregate(stages).run().and_then(|mut cursor| cursor.next().transpose()).map(drop).unwrap_err()
    };
    let lookup = r#"{"$lookup": {"from": "people", "localField": "a", "foreignField": "_id", "as": "p"}}"#;
    let inner = r#"{"$lookup": {"from": "pets", "pipeline": [{"$unionWith": "people"}], "as": "p"}}"#;
    let facet = r#"{"$facet": {"all": [{"$lookup": {"from": "people", "pipeline": [], "as": "p"}}]}}"#;
    for stages in [lookup, r#"{"$unionWith": "people"}"#, inner, facet] {
        let error = refused(&format!("[{{\"$match\": {{\"_id\": 8}}}}, {stages}]"));
        assert!(matches!(error, Error::OnlyCollection { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Namespace);
        let text = error.to_string();
        assert!(
            text.contains("/ro is a read-only store") && text.contains("main.pets") && text.contains("main.people"),
            "{text}"
        );
    }
    // The lookup is refused even if no document would be looked up.
    assert!(matches!(refused(&format!("[{{\"$match\": {{\"_id\": -1}}}}, {lookup}]")), Error::OnlyCollection { .. }));
    for stages in [r#"[{"$collStats": {"count": {}}}]"#, r#"[{"$indexStats": {}}]"#] {
        let error = refused(stages);
        assert!(error.to_string().ends_with("is not supported over a read-only store"), "{error}");
    }
    for stages in [r#"[{"$out": "copy"}]"#, r#"[{"$merge": "copy"}]"#] {
        let error = refused(stages);
        assert!(matches!(error, Error::NeverChanges(_)), "{error}");
    }
    let hinted = store.find("{}").hint("score_1").run().map(drop).unwrap_err();
    assert!(hinted.to_string().contains("score_1"), "{hinted}");
    assert!(store.find(r#"{"a": {"$bad": 1}}"#).count().is_err() && store.aggregate(r#"[{"$bad": 1}]"#).run().is_err());
}

#[test]
fn what_exceeds_memory_is_refused_with_mongodbs_code() {
    let env = Env::in_memory(1);
    let mut build = ReadOnly::build("/ro", "texts").env(env.clone()).start().unwrap();
    for n in 0..600 {
        build.add(format!(r#"{{"_id": {n}, "text": "{}"}}"#, format!("{n:05}").repeat(400))).unwrap();
    }
    build.finish().unwrap();
    let store = open(&env, 1 << 20);
    let is_of_memory = |error: &Error| error.code().is_some_and(|(code, _)| code == 292);
    let error = lines_or_error(store.find("{}").sort(r#"{"text": -1}"#).run()).unwrap_err();
    assert!(
        error.to_string().starts_with("the sort needs more than 524288 bytes of memory, and over a read-only"),
        "{error}"
    );
    assert!(is_of_memory(&error), "{:?}", error.code());
    for stages in [
        r#"[{"$project": {"text": 1, "n": {"$add": ["$_id", 1]}}}, {"$sort": {"text": -1}}]"#,
        r#"[{"$group": {"_id": "$text"}}]"#,
    ] {
        let error = lines_or_error(store.aggregate(stages).run()).unwrap_err();
        assert!(is_of_memory(&error), "{error}");
        assert!(error.to_string().contains("over a read-only store"), "{error}");
        let error = lines_or_error(store.aggregate(stages).allow_disk_use(false).run()).unwrap_err();
        assert!(is_of_memory(&error), "{error}");
    }
    // A sort with a small limit, and a sort that fits into memory, are allowed.
    assert_eq!(lines_or_error(store.find("{}").sort(r#"{"text": -1}"#).limit(3).run()).unwrap(), 3);
    let larger = open(&env, 16 << 20);
    assert_eq!(lines_or_error(larger.find("{}").sort(r#"{"text": -1}"#).run()).unwrap(), 600);
    // Stop flags and time limits end a query.
    let stopped = Arc::new(AtomicBool::new(true));
    assert!(matches!(store.find(r#"{"text": 1}"#).stop_when(stopped).count(), Err(Error::Stopped)));
}

fn lines_or_error(cursor: alluvium::Result<alluvium::Cursor>) -> alluvium::Result<usize> {
    cursor?.map(|document| document.map(drop)).collect::<alluvium::Result<Vec<()>>>().map(|all| all.len())
}

#[test]
fn keys_without_documents_have_an_id_and_a_value() {
    let env = Env::in_memory(1);
    let mut build = ReadOnly::build("/ro", "pairs").env(env.clone()).start_key_values().unwrap();
    let mut pairs: Vec<(Vec<u8>, String)> =
        (0..300).map(|n| (format!("key {n}").into_bytes(), format!("v{}", n % 7))).collect();
    pairs.extend((0..40_u8).map(|n| (vec![n, 0xff], "binary".to_owned())));
    for (key, value) in &pairs {
        build.add(key, value.as_bytes()).unwrap();
    }
    build.finish(Vec::new()).unwrap();
    let store = open(&env, 1 << 20);
    let all = lines(store.scan().run().unwrap());
    assert_eq!(all.len(), 340);
    // The same documents in a collection.
    let db = Database::in_memory().unwrap();
    let collection = db.collection("pairs");
    collection.insert_many(all.iter().map(String::as_str)).unwrap();
    for filter in [
        "{}",
        r#"{"value": "v3"}"#,
        r#"{"_id": "key 7"}"#,
        r#"{"_id": {"$in": ["key 7", "key 8", 9, null]}}"#,
        r#"{"_id": {"$gte": "key 2", "$lt": "key 3"}}"#,
        r#"{"_id": {"$gt": "key 2"}, "value": {"$ne": "v1"}}"#,
        r#"{"_id": {"$type": "binData"}}"#,
        r#"{"_id": {"$binary": {"base64": "Af8=", "subType": "00"}}}"#,
        r#"{"_id": {"$binary": {"base64": "a2V5IDc=", "subType": "00"}}}"#,
        r#"{"$or": [{"_id": "key 1"}, {"value": "v2"}]}"#,
    ] {
        let there = sorted(lines(collection.find(filter).run().unwrap()));
        assert_eq!(sorted(lines(store.find(filter).run().unwrap())), there, "{filter}");
        for sort in [r#"{"_id": 1}"#, r#"{"_id": -1}"#, r#"{"value": 1, "_id": -1}"#] {
            for (skip, limit) in [(0, 0), (5, 10)] {
                let here = lines(store.find(filter).sort(sort).skip(skip).limit(limit).run().unwrap());
                let there = lines(collection.find(filter).sort(sort).skip(skip).limit(limit).run().unwrap());
                assert_eq!(here, there, "{filter} {sort} {skip} {limit}");
            }
        }
        assert_eq!(store.find(filter).count().unwrap(), there.len() as u64, "{filter}");
    }
    assert_eq!(store.find(r#"{"_id": "key 7"}"#).explain().unwrap().documents_examined, 1);
    let stages = r#"[{"$group": {"_id": "$value", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]"#;
    assert_eq!(lines(store.aggregate(stages).run().unwrap()), lines(collection.aggregate(stages).run().unwrap()));
}

#[test]
fn damage_is_named() {
    let (_db, _, store) = both();
    assert!(store.verify().unwrap().is_empty());
    let env = Env::in_memory(1);
    let mut build = ReadOnly::build("/ro", "pets").env(env.clone()).start().unwrap();
    for n in 0..COUNT {
        build.add(document(n)).unwrap();
    }
    build.finish().unwrap();
    let path = Path::new("/ro/data.sst");
    let file = env.fs.open(path, alluvium_env::OpenMode::ReadWrite).unwrap();
    file.write_at(b"damage", 2000).unwrap();
    let store = open(&env, 1 << 20);
    let error = store.find(r#"{"kind": "odd"}"#).count().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let error = lines_or_error(store.aggregate(r#"[{"$sortByCount": "$kind"}]"#).run()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}
