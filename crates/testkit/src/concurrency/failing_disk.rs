//! A disk that fails while several threads write, flush and compact. Every writer gets an error, no thread waits
//! forever, and reads continue and show complete batches of each writer. After the next open, every acknowledged batch
//! exists, and for each writer at most the one batch whose outcome was reported as unknown. After a power cut the same
//! batches exist, or, if writes do not wait for the disk, at least the batches acknowledged before the last sync began.

use super::trails::{self, TrailView};
use crate::worlds::World;
use alluvium::{Database, Durability, ErrorKind};
use alluvium_env::fault::{Fault, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The size of a run.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The number of writing threads.
    pub writers: u64,
    /// The number of batches that each writer writes.
    pub batches: u64,
    /// The fault occurs within this number of changes to the disk.
    pub changes: u64,
}

/// The end of a writer: its last acknowledged batch, and the error that stopped it.
type End = (u64, Option<ErrorKind>);

/// The last acknowledged batch of each writer.
type Progress = [AtomicU64];

fn write(db: &Database, writer: u64, batches: u64, progress: &AtomicU64) -> End {
    for count in 1..=batches {
        let batch = trails::batch(db, writer, count).expect("a batch");
        if let Err(error) = batch.commit() {
            assert!(error.to_string().contains("db"), "{error}");
            return (count - 1, Some(error.kind()));
        }
        progress.store(count, Ordering::SeqCst);
    }
    (batches, None)
}

/// Flushes, compacts and syncs until the writers are done. Returns, for each writer, the last batch that these calls
/// made durable, whatever its own durability.
fn maintain(db: &Database, done: &AtomicBool, seed: u64, progress: &Progress) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut durable = vec![0; progress.len()];
    // Some runs have no maintenance.
    if rng.bool() {
        return durable;
    }
    while !done.load(Ordering::SeqCst) {
        let before: Vec<u64> = progress.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        let result = match rng.u32(0..4) {
            0 => db.compact().run(),
            1 => db.sync(),
            _ => db.flush(),
        };
        // Errors are expected here; the writers report them.
        if result.is_ok() {
            durable = before;
        }
        // Without this, an operation that fails at once would be repeated forever.
        alluvium_env::thread::yield_now();
    }
    durable
}

/// The maximum number of checks of the invariants.
const LOOKS: usize = 200;

/// Checks the invariants between steps of the other threads, even after some operations have failed.
fn watch(db: &Database, done: &AtomicBool) {
    for _ in 0..LOOKS {
        if done.load(Ordering::SeqCst) {
            break;
        }
        // Only changes to the disk fail, and the check makes none.
        let broken = db.store().broken_invariant().expect("reads go on");
        assert!(broken.is_none(), "{broken:?}");
        alluvium_env::thread::yield_now();
    }
}

fn fault(rng: &mut fastrand::Rng, size: Size) -> Fault {
    let fault = Fault::nth(rng.u64(1..size.changes)).of_changes();
    let fault = match rng.u32(0..7) {
        0 => fault.of(OpKind::Sync).losing_pages(),
        // The sync of the log's directory, or of a directory in which several threads create files.
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

/// Checks that the acknowledged batches of each writer exist, or at least the batches up to `durable`. Returns true if
/// all exist.
fn compare(db: &Database, ends: &[End], durable: Option<&[u64]>, when: &str) -> bool {
    let snapshot = db.snapshot();
    let look = TrailView::at(db, &snapshot);
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

/// Runs writers and maintenance until all have ended. Returns how each writer ended, and which of its batches are
/// durable.
fn race(db: &Database, seed: u64, size: Size) -> (Vec<End>, Vec<u64>) {
    let progress: Vec<AtomicU64> = (0..size.writers).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    alluvium_env::thread::scope(|scope| {
        let (done, progress) = (&done, progress.as_slice());
        let begin = |writer: u64| scope.spawn(move || write(db, writer, size.batches, &progress[writer as usize]));
        let writers: Vec<_> = (0..size.writers).map(begin).collect();
        let upkeep = scope.spawn(move || maintain(db, done, seed, progress));
        let looks = scope.spawn(move || watch(db, done));
        let ends: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::SeqCst);
        looks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ends = ends.into_iter().map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (ends.collect(), upkeep.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Runs a seed. Returns how the writers ended, and whether writes that may be lost were lost.
///
/// # Panics
/// If a write was lost that must not be lost, or an error was not reported.
pub fn run(seed: u64, size: Size) -> Vec<String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let world = World::new(seed);
    let durability = [Durability::Sync, Durability::Periodic, Durability::Bulk][rng.usize(0..3)];
    let mut options = crate::worlds::random_options(&mut rng, 3, durability);
    (options.background, options.threads) = (true, Some(2));
    let db = world.open(&options).expect("a good disk");
    for writer in 0..size.writers {
        // The collections are created before the disk fails.
        trails::batch(&db, writer, 0).expect("a good disk").commit().expect("a good disk");
        db.collection("main.trail").delete((writer * 1_000_000_000) as i64).expect("a good disk");
    }
    db.sync().expect("a good disk");
    world.faults.inject(fault(&mut rng, size));
    let (ends, durable) = race(&db, seed, size);
    let durable = (durability != Durability::Sync).then_some(durable.as_slice());
    world.faults.clear();
    let mut met: Vec<String> = ends.iter().map(|(_, error)| format!("{error:?}")).collect();
    compare(&db, &ends, None, "while it is open");
    let killed = world.killed();
    let cut = world.cut(seed, [CrashStyle::Any, CrashStyle::AllLost][rng.usize(0..2)]);
    drop(db);
    options.partitions = None;
    let db = killed.open(&options).expect("a good disk");
    compare(&db, &ends, None, "after a kill");
    // The documents found after opening are durable, even if the disk lost writes before.
    let again = killed.cut(seed, CrashStyle::Any);
    drop(db);
    compare(&again.open(&options).expect("a good disk"), &ends, None, "after a kill and a power cut");
    let db = cut.open(&options).expect("a good disk");
    if !compare(&db, &ends, durable, "after a power cut") {
        met.push("lost what was not synced".to_owned());
    }
    assert!(db.verify().run().expect("a good disk").damage.is_empty());
    met
}
