//! Of transactions that write the same document or the same unique key, one is committed, beside flushes, merges and
//! snapshots that end, under many schedules. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium::{ChangeEvent, ChangeScope, Collection, Database, ErrorKind, Result, Transaction};
use alluvium_env::sync::Arc;
use alluvium_env::thread::{JoinHandle, spawn};
use alluvium_store::Options;
use alluvium_testkit::World;
use alluvium_testkit::concurrency::schedules::{self, small_options};
use std::time::Duration;

/// The age at which snapshots end.
const AGE: Duration = Duration::from_secs(10);

/// An open database in which snapshots end early, and its machine.
struct Opened {
    world: World,
    db: Database,
    pets: Collection,
}

/// Runs a scenario with an empty collection under many schedules.
fn schedules(name: &str, scenario: impl Fn(&Arc<Opened>) + Send + Sync + 'static) {
    schedules::schedules("transactions_conflict_under_any_schedule", name, 600, move || {
        let world = World::new(7);
        let db = world.open(&Options { snapshot_max_age: AGE, ..small_options() }).unwrap();
        let pets = db.create_collection("pets").run().unwrap();
        scenario(&Arc::new(Opened { world, db, pets }));
    });
}

/// Starts a thread that uses the database.
fn beside<T: Send + 'static>(opened: &Arc<Opened>, act: impl FnOnce(&Opened) -> T + Send + 'static) -> JoinHandle<T> {
    let opened = opened.clone();
    spawn("thread", move || act(&opened))
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|e| panic!("{e}"))
}

/// Writes memtables to files and merges all files, so that nothing of the writes so far is in memtables, and what no snapshot
/// needs is gone.
fn to_files(opened: &Opened) {
    opened.db.flush().unwrap();
    opened.db.compact().run().unwrap();
}

fn number(pets: &Collection) -> Result<i64> {
    let found = pets.get("counter")?.expect("the counter");
    Ok(found.to_map().expect("a document").get("n").and_then(alluvium::Value::as_i64).expect("a number"))
}

/// True if a transaction was committed; false if others came first, or its snapshot had ended.
fn committed(act: impl FnOnce() -> Result<()>) -> bool {
    match act() {
        Ok(()) => true,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Conflict | ErrorKind::SnapshotTooOld), "{error}");
            false
        }
    }
}

/// Adds one to the counter by what a transaction has read.
fn add(db: &Database) -> bool {
    committed(|| {
        let transaction = db.begin();
        let pets = transaction.collection("pets");
        let n = number(&pets)?;
        pets.put("counter", format!(r#"{{"n":{}}}"#, n + 1))?;
        assert_eq!(number(&pets)?, n + 1, "a transaction reads its own write");
        transaction.commit()
    })
}

#[test]
fn no_addition_is_lost_beside_flushes_and_merges() {
    schedules("no_addition_is_lost_beside_flushes_and_merges", |opened| {
        opened.db.record_changes(ChangeScope::Everything).unwrap();
        opened.pets.put("counter", r#"{"n":0}"#).unwrap();
        let adding = || beside(opened, |opened| (0..2).filter(|_| add(&opened.db)).count());
        let (one, other) = (adding(), adding());
        let keeper = beside(opened, |opened| (0..2).for_each(|_| to_files(opened)));
        // A write without a transaction waits for those that have written the counter.
        let plain = opened.pets.update_one(r#"{"_id":"counter"}"#, r#"{"$inc":{"n":1}}"#).run().unwrap();
        assert_eq!(plain.modified_count, 1);
        let added = 1 + join(one) + join(other);
        join(keeper);
        assert_eq!(number(&opened.pets).unwrap(), added as i64, "an addition is lost");
        let changes = opened.db.changes(&ChangeScope::Everything, None).unwrap();
        let events: Vec<ChangeEvent> = changes.map(|change| change.unwrap().event).collect();
        assert_eq!(events.len(), 1 + added, "each addition has one change");
    });
}

#[test]
fn a_delete_is_noticed_when_nothing_of_it_is_left() {
    schedules("a_delete_is_noticed_when_nothing_of_it_is_left", |opened| {
        opened.pets.put("counter", r#"{"n":0}"#).unwrap();
        to_files(opened);
        let deleter = beside(opened, |opened| {
            opened.pets.delete("counter").unwrap();
            // Snapshots end, and with them the reason to keep tombstones.
            opened.world.clock.advance(2 * AGE);
            opened.db.store().run_pending().unwrap();
            to_files(opened);
        });
        committed(|| {
            let transaction = opened.db.begin();
            let pets = transaction.collection("pets");
            if pets.get("counter")?.is_some() {
                pets.put("counter", r#"{"n":1}"#)?;
            }
            transaction.commit()
        });
        join(deleter);
        // Either the transaction came first, or it has seen the delete, or it was refused.
        assert!(opened.pets.get("counter").unwrap().is_none(), "a deleted document is back");
    });
}

#[test]
fn of_several_writers_one_takes_a_unique_key() {
    schedules("of_several_writers_one_takes_a_unique_key", |opened| {
        opened.pets.create_index(r#"{"u":1}"#).options(r#"{"unique":true}"#).run().unwrap();
        let take = |pets: &Collection, id: i64| match pets.insert_one(format!(r#"{{"_id":{id},"u":1}}"#)) {
            Err(error) if error.kind() == ErrorKind::DuplicateKey => Ok(false),
            done => done.map(|_| true),
        };
        let taking = |id: i64| {
            beside(opened, move |opened| {
                let mut taken = false;
                committed(|| {
                    let transaction = opened.db.begin();
                    taken = take(&transaction.collection("pets"), id)?;
                    if taken { transaction.commit() } else { Ok(()) }
                }) && taken
            })
        };
        let (one, other) = (taking(1), taking(2));
        let keeper = beside(opened, to_files);
        let plain = take(&opened.pets, 3).unwrap();
        let taken = [plain, join(one), join(other)].into_iter().filter(|taken| *taken).count();
        join(keeper);
        assert_eq!(opened.pets.count().unwrap(), taken as u64);
        assert_eq!(taken, 1, "the writers that have taken the key");
    });
}

/// What a transaction reads of two documents that are always written together.
fn both(transaction: &Transaction) -> Result<(i64, i64)> {
    let pets = transaction.collection("pets");
    let other = pets.find(r#"{"_id":"other"}"#).run()?.next().expect("the other")?;
    let other = other.to_map().expect("a document").get("n").and_then(alluvium::Value::as_i64).expect("a number");
    Ok((number(&pets)?, other))
}

#[test]
fn a_transaction_reads_one_state_until_its_snapshot_ends() {
    schedules("a_transaction_reads_one_state_until_its_snapshot_ends", |opened| {
        let write = |db: &Database, n: i64| {
            let mut batch = db.write_batch();
            let pets = db.collection("pets");
            ["counter", "other"].iter().for_each(|id| batch.put(&pets, *id, format!(r#"{{"n":{n}}}"#)).unwrap());
            batch.commit().unwrap();
        };
        write(&opened.db, 0);
        let writer = beside(opened, move |opened| (1..3).for_each(|n| write(&opened.db, n)));
        let keeper = beside(opened, |opened| {
            to_files(opened);
            opened.world.clock.advance(2 * AGE);
            opened.db.store().run_pending().unwrap();
            to_files(opened);
        });
        committed(|| {
            let transaction = opened.db.begin();
            let (first, other) = both(&transaction)?;
            assert_eq!(first, other, "a part of a batch");
            assert_eq!(both(&transaction)?, (first, first), "the state has changed");
            transaction.collection("pets").put("own", format!(r#"{{"n":{first}}}"#))?;
            assert_eq!(both(&transaction)?, (first, first), "the state has changed");
            transaction.commit()
        });
        join(writer);
        join(keeper);
    });
}
