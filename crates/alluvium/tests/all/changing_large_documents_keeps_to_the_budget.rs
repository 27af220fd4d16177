//! A change of a document reserves the memory that it writes, however large the document is.

use alluvium::{Collection, Database, Error, Value};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

fn database() -> Database {
    let memory = 8 << 20;
    Database::builder().env(alluvium_env::Env::in_memory(1)).memory(memory).partitions(2).open("db").unwrap()
}

fn text(bytes: usize) -> Value {
    Value::from("x".repeat(bytes))
}

/// Sets the text, and returns how often the function was called.
fn set_text(c: &Collection, id: i32, bytes: usize) -> alluvium::Result<u32> {
    let calls = AtomicU32::new(0);
    c.modify(id, |draft| {
        calls.fetch_add(1, Ordering::Relaxed);
        draft.map()?.insert("text", text(bytes));
        Ok(true)
    })?;
    Ok(calls.into_inner())
}

#[test]
fn what_no_batch_may_have_is_refused_by_name() {
    let tuning = alluvium_store::Tuning { max_batch_bytes: Some(1 << 20), ..alluvium_store::Tuning::default() };
    let options = alluvium_store::Options { tuning, ..alluvium_store::Options::default() };
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).options(options).open("db").unwrap();
    let c = db.collection("c");
    c.insert_one(r#"{"_id":1,"text":"short"}"#).unwrap();
    let before = c.get(1).unwrap();
    let error = set_text(&c, 1, 3 << 20).unwrap_err();
    assert!(matches!(error, Error::Store(alluvium_store::Error::BatchTooLarge { .. })), "{error}");
    assert_eq!(c.get(1).unwrap(), before);
}

#[test]
fn only_the_first_of_many_large_changes_starts_over() {
    let db = database();
    let c = db.collection("c");
    c.insert_one(r#"{"_id":1}"#).unwrap();
    assert_eq!(set_text(&c, 1, 100).unwrap(), 1);
    assert_eq!(set_text(&c, 1, 100_000).unwrap(), 2);
    for more in 0..20 {
        assert_eq!(set_text(&c, 1, 100_000 + 1000 * more).unwrap(), 1);
    }
    assert!(!c.modify(2, |_| panic!("there is no such document")).unwrap());
}

/// Each thread increments a field of a growing document: no increment is lost, even if changes are
/// retried.
#[test]
fn changes_that_start_over_lose_nothing() {
    const THREADS: usize = 6;
    const ROUNDS: usize = 40;
    let db = database();
    let c = db.collection("c");
    c.insert_one(r#"{"_id":1,"n":0,"text":""}"#).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let change = c.modify(1, |draft| {
                        let map = draft.map()?;
                        let Some(Value::Int32(n)) = map.get("n").cloned() else { panic!("{map:?}") };
                        map.insert("n", n + 1);
                        // The text is sometimes much larger than before.
                        map.insert("text", text(300 << (round / 4)));
                        Ok(true)
                    });
                    change.unwrap();
                }
            });
        }
    });
    let n = c.get_fields(1, &["n"]).unwrap().unwrap().get("n").cloned();
    assert_eq!(n, Some(Value::Int32((THREADS * ROUNDS) as i32)));
}

#[test]
fn many_large_changes_at_once_keep_to_the_share() {
    let db = database();
    let c = db.collection("c");
    c.insert_many((0..24).map(|id| format!(r#"{{"_id":{id}}}"#))).unwrap();
    let (done, peak) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(db.stats().memtable_bytes, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        let change = |id| {
            c.modify(id, |draft| {
                draft.map()?.insert("text", text(900_000));
                Ok(true)
            })
        };
        let writers: Vec<_> = (0..24).map(|id| scope.spawn(move || (0..3).all(|_| change(id).unwrap()))).collect();
        assert!(writers.into_iter().all(|writer| writer.join().unwrap()));
        done.store(true, Ordering::Relaxed);
    });
    let (peak, share) = (peak.into_inner(), (8 << 20) / 5 * 2);
    assert!(peak <= share * 3 / 2, "memtables have taken {peak} bytes of {share}");
}
