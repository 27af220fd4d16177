//! The record of a write is in the batch of the write: after a power cut at any step, either both exist or neither
//! does.

use alluvium::{Collection, Database, Document, Durability, Map, Result, Value, WriteRecord, Written, doc};
use alluvium_env::fault::{FaultFs, Op};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::Options;
use std::sync::Arc;

const ROUNDS: i32 = 4;

fn env_of(mem: MemFs) -> (Arc<MemFs>, Arc<FaultFs>, Env) {
    let mem = Arc::new(mem);
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let (clock, rng) = (Arc::new(ManualClock::new()), Arc::new(SeededRng::new(3)));
    (mem, faults.clone(), Env { fs: faults, clock, rng })
}

fn open(env: &Env) -> Database {
    let durability = Durability::Sync;
    let options =
        Options { memory_bytes: 8 << 20, partitions: Some(4), background: false, durability, ..Options::default() };
    Database::builder().env(env.clone()).options(options).open("db").unwrap()
}

fn describe(written: &Written) -> Map {
    let document = written.document.as_ref().map(|document| document.to_map().unwrap());
    let mut map = doc! {"matched": written.matched, "changed": written.changed};
    map.push("document", document.map_or(Value::Null, Value::Map));
    map.push("upserted", written.upserted_id.clone().unwrap_or_default());
    map
}

fn recorded(db: &Database, kind: &str, round: i32) -> Collection {
    let id = Value::from(format!("{kind} {round}"));
    db.collection("pets").with_record(WriteRecord { collection: "requests".to_owned(), id, fields: Arc::new(describe) })
}

fn write(db: &Database) -> Result<()> {
    for round in 0..ROUNDS {
        recorded(db, "inc", round).update_one(doc! {"_id": "n"}, doc! {"$inc": {"n": 1}}).run()?;
        recorded(db, "insert", round).insert_many([doc! {"_id": round}, doc! {"_id": round + 100}])?;
        let filter = doc! {"name": format!("pet {round}")};
        recorded(db, "upsert", round).update_one(filter, doc! {"$set": {"age": 1}}).upsert(true).run()?;
        recorded(db, "delete", round).delete_one(doc! {"_id": format!("old {round}")}).run()?;
        recorded(db, "modify", round)
            .find_one_and_update(doc! {"_id": "m"}, doc! {"$inc": {"n": 1}})
            .projection(doc! {"_id": 0})
            .run()?;
    }
    Ok(())
}

fn fill(env: &Env) -> Database {
    let db = open(env);
    let pets = db.collection("pets");
    pets.create_index(doc! {"name": 1}).unique(true).sparse(true).run().unwrap();
    pets.insert_many([doc! {"_id": "n", "n": 0}, doc! {"_id": "m", "n": 0}]).unwrap();
    pets.insert_many((0..ROUNDS).map(|round| doc! {"_id": format!("old {round}")})).unwrap();
    db
}

fn records(db: &Database, kind: &str) -> Vec<Document> {
    let found = (0..ROUNDS).map(|round| db.collection("requests").get(format!("{kind} {round}")).unwrap());
    found.flatten().collect()
}

/// Checks that every recorded write, and no other, took effect. Returns the number of records.
fn check(db: &Database, what: &str) -> usize {
    let pets = db.collection("pets");
    let n = |id: &str| pets.get_fields(id, &["n"]).unwrap().unwrap().get("n").unwrap().as_i64().unwrap();
    let count = |filter: &str| pets.find(filter).count().unwrap() as usize;
    let (incs, modified) = (records(db, "inc").len(), records(db, "modify"));
    assert_eq!(n("n"), incs as i64, "{what}");
    assert_eq!(n("m"), modified.len() as i64, "{what}");
    for (round, record) in modified.iter().enumerate() {
        assert_eq!(record.get_path("document.n").unwrap().unwrap().to_value().unwrap().as_i64(), Some(round as i64));
        assert!(record.get_path("document._id").unwrap().is_none(), "projected");
    }
    let inserts = records(db, "insert").len();
    assert_eq!(count(r#"{"_id": {"$type": "number"}}"#), 2 * inserts, "{what}");
    let upserts = records(db, "upsert").len();
    assert_eq!(count(r#"{"age": 1}"#), upserts, "{what}");
    let deletes = records(db, "delete").len();
    assert_eq!(count(r#"{"_id": {"$regex": "^old"}}"#), ROUNDS as usize - deletes, "{what}");
    incs + modified.len() + inserts + upserts + deletes
}

#[test]
fn after_a_power_cut_at_any_step() {
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
    write(&db).unwrap();
    faults.set_hook(None);
    assert_eq!(check(&db, "at the end"), 5 * ROUNDS as usize);
    let cuts = std::mem::take(&mut *cuts.lock());
    let mut counts = std::collections::BTreeSet::new();
    for (mem, what) in cuts {
        let db = open(&env_of(mem).2);
        counts.insert(check(&db, &what));
        db.close().unwrap();
    }
    assert_eq!(counts.len(), 5 * ROUNDS as usize + 1, "a cut after each write: {counts:?}");
}

#[test]
fn a_write_that_changes_nothing_has_none() {
    let db = Database::in_memory().unwrap();
    db.collection("pets").put("rex", doc! {"age": 3}).unwrap();
    let nothing = recorded(&db, "none", 0).update_one(doc! {"_id": "rex"}, doc! {"$set": {"age": 3}}).run().unwrap();
    assert_eq!((nothing.matched_count, nothing.modified_count), (1, 0));
    recorded(&db, "none", 0).delete_one(doc! {"_id": "tom"}).run().unwrap();
    assert!(recorded(&db, "none", 0).insert_one(doc! {"_id": "rex"}).is_err());
    assert_eq!(db.collection("requests").count().unwrap(), 0);
}
