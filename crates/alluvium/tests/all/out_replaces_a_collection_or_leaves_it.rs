//! Power cuts and failures at every step of a `$out`: the collection has its indexes, and either all of its former
//! documents or all of the new ones. Nothing else remains.

use alluvium::{Database, Durability, Map, Result, Timestamp, Value, doc};
use alluvium_env::fault::{Fault, FaultFs, Op};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Options, Store};
use std::sync::Arc;

const FORMER: u64 = 7;
const NEW: u64 = 30;

fn env_of(mem: MemFs) -> (Arc<MemFs>, Arc<FaultFs>, Env) {
    let mem = Arc::new(mem);
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let (clock, rng) = (Arc::new(ManualClock::new()), Arc::new(SeededRng::new(3)));
    (mem, faults.clone(), Env { fs: faults, clock, rng })
}

fn open(env: &Env) -> Database {
    let durability = Durability::Sync;
    let options =
        Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, durability, ..Options::default() };
    Database::builder().env(env.clone()).options(options).open("db").unwrap()
}

fn fill(env: &Env) -> Database {
    let db = open(env);
    for n in 0..NEW {
        db.collection("pets").put(n, format!(r#"{{"n":{n}}}"#)).unwrap();
    }
    for n in 0..FORMER {
        db.collection("dogs").put(format!("former {n}"), format!(r#"{{"n":{n}}}"#)).unwrap();
    }
    db.collection("dogs").create_index(r#"{"n":1}"#).unique(true).run().unwrap();
    db
}

fn write_out(db: &Database) -> Result<()> {
    db.collection("pets")
        .aggregate(r#"[{"$match":{"n":{"$gte":0}}},{"$out":"dogs"}]"#)
        .run()?
        .try_for_each(|d| d.map(drop))
}

/// Checks the collection, and returns the number of its documents.
fn check(db: &Database, what: &str) -> u64 {
    let dogs = db.collection("dogs");
    let found = dogs.count().unwrap();
    let former = dogs.scan().run().unwrap().filter(|d| d.as_ref().unwrap().id().as_str().is_some()).count() as u64;
    assert!((found, former) == (FORMER, FORMER) || (found, former) == (NEW, 0), "{what}: {found} with {former}");
    assert_eq!(dogs.find(r#"{"n":{"$gte":0}}"#).hint("n_1").count().unwrap(), found, "{what}");
    let names: Vec<_> = db.collections().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["dogs", "pets"], "{what}");
    found
}

#[test]
fn a_power_cut_at_any_step() {
    let (mem, faults, env) = env_of(MemFs::new());
    let db = fill(&env);
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let seen = cuts.clone();
    faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        for style in [CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept] {
            let what = format!("{style:?} before {:?} of {}", op.kind, op.path.display());
            seen.lock().push((mem.crash_clone(op.number, style), what));
        }
    })));
    write_out(&db).unwrap();
    faults.set_hook(None);
    assert_eq!(check(&db, "at the end"), NEW);
    let cuts = std::mem::take(&mut *cuts.lock());
    assert!(cuts.len() > 20, "{}", cuts.len());
    for (mem, what) in cuts {
        let env = env_of(mem).2;
        let db = open(&env);
        check(&db, &what);
        db.close().unwrap();
        // Five trees: the documents and shapes of both collections, and an index.
        let store = Store::open(env, "db".as_ref(), Options { background: false, ..Options::default() }).unwrap();
        assert_eq!(store.trees().len(), 5, "{what}");
    }
}

#[test]
fn an_error_at_any_step() {
    let faults_of = [|nth| Fault::nth(nth).of_changes(), |nth| Fault::nth(nth).of_changes().no_space().from_then_on()];
    for fault in faults_of {
        let mut struck = 0;
        for nth in 1.. {
            let (_, faults, env) = env_of(MemFs::new());
            let db = fill(&env);
            faults.inject(fault(nth));
            let written = write_out(&db);
            faults.clear();
            if faults.fired() == 0 {
                written.unwrap();
                break;
            }
            struck += 1;
            drop(db);
            let found = check(&open(&env), &format!("operation {nth}"));
            assert!(written.is_err() || found == NEW, "operation {nth}");
        }
        assert!(struck > 5, "{struck}");
    }
}

#[test]
fn pipelines_write_into_other_databases() {
    let db = Database::in_memory().unwrap();
    db.collection("shop.pets").insert_many([r#"{"_id": 1, "kind": "dog"}"#, r#"{"_id": 2, "kind": "cat"}"#]).unwrap();
    let run = |pipeline: &str| db.collection("shop.pets").aggregate(pipeline).run().map(Iterator::count);
    assert_eq!(run(r#"[{"$match": {"kind": "dog"}}, {"$out": {"db": "copies", "coll": "pets"}}]"#).unwrap(), 0);
    assert_eq!(db.collection("copies.pets").find("{}").count().unwrap(), 1);
    run(r#"[{"$merge": {"into": {"db": "copies", "coll": "pets"}}}]"#).unwrap();
    run(r#"[{"$merge": {"into": {"coll": "others"}}}]"#).unwrap();
    assert_eq!(db.collection("copies.pets").find("{}").count().unwrap(), 2);
    assert_eq!(db.collection("shop.others").find("{}").count().unwrap(), 2);
    assert!(run(r#"[{"$out": {"db": "a.b", "coll": "pets"}}]"#).is_err());
}

#[test]
fn a_merge_writes_the_documents_after_one_that_it_cannot_write() {
    for (indexed, stage, expected) in [
        (r#"{"key": 1}"#, r#"{"into": "d"}"#, vec![2, 3, 10]),
        (r#"{"none": 1}"#, r#"{"into": "d", "whenMatched": "fail"}"#, vec![1, 2, 3, 10]),
        (r#"{"none": 1}"#, r#"{"into": "d", "whenMatched": "replace", "whenNotMatched": "fail"}"#, vec![3, 10]),
        // A document without the value by which `$merge` finds its target ends the pipeline at once.
        (r#"{"n": 1}"#, r#"{"into": "d", "on": "n"}"#, vec![3, 10]),
    ] {
        let db = Database::in_memory().unwrap();
        let documents = [r#"{"_id": 1, "key": "a"}"#, r#"{"_id": 2, "key": "b", "n": 5}"#, r#"{"_id": 3, "key": "c"}"#];
        db.collection("c").insert_many(documents).unwrap();
        db.collection("d").insert_many([r#"{"_id": 10, "key": "a", "n": 1}"#, r#"{"_id": 3, "n": 2}"#]).unwrap();
        db.collection("d").create_index(indexed).options(r#"{"unique": true, "sparse": true}"#).run().unwrap();
        let stages = format!(r#"[{{"$sort": {{"_id": 1}}}}, {{"$merge": {stage}}}]"#);
        assert!(db.collection("c").aggregate(&stages).run().unwrap().next().unwrap().is_err(), "{stage}");
        let ids = db.collection("d").find("{}").run().unwrap().map(|found| found.unwrap().id().as_i64().unwrap());
        let mut ids: Vec<i64> = ids.collect();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{stage}");
    }
}

#[test]
fn a_merge_ends_with_the_batch_of_an_error() {
    let db = Database::in_memory().unwrap();
    db.collection("c").insert_many((0..2500).map(|n| format!(r#"{{"_id": {n}}}"#))).unwrap();
    db.collection("d").insert_one(r#"{"_id": 1200}"#).unwrap();
    let stages = r#"[{"$sort": {"_id": 1}}, {"$merge": {"into": "d", "whenMatched": "fail"}}]"#;
    assert!(db.collection("c").aggregate(stages).run().unwrap().next().unwrap().is_err());
    assert_eq!(db.collection("d").count().unwrap(), 2000);
}

#[test]
fn a_merge_fills_empty_timestamps() {
    let empty = || Value::Timestamp(Timestamp { time: 0, increment: 0 });
    for mode in ["\"merge\"", "\"replace\"", "\"keepExisting\"", r#"[{"$set": {"a": "$$new.a", "b": "$$new.b"}}]"#] {
        let db = Database::in_memory().unwrap();
        let document = |id: Value| Map::from([("_id", id), ("a", empty()), ("b", doc! {"c": (empty())}.into())]);
        db.collection("c").insert_many([document(empty()), document(Value::from(1))]).unwrap();
        let other = r#"{"_id": 1, "a": 5, "b": 6}"#;
        db.collection("d").insert_one(other).unwrap();
        let stages = format!(r#"[{{"$merge": {{"into": "d", "whenMatched": {mode}}}}}]"#);
        db.collection("c").aggregate(&stages).run().unwrap().for_each(|found| drop(found.unwrap()));
        let found = |id: Value| db.collection("d").get(id).unwrap().unwrap().to_map().unwrap();
        for map in [found(empty()), found(Value::from(1))] {
            if mode == "\"keepExisting\"" && map.get("a") == Some(&Value::from(5)) {
                continue;
            }
            assert!(matches!(map.get("a"), Some(Value::Timestamp(at)) if *at != Timestamp { time: 0, increment: 0 }));
            assert_eq!(map.get("b"), Some(&Value::Map(doc! {"c": (empty())})), "{mode}");
        }
    }
}

/// As in MongoDB 8.0, `$merge` with a pipeline is an update by this pipeline. An update that changes the `_id` ends
/// with ImmutableField.
#[test]
fn a_pipeline_of_a_merge_keeps_the_id() {
    let (.., env) = env_of(MemFs::new());
    let db = open(&env);
    db.collection("c").put(1, r#"{"a":1}"#).unwrap();
    db.collection("d").put(1, r#"{"b":1}"#).unwrap();
    let run = |stages: &str| {
        let merge = format!(r#"[{{"$merge": {{"into": "d", "whenMatched": {stages}}}}}]"#);
        db.collection("c").aggregate(&*merge).run()?.try_for_each(|document| document.map(drop))
    };
    assert_eq!(run(r#"[{"$set": {"_id": 2}}]"#).unwrap_err().code().unwrap().0, 66);
    assert_eq!(run(r#"[{"$replaceWith": {"_id": {"$literal": 2}}}]"#).unwrap_err().code().unwrap().0, 66);
    run(r#"[{"$replaceWith": {"c": "$$new.a"}}]"#).unwrap();
    assert_eq!(db.collection("d").get(1).unwrap().unwrap().to_string(), r#"{"_id":1,"c":1}"#);
}
