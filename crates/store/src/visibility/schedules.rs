//! Tests batches that are not visible yet, snapshots, and threads that drop versions, under many schedules. Run with
//! `--features shuttle`.

use super::*;
use alluvium_env::ManualClock;
use alluvium_env::sync::atomic::AtomicU64 as Counter;
use alluvium_env::thread::spawn;

/// The last numbers of the batches. Each batch has one or more operations.
const ENDS: [Seq; 4] = [12, 13, 17, 20];

fn new() -> Arc<Visibility> {
    Visibility::new(10, Arc::new(ManualClock::new()), Duration::from_secs(60))
}

/// Checks the numbers that a compaction that begins now must keep, and that the visible number has not decreased since
/// the last call.
fn look(visibility: &Visibility, before: &mut Seq) {
    let live = visibility.live();
    assert!(live.is_sorted_by(|a, b| a < b), "{live:?}");
    let visible = *live.last().unwrap();
    assert!(visible == 10 || ENDS.contains(&visible), "{visible} is within a batch");
    assert!(visible >= *before, "{visible} after {before}");
    *before = visible;
}

#[test]
fn batches_become_visible_in_their_order_and_whole() {
    alluvium_env::schedules::check(
        "-p alluvium-store --lib batches_become_visible_in_their_order_and_whole",
        2000,
        || {
            let visibility = new();
            let applied: Arc<[Counter; 4]> = Arc::default();
            let tickets = ENDS.map(|end| visibility.enter(end));
            let mut threads = Vec::new();
            for (at, ticket) in tickets.into_iter().enumerate() {
                let (visibility, applied) = (visibility.clone(), applied.clone());
                threads.push(spawn("batch", move || {
                    applied[at].store(1, Ordering::SeqCst);
                    visibility.applied(ticket).unwrap();
                    assert!(visibility.visible() >= ENDS[at], "acknowledged, and not visible");
                }));
            }
            let watched = visibility.clone();
            threads.push(spawn("reader", move || {
                for _ in 0..3 {
                    let visible = watched.visible();
                    let all = ENDS.iter().zip(&*applied).take_while(|(end, _)| **end <= visible);
                    assert!(
                        all.clone().all(|(_, done)| done.load(Ordering::SeqCst) == 1),
                        "visible before it is applied"
                    );
                    assert!(visible == 10 || ENDS.contains(&visible), "{visible} is within a batch");
                }
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(visibility.visible(), 20);
        },
    );
}

#[test]
fn a_thread_that_drops_versions_knows_every_snapshot() {
    alluvium_env::schedules::check(
        "-p alluvium-store --lib a_thread_that_drops_versions_knows_every_snapshot",
        2000,
        || {
            let visibility = new();
            // The result of the last drop: all versions were dropped except the newest at or below each of these
            // numbers.
            let kept: Arc<Mutex<Vec<Seq>>> = Arc::new(Mutex::new(visibility.live()));
            let tickets = ENDS.map(|end| visibility.enter(end));
            let mut threads = Vec::new();
            let writing = visibility.clone();
            threads.push(spawn("writer", move || {
                tickets.into_iter().for_each(|ticket| writing.applied(ticket).unwrap());
            }));
            for _ in 0..2 {
                let (visibility, kept) = (visibility.clone(), kept.clone());
                threads.push(spawn("reader", move || {
                    for _ in 0..2 {
                        let snapshot = visibility.snapshot();
                        let again = snapshot.clone();
                        drop(snapshot);
                        alluvium_env::thread::yield_now();
                        let kept = kept.lock();
                        let newest = kept.last().copied().unwrap();
                        let seen = kept.contains(&again.seq()) || again.seq() > newest;
                        assert!(seen, "a snapshot at {} may read what {:?} has dropped", again.seq(), *kept);
                        again.check().unwrap();
                    }
                }));
            }
            let (dropping, into) = (visibility.clone(), kept.clone());
            threads.push(spawn("compaction", move || {
                let mut before = 0;
                for _ in 0..3 {
                    // Here the list and the drop are one step. In a partition, files of the old list remain in the
                    // views that readers have pinned.
                    let mut kept = into.lock();
                    look(&dropping, &mut before);
                    *kept = dropping.live();
                }
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!((visibility.live(), visibility.snapshot_count()), (vec![20], 0));
        },
    );
}

#[test]
fn a_failure_wakes_every_writer() {
    alluvium_env::schedules::check("-p alluvium-store --lib a_failure_wakes_every_writer", 2000, || {
        let visibility = new();
        // The second batch is never applied.
        let tickets = ENDS.map(|end| visibility.enter(end));
        let threads = [0, 2, 3].map(|at| {
            let (visibility, ticket) = (visibility.clone(), tickets[at]);
            spawn("batch", move || visibility.applied(ticket))
        });
        let failing = visibility.clone();
        let failure = spawn("failure", move || failing.fail(&Error::Closed));
        let outcomes = threads.map(|thread| thread.join().unwrap());
        failure.join().unwrap();
        assert!(outcomes[0].is_ok(), "nothing was missing before it");
        assert!(outcomes[1..].iter().all(|outcome| matches!(outcome, Err(Error::OutcomeUnknown(_)))), "{outcomes:?}");
        assert_eq!(visibility.visible(), 12);
    });
}
