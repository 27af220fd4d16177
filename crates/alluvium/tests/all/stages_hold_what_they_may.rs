//! What stages of a pipeline hold is bounded: those that can continue in files, the others end with MongoDB's error 292.
//! How many threads make the groups does not matter.

use alluvium::{Database, Error, Map, Result};
use alluvium_env::Env;
use alluvium_store::{Options, Tuning};
use std::path::Path;

const DOCUMENTS: i64 = 6000;
const GROUPS: i64 = 3000;

/// Half of the documents of all other groups are in one partition.
fn database(gather_bytes: usize) -> Database {
    let tuning = Tuning { gather_bytes: Some(gather_bytes), ..Tuning::default() };
    let options = Options { tuning, partitions: Some(4), background: false, ..Options::default() };
    let db = Database::builder().env(Env::in_memory(1)).options(options).open(Path::new("db")).unwrap();
    let numbers: Vec<i64> = (0..DOCUMENTS).collect();
    for some in numbers.chunks(1000) {
        let document = |n: &i64| format!(r#"{{"_id":{n},"group":{},"n":{n},"x":{}.1}}"#, n % GROUPS, n % 7);
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
    let whole = |mut groups: Vec<Map>| {
        groups.sort_by_key(|group| group.get("_id").and_then(alluvium::Value::as_i64));
        let sum = |n: i64| n + n + GROUPS;
        assert_eq!(groups.len() as i64, GROUPS);
        for (n, group) in groups.iter().enumerate() {
            let n = n as i64;
            let number = |name| group.get(name).and_then(alluvium::Value::as_i64);
            assert_eq!((number("_id"), number("count"), number("sum")), (Some(n), Some(2), Some(sum(n))), "{group:?}");
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
    // What is needed is as much as a single thread says that it needs.
    let single = GROUP.replace(r#""count""#, r#""first":{"$first":{"$literal":1}},"count""#);
    assert!(run(&database(2 * bytes), &single, false).is_ok());
    assert_eq!(code(run(&database(bytes / 2), GROUP, false)), Some(292));
    assert_eq!(code(run(&database(bytes / 2), &single, false)), Some(292));
}

#[test]
fn what_cannot_continue_in_files_says_so() {
    let small = database(40);
    for stage in [
        r#"{"$bucketAuto":{"groupBy":"$n","buckets":3}}"#,
        r#"{"$graphLookup":{"from":"c","startWith":"$_id","connectFromField":"n","connectToField":"group","as":"all"}}"#,
    ] {
        let stages = format!(r#"[{{"$limit":10}},{stage},{{"$count":"n"}}]"#);
        assert_eq!(code(run(&small, &stages, true)), Some(292), "{stage}");
    }
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
            // In a random order, and from everywhere.
            if size == 1000 {
                assert!(
                    !numbers.is_sorted() && different.iter().any(|n| *n < 1000) && different.iter().any(|n| *n >= 5000)
                );
            }
        }
    }
    assert_eq!(code(sample(40, 1000, false)), Some(292));
}
