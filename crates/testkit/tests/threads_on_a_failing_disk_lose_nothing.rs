//! The disk fails while several threads write, flush and compact: every writer is told, nobody
//! waits for ever, reads go on and show each writer whole, and opening again finds all that was
//! acknowledged, and at most the one batch of each writer whose outcome it was told is unknown. A power
//! cut leaves that too, or, where nobody waits for the disk, what was acknowledged before the last sync began.

// Real threads, so that they really race.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Database, Durability, ErrorKind};
use env::fault::{Fault, OpKind};
use env::mem::CrashStyle;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use testkit::crowd::{self, Look};
use testkit::{World, seed};

const WRITERS: u64 = 4;
const BATCHES: u64 = 60;
const SEQUENCES: u64 = 60;

/// How a writer ended: what it had acknowledged, and the error that stopped it.
type End = (u64, Option<ErrorKind>);

/// What each writer has had acknowledged so far.
type Progress = [AtomicU64; WRITERS as usize];

fn write(db: &Database, writer: u64, progress: &AtomicU64) -> End {
    for count in 1..=BATCHES {
        let batch = crowd::batch(db, writer, count).unwrap();
        if let Err(error) = batch.commit() {
            assert!(error.to_string().contains("db"), "{error}");
            return (count - 1, Some(error.kind()));
        }
        progress.store(count, Ordering::SeqCst);
    }
    (BATCHES, None)
}

/// Flushes, compacts and syncs until the writers are done. What of each writer is durable since, whatever the durability of
/// its batches.
fn maintain(db: &Database, done: &AtomicBool, seed: u64, progress: &Progress) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut durable = vec![0; progress.len()];
    // Sometimes nobody does.
    if rng.bool() {
        return durable;
    }
    while !done.load(Ordering::SeqCst) {
        let before: Vec<u64> = progress.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        let result = match rng.u32(0..4) {
            0 => db.compact(),
            1 => db.sync(),
            _ => db.flush(),
        };
        // An error is what this is about; it is the writers' to be told.
        if result.is_ok() {
            durable = before;
        }
    }
    durable
}

fn fault(rng: &mut fastrand::Rng) -> Fault {
    let fault = Fault::nth(rng.u64(1..300)).of_changes();
    let fault = match rng.u32(0..7) {
        0 => fault.of(OpKind::Sync).losing_pages(),
        // Of the log's directory, or of one in which several threads make files.
        6 => {
            let dir = if rng.bool() { "wal" } else { "/p0" };
            Fault::nth(rng.u64(1..15)).of(OpKind::SyncDir).on(dir).losing_pages()
        }
        1 => fault.of(OpKind::Write).short(rng.usize(0..900)),
        2 => fault.on(".log"),
        3 => fault.on("MANIFEST"),
        4 => fault.no_space(),
        _ => fault,
    };
    if rng.bool() { fault.from_then_on() } else { fault }
}

/// Finds of each writer what it had acknowledged, or at least so much of it as is `durable`. True if that is all.
fn compare(db: &Database, ends: &[End], durable: Option<&[u64]>, when: &str) -> bool {
    let snapshot = db.snapshot();
    let look = Look::at(db, &snapshot);
    let mut all = true;
    for (writer, (acknowledged, error)) in ends.iter().enumerate() {
        let found = look.whole(writer as u64, false).unwrap_or_else(|broken| panic!("{when}: {broken}"));
        let unknown = u64::from(*error == Some(ErrorKind::OutcomeUnknown));
        let least = durable.map_or(*acknowledged, |durable| durable[writer]);
        assert!(
            (least..=acknowledged + unknown).contains(&found),
            "{when}: writer {writer} had acknowledged {acknowledged}, {least} for good, and ended with {error:?}; \
             {found} is found"
        );
        all &= found >= *acknowledged;
    }
    all
}

/// Writers and maintenance until all of them have ended: how, and what is durable of each.
fn race(db: &Database, seed: u64) -> (Vec<End>, Vec<u64>) {
    let (done, progress) = (AtomicBool::new(false), Progress::default());
    std::thread::scope(|scope| {
        let (done, progress) = (&done, &progress);
        let begin = |writer: u64| scope.spawn(move || write(db, writer, &progress[writer as usize]));
        let writers: Vec<_> = (0..WRITERS).map(begin).collect();
        let upkeep = scope.spawn(move || maintain(db, done, seed, progress));
        let ends: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::SeqCst);
        let whole = |end: std::thread::Result<End>| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (ends.into_iter().map(whole).collect(), upkeep.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[test]
fn threads_on_a_failing_disk_lose_nothing() {
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    seed::each("threads_on_a_failing_disk_lose_nothing", 0, SEQUENCES, |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let world = World::new(seed);
        let durability = [Durability::Sync, Durability::Periodic, Durability::Bulk][rng.usize(0..3)];
        let mut options = testkit::random_options(&mut rng, 3, durability);
        (options.background, options.threads) = (true, Some(2));
        let db = world.open(&options).unwrap();
        for writer in 0..WRITERS {
            // The collections exist before the disk fails.
            crowd::batch(&db, writer, 0).unwrap().commit().unwrap();
            db.collection("main.trail").delete((writer * 1_000_000_000) as i64).unwrap();
        }
        db.sync().unwrap();
        world.faults.inject(fault(&mut rng));
        let (ends, durable) = race(&db, seed);
        let durable = (durability != Durability::Sync).then_some(durable.as_slice());
        world.faults.clear();
        for (_, error) in &ends {
            *met.borrow_mut().entry(format!("{error:?}")).or_default() += 1;
        }
        compare(&db, &ends, None, "while it is open");
        let killed = world.killed();
        let cut = world.cut(seed, [CrashStyle::Any, CrashStyle::AllLost][rng.usize(0..2)]);
        drop(db);
        options.partitions = None;
        let db = killed.open(&options).unwrap();
        compare(&db, &ends, None, "after a kill");
        // What was found is durable, whatever the disk had lost before.
        let again = killed.cut(seed, CrashStyle::Any);
        drop(db);
        compare(&again.open(&options).unwrap(), &ends, None, "after a kill and a power cut");
        let db = cut.open(&options).unwrap();
        if !compare(&db, &ends, durable, "after a power cut") {
            *met.borrow_mut().entry("lost what was not synced".to_owned()).or_default() += 1;
        }
        assert!(db.verify().unwrap().is_empty());
    });
    println!("{:?}", met.borrow());
    if seed::is_usual(SEQUENCES) {
        for kind in ["None", "Some(Poisoned)", "Some(OutcomeUnknown)", "lost what was not synced"] {
            assert!(met.borrow().contains_key(kind), "never met: {kind}");
        }
    }
}
