//! Queries and writes by filter end on request or when their time limit expires, and report their
//! progress.

use alluvium::{Collection, Database, Error, ErrorKind, Result};
use alluvium_env::{Clock, Env};
use alluvium_store::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const DOCS: u64 = 300;
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// A clock that advances by a millisecond on every read, and sets a flag at a given time.
#[derive(Default)]
struct Hasty {
    now: AtomicU64,
    stops_at: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Hasty {
    /// Sets the flag after `looks` reads of the clock.
    fn stop_after(&self, looks: u64) -> Arc<AtomicBool> {
        self.stop.store(false, Ordering::SeqCst);
        self.stops_at.store(self.now.load(Ordering::SeqCst) + looks, Ordering::SeqCst);
        self.stop.clone()
    }
}

impl Clock for Hasty {
    fn now(&self) -> Duration {
        let now = self.now.fetch_add(1, Ordering::SeqCst);
        let stops_at = self.stops_at.load(Ordering::SeqCst);
        if stops_at > 0 && now >= stops_at {
            self.stop.store(true, Ordering::SeqCst);
        }
        Duration::from_millis(now)
    }

    fn unix_millis(&self) -> i64 {
        0
    }
}

fn open() -> (Database, Collection, Arc<Hasty>) {
    let mut env = Env::in_memory(1);
    let clock = Arc::new(Hasty::default());
    env.clock = clock.clone();
    let options = Options { partitions: Some(2), background: false, ..Options::default() };
    let db = Database::builder().env(env).options(options).open("db").unwrap();
    let c = db.collection("c");
    c.insert_many((0..DOCS).map(|id| format!(r#"{{"_id": {id}, "n": 0}}"#))).unwrap();
    (db, c, clock)
}

#[track_caller]
fn stopped<T>(result: Result<T>) {
    assert!(matches!(result.map(drop), Err(Error::Stopped)));
}

#[test]
fn before_they_have_done_anything() {
    let (_db, c, _) = open();
    let stop = || Arc::new(AtomicBool::new(true));
    let find = || c.find(r#"{"n": 1}"#).stop_when(stop());
    stopped(find().count());
    stopped(find().distinct("n"));
    stopped(find().first());
    stopped(find().explain());
    stopped(find().explain_count());
    stopped(c.find("{}").sort(r#"{"n": 1}"#).stop_when(stop()).run().unwrap().next().unwrap());
    stopped(c.update_many("{}", r#"{"$set": {"n": 1}}"#).stop_when(stop()).run());
    stopped(c.update_one("{}", r#"{"$set": {"n": 1}}"#).stop_when(stop()).run());
    stopped(c.delete_many("{}").stop_when(stop()).run());
    stopped(c.find_one_and_delete("{}").stop_when(stop()).run());
    assert_eq!(c.find(r#"{"n": 0}"#).count().unwrap(), DOCS);
}

#[test]
fn while_nothing_is_found() {
    let (_db, c, clock) = open();
    let ask = |stop| c.find(r#"{"n": 1}"#).max_time(FOR_EVER).stop_when(stop);
    // The clock is read only occasionally.
    stopped(ask(clock.stop_after(4)).count());
    stopped(ask(clock.stop_after(4)).sort(r#"{"n": 1}"#).explain());
    assert_eq!(ask(clock.stop_after(1 << 40)).count().unwrap(), 0);
}

/// The expression would take hours for the first document.
#[test]
fn within_one_expression() {
    let (_db, c, clock) = open();
    let range = r#"{"$range": [0, 300000]}"#;
    let inner = format!(r#"{{"$size": {{"$map": {{"input": {range}, "in": 1}}}}}}"#);
    let outer = format!(r#"{{"$size": {{"$map": {{"input": {range}, "in": {inner}}}}}}}"#);
    let ask = || c.find(format!(r#"{{"$expr": {{"$eq": [{outer}, 0]}}}}"#).as_str());
    let error = ask().max_time(FOR_EVER).stop_when(clock.stop_after(100)).count().unwrap_err().to_string();
    assert!(error.contains("the query was stopped"), "{error}");
    let error = ask().max_time(Duration::from_millis(100)).count().unwrap_err().to_string();
    assert!(error.contains("time limit of 100 ms"), "{error}");
    let pipeline = format!(r#"[{{"$project": {{"n": {outer}}}}}]"#);
    let run = c.aggregate(pipeline.as_str()).max_time(Duration::from_millis(100)).run();
    let error = run.and_then(|mut found| found.next().unwrap()).unwrap_err().to_string();
    assert!(error.contains("time limit of 100 ms"), "{error}");
}

/// Increases the time limit until the write ends after some of its documents, and before the last.
fn midway(mut run: impl FnMut(u64) -> Result<u64>) -> (u64, Error) {
    for looks in (1..).step_by(50) {
        match run(looks) {
            Ok(_) => panic!("it was never ended midway"),
            Err(Error::WriteMany { modified_count, error, .. }) => return (modified_count, *error),
            Err(_) => {}
        }
    }
    unreachable!()
}

#[test]
fn a_stopped_write_says_how_many_documents_it_has_changed() {
    let (_db, c, clock) = open();
    let update = c.update_many("{}", r#"{"$set": {"n": 1}}"#).max_time(FOR_EVER);
    let (changed, error) = midway(|looks| Ok(update.clone().stop_when(clock.stop_after(looks)).run()?.modified_count));
    assert_eq!((error.kind(), c.find(r#"{"n": 1}"#).count().unwrap()), (ErrorKind::Stopped, changed));
    let delete = c.delete_many("{}").max_time(FOR_EVER);
    let (deleted, error) = midway(|looks| Ok(delete.clone().stop_when(clock.stop_after(looks)).run()?.deleted_count));
    assert_eq!((error.kind(), c.count().unwrap()), (ErrorKind::Stopped, DOCS - deleted));
}

#[test]
fn the_time_is_for_the_search_and_all_writes() {
    let (_db, c, _) = open();
    let update = c.update_many("{}", r#"{"$set": {"n": 1}}"#);
    let (changed, error) = midway(|ms| Ok(update.clone().max_time(Duration::from_millis(ms)).run()?.modified_count));
    assert_eq!((error.kind(), c.find(r#"{"n": 1}"#).count().unwrap()), (ErrorKind::TimedOut, changed));
    let delete = c.delete_many("{}");
    let (deleted, error) = midway(|ms| Ok(delete.clone().max_time(Duration::from_millis(ms)).run()?.deleted_count));
    assert_eq!((error.kind(), c.count().unwrap()), (ErrorKind::TimedOut, DOCS - deleted));
}

#[test]
fn an_upsert_of_many_inserts_if_others_take_away_what_it_found() {
    let db = Database::builder().env(Env::in_memory(2)).open("db").unwrap();
    let c = db.collection("c");
    c.put(0, r#"{"k": 1}"#).unwrap();
    let done = AtomicBool::new(false);
    alluvium_env::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                c.delete_many(r#"{"k": 1}"#).run().unwrap();
            }
        });
        for n in 0..3000 {
            let update =
                c.update_many(r#"{"k": 1}"#, format!(r#"{{"$set": {{"n": {n}}}}}"#)).upsert(true).run().unwrap();
            if update.matched_count == 0 && update.upserted_id.is_none() {
                done.store(true, Ordering::Relaxed);
                panic!("neither updated nor inserted");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
