//! The memory of the stages of a pipeline is bounded: a stage continues in files if it can, or ends with MongoDB's
//! error 292. The groups are in the order of their first documents. The number of threads changes neither the groups
//! nor their order.

use alluvium::{Database, Error, Map, Result};
use alluvium_env::Env;
use alluvium_store::{Options, Tuning};
use std::path::Path;

const DOCUMENTS: i64 = 6000;
const GROUPS: i64 = 3000;

/// The key of a document's group. The order of the keys differs from the order of the first documents of the groups.
fn group(n: i64) -> i64 {
    n * 1301 % GROUPS
}

/// A database of four partitions, with a collection `c` of [`DOCUMENTS`] documents, two in each group. Stages may
/// gather `gather_bytes` in memory.
fn database(gather_bytes: usize) -> Database {
    let tuning = Tuning { gather_bytes: Some(gather_bytes), ..Tuning::default() };
    let options = Options { tuning, partitions: Some(4), background: false, ..Options::default() };
    let db = Database::builder().env(Env::in_memory(1)).options(options).open(Path::new("db")).unwrap();
    let numbers: Vec<i64> = (0..DOCUMENTS).collect();
    for some in numbers.chunks(1000) {
        let document = |n: &i64| format!(r#"{{"_id":{n},"group":{},"n":{n},"x":{}.1}}"#, group(*n), n % 7);
        db.collection("c").insert_many(some.iter().map(document)).unwrap();
    }
    db
}

fn run(db: &Database, stages: &str, files: bool) -> Result<Vec<Map>> {
    let documents = db.collection("c").aggregate(stages).allow_disk_use(files).run()?;
    documents.map(|document| Ok(document?.to_map().unwrap())).collect()
}

fn code(result: Result<Vec<Map>>) -> Option<i32> {
    result.as_ref().err().and_then(Error::code).map(|(code, _)| code)
}

const GROUP: &str = r#"[{"$group":{"_id":"$group","count":{"$sum":1},"sum":{"$sum":"$n"},"average":{"$avg":"$x"}}}]"#;

#[test]
fn groups_are_the_same_in_memory_and_in_files() {
    let whole = |groups: Vec<Map>| {
        let sum = |n: i64| n + n + GROUPS;
        assert_eq!(groups.len() as i64, GROUPS);
        for (n, group) in groups.iter().enumerate() {
            let n = n as i64;
            let number = |name| group.get(name).and_then(alluvium::Value::as_i64);
            assert_eq!(
                (number("_id"), number("count"), number("sum")),
                (Some(self::group(n)), Some(2), Some(sum(n))),
                "{group:?}"
            );
        }
        groups
    };
    let in_memory = whole(run(&database(100 << 20), GROUP, true).unwrap());
    for gather_bytes in [1, 10_000, 300_000] {
        assert_eq!(whole(run(&database(gather_bytes), GROUP, true).unwrap()), in_memory, "{gather_bytes}");
    }
}

#[test]
fn groups_without_files_may_take_all_memory_of_a_stage() {
    let fits = |bytes: usize| run(&database(bytes), GROUP, false).is_ok();
    let mut bytes = 1 << 16;
    while !fits(bytes) {
        bytes += 1 << 16;
        assert!(bytes < 10 << 20);
    }
    // A pipeline on several threads needs the same memory as a pipeline on a single thread.
    let single = GROUP.replace(r#""count""#, r#""first":{"$first":{"$literal":1}},"count""#);
    assert!(run(&database(2 * bytes), &single, false).is_ok());
    assert_eq!(code(run(&database(bytes / 2), GROUP, false)), Some(292));
    assert_eq!(code(run(&database(bytes / 2), &single, false)), Some(292));
}

#[test]
fn what_cannot_continue_in_files_says_so() {
    let small = database(40);
    for stage in [
        r#"{"$bucketAuto":{"groupBy":"$n","buckets":1,"output":{"all":{"$push":"$$ROOT"}}}}"#,
        r#"{"$group":{"_id":null,"all":{"$push":"$$ROOT"}}}"#,
        r#"{"$graphLookup":{"from":"c","startWith":{"$range":[0,3000]},"connectFromField":"none","connectToField":"group","as":"all"}}"#,
        r#"{"$setWindowFields":{"output":{"all":{"$push":"$n"},"more":{"$push":"$n"},"most":{"$push":"$n"}}}}"#,
    ] {
        let stages = format!(r#"[{stage},{{"$count":"n"}}]"#);
        assert_eq!(code(run(&small, &stages, true)), Some(292), "{stage}");
    }
}

#[test]
fn automatic_buckets_continue_in_files() {
    for stage in [
        r#"{"groupBy":"$x","buckets":4}"#,
        r#"{"groupBy":"$group","buckets":7,"output":{"sum":{"$sum":"$n"},"least":{"$min":"$n"},"most":{"$max":"$x"}}}"#,
        r#"{"groupBy":{"$mod":["$n",100]},"buckets":5,"granularity":"R5","output":{"average":{"$avg":"$n"}}}"#,
        r#"{"groupBy":"$n","buckets":3,"granularity":"POWERSOF2"}"#,
        r#"{"groupBy":{"$cond":[{"$gt":["$n",3000]},{"$toString":"$n"},null]},"buckets":3}"#,
    ] {
        let stages = format!(r#"[{{"$bucketAuto":{stage}}}]"#);
        let in_memory = run(&database(100 << 20), &stages, true).unwrap();
        assert!(in_memory.len() > 1, "{in_memory:?}");
        assert_eq!(run(&database(40), &stages, true).unwrap(), in_memory, "{stage}");
        assert_eq!(code(run(&database(40), &stages, false)), Some(292), "{stage}");
    }
    // Accumulators that keep values get them in the order of the documents.
    let kept = r#"[{"$bucketAuto":{"groupBy":"$x","buckets":30,"output":{"all":{"$push":"$n"},"top":{"$topN":{"n":5,
        "sortBy":{"group":-1},"output":"$n"}},"some":{"$firstN":{"n":{"$toInt":{"$add":["$max",1]}},"input":"$n"}}}}}]"#;
    let in_memory = run(&database(100 << 20), kept, true).unwrap();
    assert_eq!(in_memory.len(), 7);
    assert_eq!(run(&database(300_000), kept, true).unwrap(), in_memory);
    let explained = database(300_000).collection("c").aggregate(kept).explain().unwrap();
    assert!(explained.stages.last().is_some_and(|stage| stage.spilled));
}

#[test]
fn sequences_continue_in_files() {
    for bounds in [r#""full""#, "[-5,20]", r#""partition""#] {
        let range = format!(r#""range":{{"step":2,"bounds":{bounds}}}"#);
        let of = |gather_bytes: usize, files: bool| {
            let stages = format!(
                r#"[{{"$match":{{"n":{{"$not":{{"$mod":[5,0]}}}}}}}},{{"$limit":4000}},{{"$sort":{{"n":-1}}}},{{"$set":{{"group":{{"$mod":["$n",3]}}}}}},
                    {{"$densify":{{"field":"n","partitionByFields":["group"],{range}}}}},{{"$project":{{"_id":0,"x":0}}}}]"#
            );
            run(&database(gather_bytes), &stages, files)
        };
        let in_memory = of(100 << 20, true).unwrap();
        assert!(in_memory.len() > 4000, "{bounds}");
        let number = |map: &Map, name| map.get(name).and_then(alluvium::Value::as_i64);
        assert!(in_memory.is_sorted_by_key(|map| (number(map, "group"), number(map, "n"))), "{bounds}");
        assert_eq!(of(40, true).unwrap(), in_memory, "{bounds}");
        assert_eq!(code(of(40, false)), Some(292));
    }
}

/// Window functions over one partition, two partitions and many partitions of documents. No file remains.
#[test]
fn partitions_continue_in_files() {
    let outputs = r#""sum":{"$sum":"$n","window":{"documents":["unbounded","current"]}},"before":{"$shift":{"output":"$n","by":-1}},
        "near":{"$avg":"$n","window":{"range":[-5,5]}},"share":{"$max":"$n"},"filled":{"$linearFill":"$some"}"#;
    let some = r#"{"$set":{"some":{"$cond":[{"$eq":[{"$mod":["$n",40]},0]},"$n",null]}}}"#;
    for partition in ["null", r#"{"$lt":["$n",100]}"#, r#"{"$mod":["$n",50]}"#] {
        for stage in [
            format!(
                r#"{{"$setWindowFields":{{"partitionBy":{partition},"sortBy":{{"n":1}},"output":{{{outputs}}}}}}}"#
            ),
            r#"{"$fill":{"sortBy":{"n":1},"output":{"some":{"method":"linear"}}}}"#.to_owned(),
            r#"{"$fill":{"sortBy":{"n":1},"output":{"some":{"method":"locf"}}}}"#.to_owned(),
        ] {
            let stages = format!("[{some},{stage}]");
            let in_memory = run(&database(100 << 20), &stages, true).unwrap();
            assert_eq!(in_memory.len() as i64, DOCUMENTS);
            let small = database(40_000);
            assert_eq!(run(&small, &stages, true).unwrap(), in_memory, "{stages}");
            assert_eq!(code(run(&small, &stages, false)), Some(292), "{stages}");
        }
    }
}

/// A collection of documents that each refer to two other documents.
fn graph(env: &Env, gather_bytes: usize) -> Database {
    let tuning = Tuning { gather_bytes: Some(gather_bytes), ..Tuning::default() };
    let options = Options { tuning, partitions: Some(4), background: false, ..Options::default() };
    let db = Database::builder().env(env.clone()).options(options).open(Path::new("db")).unwrap();
    let document = |n: i64| format!(r#"{{"_id":{n},"to":[{},{}]}}"#, (7 * n + 1) % DOCUMENTS, (3 * n + 2) % DOCUMENTS);
    db.collection("c").insert_many((0..DOCUMENTS).map(document)).unwrap();
    db
}

#[test]
fn graphs_continue_in_files() {
    let lookup = r#"{"$match":{"_id":0}},{"$project":{"_id":1}},{"$graphLookup":{"from":"c","startWith":17,
        "connectFromField":"to","connectToField":"_id","as":"all","depthField":"depth"}}"#;
    let reached = |gather_bytes: usize, after: &str, files: bool| {
        run(&graph(&Env::in_memory(1), gather_bytes), &format!("[{lookup}{after}]"), files)
    };
    let unwound = r#",{"$unwind":"$all"},{"$replaceWith":"$all"},{"$sort":{"_id":1}}"#;
    let in_memory = reached(100 << 20, unwound, true).unwrap();
    assert!(in_memory.len() > 1000, "{}", in_memory.len());
    for gather_bytes in [1000, 20_000, 300_000] {
        assert_eq!(reached(gather_bytes, unwound, true).unwrap(), in_memory, "{gather_bytes}");
        assert_eq!(code(reached(gather_bytes, unwound, false)), Some(292), "{gather_bytes}");
    }
    // No folder remains, even if the pipeline is dropped before its end.
    let env = Env::in_memory(1);
    let (db, folders) = (graph(&env, 20_000), || {
        let entries = env.fs.list(Path::new("db")).unwrap();
        entries.iter().filter(|entry| entry.name.starts_with(alluvium_store::SORT_PREFIX)).count()
    });
    let stages = format!(r#"[{lookup},{{"$unwind":"$all"}}]"#);
    let explained = db.collection("c").aggregate(&stages).explain().unwrap();
    assert_eq!(explained.stages.last().map(|stage| (stage.name, stage.spilled)), Some(("$graphLookup", true)));
    let mut found = db.collection("c").aggregate(&stages).batch_size(10).run().unwrap();
    assert!((0..1000).all(|_| found.next().is_some_and(|document| document.is_ok())));
    assert!(folders() > 0);
    drop(found);
    assert_eq!(folders(), 0);
}

#[test]
fn samples_continue_in_files() {
    let sample = |gather_bytes: usize, size: usize, files: bool| {
        let stages = format!(r#"[{{"$sample":{{"size":{size}}}}},{{"$project":{{"n":1}}}}]"#);
        run(&database(gather_bytes), &stages, files)
    };
    for gather_bytes in [40, 100_000, 8 << 20] {
        for size in [1, 1000, 10_000] {
            let numbers = sample(gather_bytes, size, true).unwrap();
            let numbers: Vec<i64> =
                numbers.iter().filter_map(|map| map.get("n").and_then(alluvium::Value::as_i64)).collect();
            let different: std::collections::BTreeSet<i64> = numbers.iter().copied().collect();
            assert_eq!(
                (numbers.len(), different.len()),
                (size.min(DOCUMENTS as usize), numbers.len()),
                "{gather_bytes}"
            );
            // The sample is in a random order, and comes from all parts of the collection.
            if size == 1000 {
                assert!(
                    !numbers.is_sorted() && different.iter().any(|n| *n < 1000) && different.iter().any(|n| *n >= 5000)
                );
            }
        }
    }
    assert_eq!(code(sample(40, 1000, false)), Some(292));
}

/// A collection `c` of a thousand documents, and `d` of five hundred with `index`; both have values of `v` from 0 to
/// 49, and in `d` the values of `w` are in no order.
fn joined(gather_bytes: Option<usize>, index: &str) -> Database {
    let tuning = Tuning { gather_bytes, ..Tuning::default() };
    let options = Options { tuning, partitions: Some(4), background: false, ..Options::default() };
    let db = Database::builder().env(Env::in_memory(1)).options(options).open(Path::new("db")).unwrap();
    let local = |n: i64| {
        let v = n % 50;
        format!(r#"{{"_id":{n},"v":{v},"many":[{},{v},null],"two":[{},{v},{v}]}}"#, v / 2, (v * 7) % 50)
    };
    db.collection("c").insert_many((0..1000).map(local)).unwrap();
    let other =
        |n: i64| format!(r#"{{"_id":{n},"v":{},"w":{},"all":[{},{},99]}}"#, n % 50, n * 37 % 101, n % 50, n % 97);
    db.collection("d").insert_many((0..500).map(other)).unwrap();
    db.collection("d").create_index(index).run().unwrap();
    db
}

fn lookup(local: &str, foreign: &str, pipeline: &str) -> String {
    format!(r#"{{"$lookup":{{"from":"d","localField":"{local}","foreignField":"{foreign}","as":"l"{pipeline}}}}}"#)
}

/// The index of the lookup in the last stage, and the numbers of batches, of keys, and of documents that were looked up
/// alone.
fn looked_up(db: &Database, stages: &str) -> (String, u64, u64, u64) {
    let explained = db.collection("c").aggregate(stages).explain().unwrap();
    let lookups = explained.stages.last().and_then(|stage| stage.lookups.clone()).unwrap();
    (lookups.index, lookups.batches, lookups.keys, lookups.alone)
}

#[test]
fn batches_of_a_lookup_are_in_the_order_of_the_index() {
    // The first batch has one document, and each later batch at most twice as many: 11 batches. The first six batches
    // have 63 different values together, and the other five have 50 each.
    let (batches, keys) = (11, 63 + 5 * 50);
    for (index, local, foreign, expected) in [
        (r#"{"v":1,"w":-1}"#, "v", "v", ("v_1_w_-1", batches, keys, 0)),
        (r#"{"v":-1,"w":1}"#, "two", "v", ("v_-1_w_1", batches, 0, 0)),
        (r#"{"all":1,"w":1}"#, "two", "all", ("all_1_w_1", batches, 0, 0)),
        (r#"{"all":-1}"#, "two", "all", ("all_-1", batches, 0, 0)),
        (r#"{"v":1}"#, "none", "v", ("v_1", batches, batches, 0)),
        (r#"{"v":1}"#, "many", "v", ("", 0, 0, 1000)),
        (r#"{"w":1}"#, "v", "v", ("", 0, 0, 1000)),
        (r#"{"w":1}"#, "v", "_id", ("_id_", batches, keys, 0)),
    ] {
        let db = joined(None, index);
        let stages = |pipeline: &str| format!("[{}]", lookup(local, foreign, pipeline));
        let (used, batches, keys, alone) = looked_up(&db, &stages(""));
        let keys = if expected.2 == 0 { 0 } else { keys };
        assert_eq!((used.as_str(), batches, keys, alone), expected, "{index} {local} {foreign}");
        // A `$lookup` with a pipeline looks up each document alone.
        let alone = run(&db, &stages(r#","pipeline":[{"$match":{}}]"#), true).unwrap();
        assert_eq!(run(&db, &stages(""), true).unwrap(), alone, "{index} {local} {foreign}");
    }
}

#[test]
fn a_lookup_reads_little_more_than_a_limit_after_it() {
    let db = joined(None, r#"{"v":1}"#);
    for (limit, read) in [(1, 1), (2, 3), (100, 127)] {
        let returned = |between: &str| -> Vec<u64> {
            let lookup = lookup("v", "v", "");
            let stages = format!(r#"[{{"$set":{{"x":1}}}},{lookup},{between}{{"$limit":{limit}}}]"#);
            let explained = db.collection("c").aggregate(&stages).explain().unwrap();
            explained.stages.iter().map(|stage| stage.returned).collect()
        };
        // A filter on the result of the lookup keeps the limit after itself. Without a filter, the limit moves into the
        // query before the first stage.
        assert_eq!(returned(r#"{"$match":{"l":{"$ne":5}}},"#), [read, limit, limit, limit]);
        assert_eq!(returned(""), [limit, limit]);
    }
    let unwound = format!(r#"[{},{{"$unwind":"$l"}},{{"$limit":15}}]"#, lookup("v", "v", ""));
    assert_eq!(run(&db, &unwound, true).unwrap().len(), 15);
}

#[test]
fn batches_of_a_lookup_hold_what_a_stage_may() {
    let all = run(&joined(None, r#"{"v":1}"#), &format!("[{}]", lookup("v", "v", "")), true).unwrap();
    for gather_bytes in [1, 5_000, 20_000, 1_000_000] {
        let db = joined(Some(gather_bytes), r#"{"v":1}"#);
        let stages = format!(r#"[{{"$sort":{{"_id":1}}}},{}]"#, lookup("v", "v", ""));
        assert_eq!(run(&db, &stages, true).unwrap(), all, "{gather_bytes}");
        let (_, batches, _, alone) = looked_up(&db, &stages);
        assert_eq!((batches > 0, alone > 0), (gather_bytes > 1, gather_bytes < 1_000_000), "{gather_bytes}");
    }
}

#[test]
fn an_error_after_the_documents_of_a_lookup_leaves_these() {
    let db = joined(None, r#"{"v":1}"#);
    let stages = |limit: u64| {
        let fails = r#"{"$set":{"x":{"$divide":[1,{"$subtract":["$_id",5]}]}}}"#;
        format!(r#"[{{"$sort":{{"_id":1}}}},{fails},{},{{"$limit":{limit}}}]"#, lookup("v", "v", ""))
    };
    assert_eq!(run(&db, &stages(5), true).unwrap().len(), 5);
    assert!(run(&db, &stages(6), true).is_err());
}
