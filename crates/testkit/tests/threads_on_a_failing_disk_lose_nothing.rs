//! The disk fails while several threads write, flush and compact: every writer is told, nobody
//! waits for ever, reads go on and show each writer whole, and opening again finds all that was
//! acknowledged, and at most the one batch of each writer whose outcome it was told is unknown.

// Real threads, so that they really race.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Database, Durability, ErrorKind};
use env::fault::{Fault, OpKind};
use env::mem::CrashStyle;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::crowd::{self, Look};
use testkit::{World, seed};

const WRITERS: u64 = 4;
const BATCHES: u64 = 60;
const SEQUENCES: u64 = 60;

/// How a writer ended: what it had acknowledged, and the error that stopped it.
type End = (u64, Option<ErrorKind>);

fn write(db: &Database, writer: u64) -> End {
    for count in 1..=BATCHES {
        let batch = crowd::batch(db, writer, count).unwrap();
        if let Err(error) = batch.commit() {
            assert!(error.to_string().contains("db"), "{error}");
            return (count - 1, Some(error.kind()));
        }
    }
    (BATCHES, None)
}

fn maintain(db: &Database, done: &AtomicBool, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !done.load(Ordering::SeqCst) {
        // An error is what this is about; it is the writers' to be told.
        let _failed = match rng.u32(0..4) {
            0 => db.compact(),
            1 => db.sync(),
            _ => db.flush(),
        };
    }
}

fn fault(rng: &mut fastrand::Rng) -> Fault {
    let fault = Fault::nth(rng.u64(1..300)).of_changes();
    let fault = match rng.u32(0..6) {
        0 => fault.of(OpKind::Sync).losing_pages(),
        1 => fault.of(OpKind::Write).short(rng.usize(0..900)),
        2 => fault.on(".log"),
        3 => fault.on("MANIFEST"),
        4 => fault.no_space(),
        _ => fault,
    };
    if rng.bool() { fault.from_then_on() } else { fault }
}

fn compare(db: &Database, ends: &[End], when: &str) {
    let snapshot = db.snapshot();
    let look = Look::at(db, &snapshot);
    for (writer, (acknowledged, error)) in ends.iter().enumerate() {
        let found = look.whole(writer as u64, false).unwrap_or_else(|broken| panic!("{when}: {broken}"));
        let unknown = u64::from(*error == Some(ErrorKind::OutcomeUnknown));
        assert!(
            (*acknowledged..=acknowledged + unknown).contains(&found),
            "{when}: writer {writer} had acknowledged {acknowledged} and ended with {error:?}; {found} is found"
        );
    }
}

#[test]
fn threads_on_a_failing_disk_lose_nothing() {
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    seed::each("threads_on_a_failing_disk_lose_nothing", 0, SEQUENCES, |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let world = World::new(seed);
        let durability = [Durability::Sync, Durability::Periodic][rng.usize(0..2)];
        let mut options = testkit::random_options(&mut rng, 3, durability);
        (options.background, options.threads) = (true, Some(2));
        let db = world.open(&options).unwrap();
        for writer in 0..WRITERS {
            // The collections exist before the disk fails.
            crowd::batch(&db, writer, 0).unwrap().commit().unwrap();
            db.collection("main.trail").delete((writer * 1_000_000_000) as i64).unwrap();
        }
        world.faults.inject(fault(&mut rng));
        let done = AtomicBool::new(false);
        let ends: Vec<End> = std::thread::scope(|scope| {
            let (db, done) = (&db, &done);
            let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(db, writer))).collect();
            scope.spawn(move || maintain(db, done, seed));
            let ends = writers.into_iter().map(|writer| writer.join());
            let ends: Vec<_> = ends.collect();
            done.store(true, Ordering::SeqCst);
            ends.into_iter().map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        world.faults.clear();
        for (_, error) in &ends {
            *met.borrow_mut().entry(format!("{error:?}")).or_default() += 1;
        }
        compare(&db, &ends, "while it is open");
        let killed = world.killed();
        let cut = world.cut(seed, CrashStyle::Any);
        drop(db);
        options.partitions = None;
        let db = killed.open(&options).unwrap();
        compare(&db, &ends, "after a kill");
        // What was found is durable, whatever the disk had lost before.
        let again = killed.cut(seed, CrashStyle::Any);
        drop(db);
        compare(&again.open(&options).unwrap(), &ends, "after a kill and a power cut");
        let db = cut.open(&options).unwrap();
        if durability == Durability::Sync {
            compare(&db, &ends, "after a power cut");
        }
        assert!(db.verify().unwrap().is_empty());
    });
    println!("{:?}", met.borrow());
    if seed::is_usual(SEQUENCES) {
        for kind in ["None", "Some(Poisoned)", "Some(OutcomeUnknown)"] {
            assert!(met.borrow().contains_key(kind), "never met: {kind}");
        }
    }
}
