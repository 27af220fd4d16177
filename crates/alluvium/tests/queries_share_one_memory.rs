//! The memory of all queries together is bounded. Each stage, accumulator, window function and expression with large
//! values takes as much memory as it can, alone and concurrently with others. It ends, or continues in files, within
//! the memory of all queries. Small queries are not disturbed.
//!
//! The test counts the bytes that the process has allocated, so it is a separate program.

#![allow(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types, reason = "a counting allocator")]

use alluvium::Database;
use alluvium_query::pipeline::{accumulator_names, stages, window_function_names};
use alluvium_store::Options;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn added(bytes: usize) {
    let now = ALLOCATED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator with the same arguments; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        added(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        added(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        added(size);
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A lock that lets one test run at a time, so that only its allocations are counted.
static ONE_TEST: Mutex<()> = Mutex::new(());

const BUDGET: usize = 32 << 20;

/// The most bytes that the process may have allocated at any time: 1.5 times the budget, plus 200 MB.
const BYTES_MAX: usize = BUDGET / 2 * 3 + 200_000_000;

/// The most bytes that the process may have allocated while one query runs alone.
const ONE_BYTES_MAX: usize = BUDGET / 2 * 3 + 100_000_000;

/// The most bytes for the expressions of one query: the memory that all queries share.
const EXPRESSION_BYTES_MAX: usize = 64 << 20;

const DOCUMENTS: usize = 6000;

/// The codes with which a query may end because of memory: too much memory for a stage, for an accumulator, or for a
/// document.
const REFUSALS: [&str; 3] = ["QueryExceededMemoryLimitNoDiskUseAllowed", "ExceededMemoryLimit", "BSONObjectTooLarge"];

fn database(dir: &std::path::Path) -> Database {
    let options = Options { memory_bytes: BUDGET, partitions: Some(2), ..Options::default() };
    let db = Database::builder().options(options).open(dir).unwrap();
    let text = "many bytes ".repeat(10);
    let elements: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let document = |n: usize| {
        format!(
            r#"{{"_id":{n},"one":1,"k":{},"x":{n}.5,"s":"{text}{n}","a":[{}],"m":{{"f{n}":"{text}"}}}}"#,
            n % 10,
            elements.join(",")
        )
    };
    let numbers: Vec<usize> = (0..DOCUMENTS).collect();
    for some in numbers.chunks(1000) {
        db.collection("c").insert_many(some.iter().map(|n| document(*n))).unwrap();
    }
    db.flush().unwrap();
    db
}

/// A pipeline in which this stage holds large data.
fn of_stage(name: &str) -> String {
    let unwound = r#"{"$unwind":"$a"}"#;
    let large = r#"{"$range":[0,400000]}"#;
    let sort = r#"{"$sort":{"s":-1,"a":1}}"#;
    let joined = r#""from":"c","as":"l""#;
    let operand = match name {
        "$addFields" | "$set" => format!(r#"{{"r":{large},"q":["$r","$s"]}}"#),
        "$bucket" => r#"{"groupBy":"$_id","boundaries":[0,5000,9000],"output":{"all":{"$push":"$$ROOT"}}}"#.to_owned(),
        "$bucketAuto" => r#"{"groupBy":"$s","buckets":3,"output":{"all":{"$push":"$$ROOT"}}}"#.to_owned(),
        "$collStats" => return r#"[{"$collStats":{"count":{}}}]"#.to_owned(),
        "$count" => r#""n""#.to_owned(),
        "$densify" => r#"{"field":"x","range":{"step":0.02,"bounds":"full"}}"#.to_owned(),
        "$documents" => return format!(r#"[{{"$documents":[{{"a":{large}}}]}},{{"$unwind":"$a"}},{sort}]"#),
        "$facet" => {
            format!(r#"{{"one":[{unwound},{sort}],"two":[{sort},{unwound}],"three":[{{"$sample":{{"size":9999}}}}]}}"#)
        }
        "$fill" => r#"{"sortBy":{"x":1},"output":{"y":{"method":"linear"},"z":{"method":"locf"}}}"#.to_owned(),
        "$graphLookup" => {
            return format!(
                r#"[{{"$limit":3}},{{"$graphLookup":{{{joined},"startWith":"$one","connectFromField":"one","connectToField":"one"}}}}]"#
            );
        }
        "$group" => r#"{"_id":"$s","all":{"$push":"$$ROOT"}}"#.to_owned(),
        "$indexStats" => return r#"[{"$indexStats":{}}]"#.to_owned(),
        "$limit" => return format!(r#"[{unwound},{{"$limit":100000}},{sort}]"#),
        "$lookup" => {
            return format!(
                r#"[{{"$limit":30}},{{"$lookup":{{{joined},"localField":"one","foreignField":"one"}}}},{{"$sort":{{"_id":-1}}}}]"#
            );
        }
        "$match" => format!(r#"{{"$expr":{{"$gt":[{{"$size":{large}}},"$one"]}}}}"#),
        "$merge" => r#"{"into":"merged"}"#.to_owned(),
        "$out" => r#""made""#.to_owned(),
        "$project" => format!(r#"{{"r":{large},"q":["$a","$m"]}}"#),
        "$redact" => r#"{"$cond":[{"$eq":["$one",1]},"$$DESCEND","$$KEEP"]}"#.to_owned(),
        "$replaceRoot" => format!(r#"{{"newRoot":{{"r":{large}}}}}"#),
        "$replaceWith" => format!(r#"{{"r":{large}}}"#),
        "$sample" => return format!(r#"[{unwound},{{"$sample":{{"size":1000000}}}}]"#),
        "$setWindowFields" => {
            let outputs: Vec<String> = (0..200).map(|n| format!(r#""w{n}":{{"$push":"$s"}}"#)).collect();
            format!(r#"{{"sortBy":{{"_id":1}},"output":{{{}}}}}"#, outputs.join(","))
        }
        "$skip" => return format!(r#"[{unwound},{{"$skip":5}},{sort}]"#),
        "$sort" => return format!("[{unwound},{sort}]"),
        "$sortByCount" => r#""$$ROOT""#.to_owned(),
        "$unionWith" => format!(r#"{{"coll":"c","pipeline":[{unwound},{sort}]}}"#),
        "$unset" => r#"["k","m"]"#.to_owned(),
        "$unwind" => return format!(r#"[{{"$set":{{"a":{large}}}}},{{"$limit":5}},{{"$unwind":"$a"}},{sort}]"#),
        other => panic!("the stage {other} has no case: add one in which it holds much"),
    };
    let limit = if operand.contains("$range") { r#"{"$limit":40},"# } else { "" };
    format!(r#"[{limit}{{"{name}":{operand}}}]"#)
}

/// An argument with which this accumulator holds large data.
fn of_accumulator(name: &str) -> Option<&'static str> {
    Some(match name {
        "$accumulator" => return None,
        "$addToSet" | "$first" | "$last" | "$max" | "$min" | "$push" => r#""$$ROOT""#,
        "$avg" | "$stdDevPop" | "$stdDevSamp" | "$sum" => r#""$x""#,
        "$bottom" | "$top" => r#"{"sortBy":{"s":1},"output":"$$ROOT"}"#,
        "$bottomN" | "$topN" => r#"{"n":100000,"sortBy":{"s":1},"output":"$$ROOT"}"#,
        "$concatArrays" | "$setUnion" => r#"["$s","$m"]"#,
        "$count" => "{}",
        "$firstN" | "$lastN" | "$maxN" | "$minN" => r#"{"n":100000,"input":"$$ROOT"}"#,
        "$median" => r#"{"input":"$x","method":"approximate"}"#,
        "$mergeObjects" => r#""$m""#,
        "$percentile" => r#"{"input":"$x","p":[0.1,0.9],"method":"approximate"}"#,
        other => panic!("the accumulator {other} has no case: add one in which it holds much"),
    })
}

/// An argument and a window with which this window function holds large data.
fn of_window(name: &str) -> String {
    let near = r#","window":{"documents":[-5,5]}"#;
    let (argument, window) = match name {
        "$covariancePop" | "$covarianceSamp" => (r#"["$x","$s"]"#, near),
        "$count" | "$denseRank" | "$documentNumber" | "$rank" => ("{}", ""),
        "$derivative" | "$integral" => (r#"{"input":"$x"}"#, near),
        "$expMovingAvg" => (r#"{"input":"$x","N":5}"#, ""),
        "$linearFill" => (r#""$none""#, ""),
        "$locf" => (r#""$s""#, ""),
        "$shift" => (r#"{"output":"$$ROOT","by":1}"#, ""),
        other => panic!("the function {other} of windows has no case: add one in which it holds much"),
    };
    format!(r#"{{"{name}":{argument}{window}}}"#)
}

/// A pipeline for every stage, every accumulator and every window function.
fn pipelines() -> Vec<String> {
    let windows = |function: &str| {
        let outputs: Vec<String> = (0..40).map(|n| format!(r#""w{n}":{function}"#)).collect();
        format!(r#"[{{"$setWindowFields":{{"sortBy":{{"x":1}},"output":{{{}}}}}}}]"#, outputs.join(","))
    };
    let mut all: Vec<String> = stages::supported().map(of_stage).collect();
    for name in accumulator_names() {
        let Some(argument) = of_accumulator(name) else { continue };
        let argument = if name == "$concatArrays" || name == "$setUnion" {
            r#"{"$map":{"input":{"$range":[0,20]},"in":["$$this","$s"]}}"#
        } else {
            argument
        };
        for (id, unwound) in [("null", r#"{"$unwind":"$a"},"#), (r#""$_id""#, ""), (r#""$k""#, "")] {
            let fields: Vec<String> = (0..5).map(|n| format!(r#""x{n}":{{"{name}":{argument}}}"#)).collect();
            all.push(format!(r#"[{unwound}{{"$group":{{"_id":{id},{}}}}}]"#, fields.join(",")));
        }
        if name != "$mergeObjects" {
            all.push(windows(&format!(r#"{{"{name}":{argument}}}"#)));
        }
    }
    all.extend(window_function_names().map(|name| windows(&of_window(name))));
    // A window that grows with each document.
    let grows = r#"{"$push":"$k","window":{"documents":["unbounded","current"]}}"#;
    all.push(windows(grows).replacen('[', r#"[{"$limit":500},"#, 1));
    all
}

/// Runs a pipeline to its end, or to a refusal that names one of its stages.
fn run(db: &Database, stages: &str, refused: &AtomicUsize) {
    let end = db.collection("c").aggregate(stages).run().and_then(|documents| {
        for document in documents {
            document?;
        }
        Ok(())
    });
    let Err(error) = end else { return };
    let code = error.code().map(|(_, name)| name);
    assert!(code.is_some_and(|code| REFUSALS.contains(&code)), "{error}: {code:?}: {stages}");
    let text = error.to_string();
    let is_named = stages::supported().chain(accumulator_names()).any(|name| text.contains(name));
    assert!(
        is_named || ["a sort ", "the pipeline ", "a stage ", "an expression "].iter().any(|name| text.contains(name)),
        "{text}"
    );
    refused.fetch_add(1, Ordering::Relaxed);
}

fn peak_of(work: impl FnOnce()) -> usize {
    PEAK.store(ALLOCATED.load(Ordering::Relaxed), Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed)
}

#[test]
fn every_stage_and_accumulator_keeps_to_the_memory_of_queries() {
    let _alone = ONE_TEST.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let db = database(&dir.path().join("db"));
    let (all, refused) = (pipelines(), AtomicUsize::new(0));
    for stages in &all {
        let peak = peak_of(|| run(&db, stages, &refused));
        assert!(peak <= ONE_BYTES_MAX, "{peak} bytes were allocated: {stages}");
        assert_eq!(db.stats().query_bytes, 0, "memory was not returned: {stages}");
    }
    let refused = refused.into_inner();
    assert!(refused > 3, "only {refused} queries took as much as they could");
    assert!(refused < all.len() / 2, "{refused} of {} queries were refused", all.len());
    beside_each_other(&db, &all);
}

/// Runs eight queries at a time, and concurrently small queries, which are never refused.
fn beside_each_other(db: &Database, all: &[String]) {
    let (next, refused, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let failure = Mutex::new(None);
    let small = [
        r#"[{"$sort":{"s":1}},{"$limit":20}]"#,
        r#"[{"$limit":100},{"$group":{"_id":"$k","all":{"$push":"$x"}}}]"#,
        r#"[{"$limit":20},{"$setWindowFields":{"sortBy":{"x":1},"output":{"all":{"$push":"$k"}}}}]"#,
    ];
    let peak = peak_of(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        while let Some(stages) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                            // Two concurrent pipelines with `$out` would replace each other's collection.
                            if !stages.contains("$out") {
                                run(db, stages, &refused);
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for stages in small {
                        let documents = db.collection("c").aggregate(stages).run();
                        let end = documents.and_then(|mut all| all.try_for_each(|one| one.map(drop)));
                        if let Err(error) = end {
                            *failure.lock().unwrap() = Some(format!("{error}: {stages}"));
                        }
                    }
                }
            });
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            is_over.store(true, Ordering::Relaxed);
            assert!(ends.iter().all(|end| end.is_ok()), "a query failed");
        });
    });
    assert_eq!(failure.into_inner().unwrap(), None, "a small query was disturbed");
    assert!(peak <= BYTES_MAX, "{peak} bytes were allocated");
    assert_eq!(db.stats().query_bytes, 0, "memory was not returned");
}

/// Expressions that hold large values while they are evaluated, although their results are small.
fn expressions() -> Vec<String> {
    let range = |from: usize, to: usize| format!(r#"{{"$range":[{from},{to}]}}"#);
    let big = range(0, 600_000);
    let pairs = |count: usize, of: &str| format!(r#"{{"$map":{{"input":{{"$range":[0,{count}]}},"in":{of}}}}}"#);
    // A text of four megabytes.
    let text = r#"{"$reduce":{"input":{"$range":[0,21]},"initialValue":"ab","in":{"$concat":["$$value","$$value"]}}}"#;
    let long = "a".repeat(80_000);
    let sort: Vec<String> = (0..200).map(|n| format!(r#""f{n}":1"#)).collect();
    let nested = (0..40)
        .fold(r#""$$v0""#.to_owned(), |inner, n| format!(r#"{{"$let":{{"vars":{{"v{n}":{big}}},"in":{inner}}}}}"#));
    let sums = vec![range(0, 50_000); 100].join(",");
    let values = [
        format!(r#"{{"$regexFindAll":{{"input":"{long}","regex":"(a)"}}}}"#),
        format!(r#"{{"$regexFindAll":{{"input":"{long}","regex":"a()()()()()()()()()"}}}}"#),
        pairs(1000, &range(0, 1500)),
        pairs(400_000, r#"{"a":"$$this","b":"$$this"}"#),
        pairs(1_200_000, "null"),
        format!(r#"{{"$concatArrays":[{big},{big}]}}"#),
        format!("[{sums}]"),
        format!(
            r#"{{"$reduce":{{"input":{},"initialValue":[],"in":{{"$concatArrays":["$$value",{}]}}}}}}"#,
            range(0, 40),
            range(0, 30_000)
        ),
        format!(r#"{{"$filter":{{"input":{},"cond":{{"$gte":["$$this",0]}}}}}}"#, range(0, 1_000_000)),
        format!(r#"{{"$split":[{text},"b"]}}"#),
        format!(r#"{{"$objectToArray":{{"$arrayToObject":{}}}}}"#, pairs(300_000, r#"[{"$toString":"$$this"},1]"#)),
        format!(r#"{{"$zip":{{"inputs":[{big},{big}]}}}}"#),
        format!(r#"{{"$sortArray":{{"input":{},"sortBy":{{{}}}}}}}"#, pairs(100_000, "{}"), sort.join(",")),
        format!(r#"{{"$setUnion":[{big},{}]}}"#, range(300_000, 900_000)),
        format!(r#"{{"$reverseArray":{big}}}"#),
        nested,
    ];
    values.iter().map(|value| format!(r#"{{"$type":[{value}]}}"#)).collect()
}

type Use = Box<dyn Fn(&Database) -> alluvium::Result<()> + Send + Sync>;

/// Queries that use these expressions, and queries that copy large values.
fn uses() -> Vec<Use> {
    let mut all: Vec<Use> = Vec::new();
    let mut aggregate = |stages: String| {
        all.push(Box::new(move |db| {
            let mut documents = db.collection("c").aggregate(stages.as_str()).run()?;
            documents.try_for_each(|document| document.map(drop))
        }));
    };
    for value in expressions() {
        aggregate(format!(r#"[{{"$limit":2}},{{"$project":{{"r":{value}}}}}]"#));
        aggregate(format!(r#"[{{"$limit":2}},{{"$group":{{"_id":{value},"n":{{"$sum":1}}}}}}]"#));
    }
    let values = r#"{"$map":{"input":{"$range":[0,3000]},"in":{"a":1}}}"#;
    let large = r#"{"$range":[0,100000]}"#;
    aggregate(format!(r#"[{{"$limit":2}},{{"$set":{{"m":{values}}}}},{{"$set":{{"m.x":{large}}}}}]"#));
    aggregate(format!(r#"[{{"$limit":2}},{{"$set":{{"m":{values}}}}},{{"$project":{{"m.a":1,"m.x":{large}}}}}]"#));
    let uses = vec![r#""$$v""#; 3000].join(",");
    aggregate(format!(
        r#"[{{"$limit":2}},{{"$lookup":{{"from":"c","as":"l","let":{{"v":{large}}},"pipeline":[{{"$limit":1}},{{"$project":{{"r":{{"$size":[[{uses}]]}}}}}}]}}}}]"#
    ));
    let first = expressions().swap_remove(3);
    let expr = format!(r#"{{"$expr":{{"$ne":[{first},"$one"]}}}}"#);
    let filter = expr.clone();
    all.push(Box::new(move |db| db.collection("c").find(filter.as_str()).count().map(drop)));
    let filter = expr.clone();
    all.push(Box::new(move |db| db.collection("c").delete_many(format!(r#"{{"$nor":[{filter}]}}"#)).run().map(drop)));
    let update = format!(r#"[{{"$set":{{"t":{first}}}}}]"#);
    all.push(Box::new(move |db| {
        let stages = alluvium_document::json::parse(update.as_bytes()).unwrap();
        db.collection("c").update_one(r#"{"_id":1}"#, stages).run().map(drop)
    }));
    let projection = format!(r#"{{"t":{first}}}"#);
    all.push(Box::new(move |db| {
        db.collection("c").find(r#"{"_id":1}"#).projection(projection.as_str()).first().map(drop)
    }));
    all.push(Box::new(move |db| db.collection("checked").insert_one(r#"{"one":1}"#).map(drop)));
    all
}

#[test]
fn values_on_their_way_are_counted() {
    let _alone = ONE_TEST.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let db = database(&dir.path().join("db"));
    db.collection("checked").set_validator(format!(r#"{{"$expr":{{"$ne":[{},1]}}}}"#, expressions()[3])).run().unwrap();
    let (all, refused, before) = (uses(), AtomicUsize::new(0), ALLOCATED.load(Ordering::Relaxed));
    let run = |at: usize| {
        let Err(error) = all[at](&db) else { return };
        let code = error.code().map(|(_, name)| name);
        assert!(code.is_some_and(|code| REFUSALS.contains(&code)), "{error}: {code:?}: {at}");
        refused.fetch_add(1, Ordering::Relaxed);
    };
    for at in 0..all.len() {
        let peak = peak_of(|| run(at)) - before;
        assert!(peak <= EXPRESSION_BYTES_MAX, "{peak} bytes were allocated: {at}");
        assert_eq!(db.stats().query_bytes, 0, "memory was not returned: {at}");
    }
    let refused_alone = refused.load(Ordering::Relaxed);
    assert!((10..all.len()).contains(&refused_alone), "{refused_alone} of {} were refused", all.len());
    let next = AtomicUsize::new(0);
    let peak = peak_of(|| {
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= 3 * all.len() {
                            break;
                        }
                        run(at % all.len());
                    }
                });
            }
        });
    });
    assert!(peak <= BYTES_MAX, "{peak} bytes were allocated");
    assert_eq!(db.stats().query_bytes, 0, "memory was not returned");
}
