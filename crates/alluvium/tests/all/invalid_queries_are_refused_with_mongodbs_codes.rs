//! Invalid queries and writes are refused with MongoDB's codes, and change nothing.

use alluvium::{Collection, Database, Error, ErrorKind, Map, Value};
use alluvium_env::{Clock, Env};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn open(env: Env) -> (Database, Collection) {
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let c = db.create_collection("c").run().unwrap();
    c.create_index(r#"{"n": 1}"#).options(r#"{"sparse": true, "name": "sparse"}"#).run().unwrap();
    c.insert_many((0..20).map(|n| format!(r#"{{"_id": {n}, "n": {n}, "t": [{n}], "u": [1]}}"#))).unwrap();
    (db, c)
}

fn code(error: Error) -> i32 {
    error.code().unwrap_or_else(|| panic!("{error} has no code")).0
}

#[test]
fn queries() {
    let (db, c) = open(Env::in_memory(1));
    let run = |find: alluvium::Find| match find.run() {
        Err(error) => code(error),
        Ok(mut cursor) => code(cursor.find_map(Result::err).expect("an error")),
    };
    assert_eq!(run(c.find(r#"{"n": {"$wrong": 1}}"#)), 2);
    assert_eq!(run(c.find(r#"{"$where": "true"}"#)), 238);
    assert_eq!(run(c.find("{]")), 9);
    assert_eq!(run(c.find("{}").sort(r#"{"n": 2}"#)), 15975);
    // As in MongoDB, the name of a collection has no zero characters, even if a stage only reads the collection.
    for stage in [
        r#"{"$lookup": {"from": "a\u0000b", "localField": "n", "foreignField": "n", "as": "x"}}"#,
        r#"{"$unionWith": "a\u0000b"}"#,
        r#"{"$unionWith": {"coll": "a\u0000b"}}"#,
        r#"{"$graphLookup": {"from": "a\u0000b", "startWith": 1, "connectFromField": "n", "connectToField": "n", "as": "x"}}"#,
    ] {
        assert_eq!(code(c.aggregate(format!("[{stage}]")).run().err().expect("an error")), 73, "{stage}");
    }
    assert_eq!(run(c.find("{}").sort(r#"{"t": 1, "u": 1}"#)), 2);
    assert_eq!(run(c.find("{}").projection(r#"{"n": 1, "t": 0}"#)), 31254);
    assert_eq!(run(c.find("{}").hint("nobody")), 2);
    assert_eq!(run(c.find("{}").hint(r#"{"m": 1}"#)), 2);
    assert_eq!(run(c.find("{}").hint(r#"{"$natural": 2}"#)), 2);
    assert_eq!(run(c.find("{}").hint(r#"{"$natural": 1, "n": 1}"#)), 2);
    assert_eq!(run(c.find("{}").sort(r#"{"$natural": 2}"#)), 2);
    assert_eq!(run(c.find("{}").sort(r#"{"$natural": 1, "n": 1}"#)), 2);
    assert_eq!(run(c.find("{}").sort(r#"{"$natural": 1}"#).hint("sparse")), 2);
    assert_eq!(run(c.find("{}").sort(r#"{"$natural": 1}"#).hint(r#"{"$natural": -1}"#)), 2);
    assert_eq!(run(c.find(r#"{"$or": [{"t": 1}, {"n": 1}]}"#).projection(r#"{"t.$": 1}"#)), 51246);
    c.put("longer", r#"{"t": [1], "v": [8, 9]}"#).unwrap();
    assert_eq!(run(c.find(r#"{"t": 1, "v": 9}"#).projection(r#"{"t.$": 1}"#)), 51247);
    c.delete("longer").unwrap();
    assert_eq!(run(c.find("{}").projection(r#"{"$": 1}"#)), 16410);
    assert_eq!(run(c.find("{}").projection(r#"{"t": {"$slice": [1, 0]}}"#)), 28724);
    assert_eq!(run(c.find("{}").projection(r#"{"t": {"$slice": [1, 2, 3]}}"#)), 28724);
    assert_eq!(run(c.find("{}").projection(r#"{"t": {"$slice": "x"}}"#)), 28667);
    assert_eq!(run(c.find("{}").projection(r#"{"t": {"$dateToString": {"date": "$n"}}}"#)), 16006);
    assert_eq!(run(c.find("{}").projection(r#"{"t": {"$add": ["$n", "x"]}}"#)), 14);
    assert_eq!(run(c.find("{}").projection(r#"{"t": {"$unheard": [1, 2]}}"#)), 31325);
    assert_eq!(run(c.find(r#"{"n": {"$regex": "x", "$options": "q"}}"#)), 51108);
    let insert = |document: &str| code(c.insert_one(document).map(|_| ()).unwrap_err());
    assert_eq!(insert(r#"{"_id": {"$x": 1}}"#), 52);
    assert_eq!(insert(r#"{"_id": [1]}"#), 53);
    assert_eq!(insert(r#"{"_id": {"$regularExpression": {"pattern": "x", "options": ""}}}"#), 53);
    assert_eq!(insert(r#"{"_id": {"$undefined": true}}"#), 53);
    assert_eq!(insert(&format!(r#"{{"text": "{}"}}"#, "x".repeat(16 << 20))), 10334);
    assert_eq!(code(c.find("{}").distinct("a\0b").unwrap_err()), 31032);
    assert_eq!(db.collection("nobody").find("{}").count().unwrap(), 0);
    assert_eq!(code(db.drop_collection("nobody").unwrap_err()), 26);
    assert_eq!(code(c.find("{}").distinct("").unwrap_err()), 2);
    assert_eq!(code(c.find(r#"{"n": {"$in": 1}}"#).count().unwrap_err()), 2);
}

#[test]
fn writes() {
    let (_db, c) = open(Env::in_memory(1));
    let all = || c.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect::<Vec<_>>();
    let before = all();
    let update = |update: &str| code(c.update_many("{}", update).run().unwrap_err());
    assert_eq!(update(r#"{"n": 1}"#), 9);
    assert_eq!(update(r#"{"$wrong": {"n": 1}}"#), 9);
    assert_eq!(update(r#"{"$set": {"_id": 100}}"#), 66);
    assert_eq!(update(r#"{"$inc": {"t": 1}}"#), 14);
    assert_eq!(update(r#"{"$set": {"n": 1, "n.a": 1}}"#), 40);
    assert_eq!(code(c.update_one(r#"{"n": {"$wrong": 1}}"#, r#"{"$set": {"n": 0}}"#).run().unwrap_err()), 2);
    assert_eq!(code(c.update_one("{}", r#"{"$set": {"n": 0}}"#).hint("nobody").run().unwrap_err()), 2);
    let sorted = || c.update_many("{}", r#"{"$set": {"n": 0}}"#).sort(r#"{"n": 1}"#);
    assert_eq!(code(sorted().run().unwrap_err()), 9);
    assert_eq!(code(sorted().explain().unwrap_err()), 9);
    assert_eq!(code(c.replace_one("{}", r#"{"$set": {"n": 0}}"#).run().unwrap_err()), 9);
    assert_eq!(code(c.replace_one(r#"{"n": 3}"#, r#"{"_id": 4}"#).run().unwrap_err()), 66);
    assert_eq!(code(c.delete_many(r#"{"$nor": 1}"#).run().unwrap_err()), 2);
    let modify = c.find_one_and_update("{}", r#"{"$set": {"n": 0}}"#).projection(r#"{"n": {"$wrong": 1}}"#).run();
    assert!(modify.is_err());
    assert_eq!(all(), before);
}

#[test]
fn natural_order_is_a_sort() {
    let (_db, c) = open(Env::in_memory(1));
    let ids = |find: alluvium::Find| -> Vec<i64> {
        let id = |document: alluvium::Result<alluvium::Document>| document.unwrap().id().as_i64().unwrap();
        find.run().unwrap().map(id).collect()
    };
    let forward = ids(c.find("{}").sort(r#"{"$natural": 1}"#));
    assert_eq!(forward, ids(c.find("{}").hint(r#"{"$natural": 1}"#)));
    let backward = ids(c.find(r#"{"n": {"$gt": 3}}"#).sort(r#"{"$natural": -1}"#).limit(3));
    assert_eq!(backward, forward.iter().rev().filter(|n| **n > 3).take(3).copied().collect::<Vec<_>>());
    let last = c.find_one_and_delete("{}").sort(r#"{"$natural": -1.0}"#).run().unwrap().unwrap();
    assert_eq!(last.id().as_i64(), forward.last().copied());
}

#[test]
fn a_hint_of_an_index_that_lacks_documents_is_obeyed() {
    let (_db, c) = open(Env::in_memory(1));
    c.create_index(r#"{"t": 1}"#).options(r#"{"partialFilterExpression": {"n": {"$gte": 15}}}"#).run().unwrap();
    c.put("none", r#"{"t": [1]}"#).unwrap();
    let count = |filter: &str, hint: &str| c.find(filter).hint(hint).count().unwrap();
    assert_eq!((count("{}", "sparse"), count("{}", "t_1"), c.find("{}").count().unwrap()), (20, 5, 21));
    assert_eq!((count(r#"{"n": {"$lt": 17}}"#, "t_1"), count(r#"{"n": null}"#, "sparse")), (2, 0));
    // Without a hint, no document is missed, even if a partial index served an earlier query of the
    // same form.
    for n in [16, 2] {
        let found = c.find(format!(r#"{{"n": {{"$gte": {n}}}, "t": {{"$gte": 0}}}}"#));
        assert_eq!(found.run().unwrap().count(), 20 - n);
    }
    let deleted = c.delete_many("{}").hint("t_1").run().unwrap();
    assert_eq!((deleted.deleted_count, c.count().unwrap()), (5, 16));
}

#[test]
fn a_sort_without_files_ends_where_memory_does_and_with_files_goes_on() {
    let env = Env::in_memory(1);
    let tuning = alluvium_store::Tuning { gather_bytes: Some(2 << 20), ..alluvium_store::Tuning::default() };
    let options = alluvium_store::Options { tuning, ..alluvium_store::Options::default() };
    let open = || Database::builder().env(env.clone()).options(options.clone()).memory(16 << 20).partitions(2);
    let db = open().open(Path::new("db")).unwrap();
    let c = db.collection("c");
    // The documents have about 6 MB; a sort may hold 2 MB.
    for batch in 0..30 {
        let text = "x".repeat(1000);
        let n = |i: i32| (batch * 200 + i).wrapping_mul(7919) % 6000;
        c.insert_many((0..200).map(|i| format!(r#"{{"_id": {}, "n": {}, "text": "{text}"}}"#, batch * 200 + i, n(i))))
            .unwrap();
    }
    let sorted = || c.find("{}").sort(r#"{"n": -1}"#);
    let error = sorted().allow_disk_use(false).run().unwrap().find_map(Result::err).expect("too large");
    assert_eq!(code(error), 292);
    let few: Vec<_> = sorted().allow_disk_use(false).limit(5).run().unwrap().map(Result::unwrap).collect();
    let mut cursor = sorted().run().unwrap();
    let first = cursor.next().unwrap().unwrap();
    let folders = || env.fs.list(Path::new("db")).unwrap().into_iter().filter(|e| e.name.starts_with("sort-")).count();
    assert_eq!(folders(), 1, "the rest lies in files");
    let rest: Vec<_> = cursor.by_ref().map(Result::unwrap).collect();
    drop(cursor);
    assert_eq!(folders(), 0);
    let all: Vec<_> = std::iter::once(first).chain(rest).collect();
    assert_eq!(all[..5], few[..]);
    let n = |document: &alluvium::Document| document.to_map().unwrap().get("n").unwrap().as_i64().unwrap();
    assert_eq!(all.iter().map(n).collect::<Vec<_>>(), (0..6000).rev().collect::<Vec<_>>());
    // With default settings a sort holds 100 MB, although an eighth of the budget is 2 MB.
    drop((c, db));
    let db = Database::builder().env(env).memory(16 << 20).partitions(2).open(Path::new("db")).unwrap();
    let c = db.collection("c");
    let again: Vec<_> =
        c.find("{}").sort(r#"{"n": -1}"#).allow_disk_use(false).run().unwrap().map(Result::unwrap).collect();
    assert_eq!(again, all);
}

/// A clock that advances by a second on every read.
struct Hasty(AtomicU64);

impl Clock for Hasty {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::SeqCst))
    }

    fn unix_millis(&self) -> i64 {
        0
    }
}

#[test]
fn a_limit_of_zero_is_none() {
    let (_db, c) = open(Env::in_memory(1));
    assert_eq!(c.find("{}").limit(0).run().unwrap().count(), 20);
    assert_eq!(c.find("{}").limit(3).limit(0).count().unwrap(), 20);
    assert_eq!(c.find("{}").skip(5).limit(0).count().unwrap(), 15);
    assert_eq!(c.find("{}").limit(0).explain().unwrap().returned, 20);
    assert_eq!(c.find("{}").limit(0).explain_count().unwrap().returned, 20);
    assert_eq!(c.find("{}").limit(0).sort(r#"{"n": -1}"#).run().unwrap().count(), 20);
    assert_eq!(c.find("{}").limit(0).distinct("n").unwrap(), c.find("{}").distinct("n").unwrap());
    assert!(c.find("{}").limit(0).first().unwrap().is_some());
    assert_eq!(c.scan().limit(3).limit(0).run().unwrap().count(), 20);
}

/// Patterns with look-around and back references are matched by backtracking, whose steps are
/// limited.
#[test]
fn a_pattern_that_takes_too_many_steps_ends_by_name() {
    let (_db, c) = open(Env::in_memory(1));
    c.create_index(r#"{"s": 1}"#).run().unwrap();
    for (id, text) in [("a", "abab"), ("b", "abc"), ("c", "xabab"), ("d", "ab"), ("e", "")] {
        c.put(id, format!(r#"{{"s": "{text}", "l": ["{text}", "x"]}}"#).as_str()).unwrap();
    }
    let found = |filter: &str| {
        let mut ids: Vec<String> = c.find(filter).run().unwrap().map(|d| d.unwrap().id().to_string()).collect();
        ids.sort();
        ids.concat().replace('"', "")
    };
    // The bounds of the index scan follow from the prefix of the pattern alone.
    let find = |pattern: &str| found(&format!(r#"{{"s": {{"$regex": "{pattern}"}}}}"#));
    assert_eq!(find(r"^ab(?!c)"), "ad");
    assert_eq!(find(r"^(?=ab)(?!abc)"), "ad");
    assert_eq!(find(r"^(ab)\\1$"), "a");
    assert_eq!(find(r"(?<!x)ab(?!.)|^$"), "acde");
    assert_eq!(found(r#"{"s": {"$not": {"$regex": "^ab(?!c)"}, "$exists": true}}"#), "bce");
    let text = "a".repeat(200);
    let endless = r#"{"$regex": "^(?:(a+)\\1?)+$"}"#;
    c.put("long", format!(r#"{{"s": "{text}b", "l": ["{text}b"]}}"#).as_str()).unwrap();
    let error = c.find(format!(r#"{{"s": {endless}}}"#).as_str()).run().unwrap().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("^(?:(a+)\\1?)+$"), "{error}");
    assert_eq!(code(error), 51156);
    assert_eq!(code(c.find(format!(r#"{{"s": {endless}}}"#).as_str()).count().unwrap_err()), 51156);
    assert_eq!(code(c.delete_many(format!(r#"{{"s": {endless}}}"#).as_str()).run().unwrap_err()), 51156);
    let update = |update: &str| c.update_many(r#"{"_id": "long"}"#, update);
    assert_eq!(code(update(&format!(r#"{{"$pull": {{"l": {endless}}}}}"#)).run().unwrap_err()), 51156);
    let set = update(r#"{"$set": {"l.$[x]": 1}}"#).array_filters([format!(r#"{{"x": {endless}}}"#)]);
    assert_eq!(code(set.run().unwrap_err()), 51156);
    let project = c.find("{}").projection(format!(r#"{{"l": {{"$elemMatch": {endless}}}}}"#).as_str()).run();
    assert_eq!(code(project.unwrap().find_map(Result::err).unwrap()), 51156);
    assert_eq!(
        c.get("long").unwrap().unwrap().to_string(),
        format!(r#"{{"_id":"long","s":"{text}b","l":["{text}b"]}}"#)
    );
}

#[test]
fn what_takes_too_long_ends_by_name() {
    let mut env = Env::in_memory(1);
    env.clock = Arc::new(Hasty(AtomicU64::new(0)));
    let (_db, c) = open(env);
    let brief = Duration::from_millis(5);
    let error = c.find("{}").max_time(brief).run().unwrap().find_map(Result::err).expect("it takes longer");
    assert_eq!((error.kind(), code(error)), (ErrorKind::TimedOut, 50));
    assert_eq!(c.find("{}").max_time(Duration::from_secs(3600)).count().unwrap(), 20);
    // Zero means no limit.
    assert_eq!(c.find("{}").max_time(brief).max_time(Duration::ZERO).run().unwrap().flatten().count(), 20);
    let none = c.update_many(r#"{"n": {"$lt": 0}}"#, r#"{"$set": {"n": 0}}"#).max_time(Duration::ZERO).run();
    assert_eq!(none.unwrap().matched_count, 0);
    assert_eq!(c.delete_many(r#"{"n": {"$lt": 0}}"#).max_time(Duration::ZERO).run().unwrap().deleted_count, 0);
    let update = c.update_many("{}", r#"{"$set": {"n": 0}}"#).max_time(brief).run();
    assert_eq!(code(update.unwrap_err()), 50);
    assert_eq!(c.find(r#"{"n": 0}"#).count().unwrap(), 1, "nothing has changed");
}

#[test]
fn an_explanation_reports_the_execution() {
    let (_db, c) = open(Env::in_memory(1));
    c.put(3, r#"{"n": 100}"#).unwrap();
    let explained = c.find(r#"{"n": {"$lt": 5}}"#).hint("sparse").explain().unwrap();
    // The entry of the previous document is stale.
    assert_eq!((explained.returned, explained.keys_examined, explained.entries_stale), (4, 5, 1));
    let map: Map = explained.to_map();
    let stats = map.get("executionStats").and_then(Value::as_map).unwrap();
    assert_eq!(stats.get("nReturned").and_then(Value::as_i64), Some(4));
    assert_eq!(stats.get("totalKeysExamined").and_then(Value::as_i64), Some(5));
    let plan = map.get("queryPlanner").and_then(Value::as_map).unwrap();
    let winning = plan.get("winningPlan").and_then(Value::as_map).unwrap();
    assert_eq!(winning.get("stage"), Some(&Value::from("FETCH")));
    let text = explained.to_string();
    assert!(text.contains("index sparse forward") && text.contains("1 stale"), "{text}");
    let deleted = c.delete_many(r#"{"n": {"$lt": 5}}"#).explain().unwrap();
    assert_eq!((deleted.returned, c.count().unwrap()), (4, 20));
}

/// The stages of a plan from the top, with the number of documents that each stage returned.
fn stages(of: &Map) -> Vec<(String, i64)> {
    let stage = of.get("stage").and_then(|stage| stage.as_str()).unwrap().to_owned();
    let mut found = vec![(stage, of.get("nReturned").and_then(Value::as_i64).unwrap())];
    let below =
        of.get("inputStage").into_iter().chain(of.get("inputStages").and_then(Value::as_array).into_iter().flatten());
    below.filter_map(Value::as_map).for_each(|below| found.extend(stages(below)));
    found
}

#[test]
fn an_explanation_counts_what_each_step_hands_on() {
    let db = Database::builder().env(Env::in_memory(1)).partitions(2).open("db").unwrap();
    let c = db.create_collection("c").run().unwrap();
    c.create_index(r#"{"a": 1}"#).run().unwrap();
    c.create_index(r#"{"b": 1}"#).run().unwrap();
    // 30 documents match both a and b; 10 of these also match c.
    let text = |n: i32| format!(r#"{{"_id": {n}, "a": {}, "b": {}, "c": {}}}"#, n % 60, n % 77, n / 4620 % 3);
    c.insert_many((0..60 * 77 * 30).map(text)).unwrap();
    db.flush().unwrap();
    let stages_of = |filter: &str| {
        let explained = c.find(filter).explain().unwrap();
        let map = explained.to_map();
        let stats = map.get("executionStats").and_then(Value::as_map).unwrap();
        stages(stats.get("executionStages").and_then(Value::as_map).unwrap())
    };
    let stage = |name: &str, returned| (name.to_owned(), returned);
    assert_eq!(stages_of(r#"{"a": 7, "c": 1}"#), [stage("FETCH", 770), stage("IXSCAN", 2310)]);
    assert_eq!(
        stages_of(r#"{"a": 7, "b": 9, "c": 2}"#),
        [stage("FETCH", 10), stage("AND_HASH", 30), stage("IXSCAN", 1800), stage("IXSCAN", 2310)]
    );
}

#[test]
fn indexes_that_are_nearly_the_same() {
    let (_db, c) = open(Env::in_memory(1));
    let create = |keys: &str, options: &str| c.create_index(keys).options(options).run().map_err(code);
    // A sparse index on {"n": 1} exists under the name "sparse".
    let over_n = r#"{"n": 1}"#;
    for (keys, options, refused) in [
        (over_n, r#"{"sparse": true, "name": "sparse"}"#, None),
        // The same keys, for the same documents, with another name or option.
        (over_n, r#"{"sparse": true}"#, Some(85)),
        (over_n, r#"{"sparse": true, "name": "sparse", "expireAfterSeconds": 5}"#, Some(85)),
        // The same name with other keys.
        (over_n, r#"{"name": "sparse"}"#, Some(86)),
        (over_n, r#"{"sparse": true, "unique": true, "name": "sparse"}"#, Some(86)),
        (r#"{"m": 1}"#, r#"{"sparse": true, "name": "sparse"}"#, Some(86)),
        // Other indexes on the same keys are allowed: not sparse, unique, partial, reversed.
        (over_n, "{}", None),
        (over_n, r#"{"sparse": true, "unique": true, "name": "both"}"#, None),
        (over_n, r#"{"unique": true, "name": "unique"}"#, None),
        (over_n, r#"{"partialFilterExpression": {"n": {"$gt": 3}}, "name": "partial"}"#, None),
        (r#"{"n": -1}"#, "{}", None),
        (over_n, r#"{"partialFilterExpression": {"n": {"$gt": 3}}, "name": "again"}"#, Some(85)),
        (over_n, r#"{"unique": true}"#, Some(86)),
        // The index on _id exists with its own name.
        (r#"{"_id": 1}"#, r#"{"name": "mine"}"#, None),
        (r#"{"_id": 1}"#, r#"{"sparse": true}"#, Some(197)),
        (r#"{"_id": -1}"#, "{}", Some(2)),
        (r#"{"x": 1}"#, r#"{"Sparse": true}"#, Some(197)),
    ] {
        assert_eq!(create(keys, options).err(), refused, "{keys} {options}");
    }
    let names: Vec<String> = c.indexes().unwrap().iter().map(|index| index.name.clone()).collect();
    assert_eq!(names, ["_id_", "sparse", "n_1", "both", "unique", "partial", "n_-1"]);
}

#[test]
fn an_index_is_dropped_by_its_keys_if_it_is_the_only_one_with_them() {
    let (_db, c) = open(Env::in_memory(1));
    c.create_index(r#"{"n": 1}"#).run().unwrap();
    c.create_index(r#"{"b": 1, "a": -1}"#).run().unwrap();
    let error = c.drop_index(r#"{"n": 1}"#).unwrap_err();
    assert!(error.to_string().contains("name one of sparse, n_1"), "{error}");
    assert_eq!(error.code(), Some((181, "AmbiguousIndexKeyPattern")));
    assert_eq!(code(c.drop_index(r#"{"a": -1, "b": 1}"#).unwrap_err()), 27);
    assert_eq!(code(c.drop_index(r#"{"_id": 1}"#).unwrap_err()), 72);
    assert_eq!(code(c.drop_index("{bad").unwrap_err()), 9);
    c.drop_index(r#"{"b": 1.0, "a": -1}"#).unwrap();
    c.drop_index("sparse").unwrap();
    c.drop_index(alluvium::Map::from([("n", 1)])).unwrap();
    // Any string is a name, whatever its first character.
    c.create_index(r#"{"x": 1}"#).name("{x").run().unwrap();
    c.drop_index("{x").unwrap();
    assert_eq!(c.indexes().unwrap().len(), 1);
}

#[test]
fn a_wait_for_an_index_that_cannot_be_built_returns_the_reason() {
    let (_db, c) = open(Env::in_memory(1));
    let builds = [(); 2].map(|()| c.create_index(r#"{"t": 1, "u": 1}"#).start().unwrap());
    for build in builds {
        assert_eq!(code(build.run().unwrap_err()), 171);
    }
    assert_eq!(code(c.drop_index("t_1_u_1").unwrap_err()), 27);
}

/// The error of an expression names the document.
#[test]
fn errors_of_expressions_name_the_document() {
    let db = Database::in_memory().unwrap();
    let c = db.collection("c");
    c.insert_many([r#"{"_id": "x", "a": 1}"#, r#"{"_id": "y", "a": "text"}"#]).unwrap();
    let wrong = "$abs only supports numeric types, not string";
    for stages in [
        r#"[{"$project": {"r": {"$abs": "$a"}}}]"#,
        r#"[{"$set": {"r": {"$abs": "$a"}}}]"#,
        r#"[{"$replaceWith": {"r": {"$abs": "$a"}}}]"#,
        r#"[{"$match": {"$expr": {"$abs": "$a"}}}]"#,
        r#"[{"$limit": 5}, {"$match": {"$expr": {"$abs": "$a"}}}]"#,
        r#"[{"$group": {"_id": {"$abs": "$a"}}}]"#,
        r#"[{"$match": {"$expr": {"$abs": "$a"}}}, {"$group": {"_id": null}}]"#,
        r#"[{"$group": {"_id": null, "r": {"$push": {"$abs": "$a"}}}}]"#,
    ] {
        let run = || c.aggregate(stages).run()?.collect::<Result<Vec<_>, _>>();
        let message = run().unwrap_err().to_string();
        assert_eq!(message, format!("document \"y\": {wrong}"), "{stages}");
    }
    let of_find = c.find(r#"{"$expr": {"$abs": "$a"}}"#).count().unwrap_err();
    assert_eq!(of_find.to_string(), format!("document \"y\": {wrong}"));
    let projected = c.find("{}").projection(r#"{"r": {"$abs": "$a"}}"#).run().unwrap().collect::<Result<Vec<_>, _>>();
    assert_eq!(projected.unwrap_err().to_string(), format!("document \"y\": {wrong}"));
}
