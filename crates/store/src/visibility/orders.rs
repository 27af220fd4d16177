//! Tests that every visible operation is applied, under all orders that the memory model allows. Run with `--features
//! loom`.

use super::*;
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::ManualClock;
use alluvium_env::thread::spawn;
use alluvium_memtable::Memtable;

fn new() -> Arc<Visibility> {
    Visibility::new(10, Arc::new(ManualClock::new()), Duration::from_secs(60))
}

#[test]
fn what_is_visible_is_in_the_memtable() {
    alluvium_env::orders::check(|| {
        let (visibility, table) = (new(), Arc::new(Memtable::new(1)));
        let tickets = [11, 12].map(|last| visibility.enter(last));
        let put = |table: &Memtable| {
            table.apply([Entry { key: b"b", seq: 11, kind: Kind::Put, value: b"" }].into_iter());
        };
        let remove = |table: &Memtable| table.delete_range(b"a", b"b", 12, &[10]);
        let threads: [fn(&Memtable); 2] = [put, remove];
        let writers = [0, 1].map(|at| {
            let (visibility, table, write, ticket) = (visibility.clone(), table.clone(), threads[at], tickets[at]);
            spawn("writer", move || {
                write(&table);
                visibility.applied(ticket).unwrap();
                assert!(visibility.visible() >= 11 + at as u64, "acknowledged, and not visible");
            })
        });
        let seq = visibility.visible();
        if seq >= 11 {
            assert!(table.get(b"b", seq, &mut Vec::new()).is_some(), "{seq} is visible, and 11 is not there");
        }
        assert_eq!(table.cover(b"a", seq), if seq >= 12 { 12 } else { 0 }, "at {seq}");
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(visibility.visible(), 12);
    });
}

#[test]
fn a_snapshot_that_was_ended_reads_nothing_that_was_dropped() {
    alluvium_env::orders::check(|| {
        let visibility = new();
        let snapshot = visibility.snapshot();
        // Represents a version that only the snapshot kept; 1 when it was dropped.
        let dropped = Arc::new(AtomicU64::new(0));
        let (ending, dropping) = (visibility.clone(), dropped.clone());
        let thread = spawn("compaction", move || {
            assert_eq!(ending.end_up_to(10), 1);
            assert_eq!(ending.live(), [10]);
            dropping.store(1, Ordering::Release);
        });
        // Readers call `Snapshot::check` after they have read.
        let gone = dropped.load(Ordering::Acquire) == 1;
        assert!(!gone || matches!(snapshot.check(), Err(Error::SnapshotTooOld)), "a read of a dropped version");
        thread.join().unwrap();
        drop(snapshot);
        assert_eq!(visibility.snapshot_count(), 0);
    });
}

#[test]
fn a_failure_wakes_every_waiter() {
    alluvium_env::orders::check(|| {
        let visibility = new();
        // The first batch is never applied.
        let tickets = [11, 12].map(|last| visibility.enter(last));
        let (waiting, failing) = (visibility.clone(), visibility.clone());
        let waiter = spawn("batch", move || waiting.applied(tickets[1]));
        let failure = spawn("failure", move || failing.fail(&Error::Closed));
        failure.join().unwrap();
        assert!(matches!(waiter.join().unwrap(), Err(Error::OutcomeUnknown(_))));
        assert_eq!(visibility.visible(), 10);
    });
}
