//! A power cut may lose the periodic writes of the last interval and of the last sync. Together these are at most the
//! writes of three intervals, no matter how long a sync takes. Time is simulated. The disk accepts writes at once, and
//! a sync makes everything durable that is written before the sync ends. (If a disk's sync makes only those writes
//! durable that were made before the sync began, the writes of one more sync may be lost.) Run with `--features
//! shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_env::fault::{FaultFs, Op, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::simulated::SimulatedClock;
use alluvium_env::sync::Mutex;
use alluvium_env::thread::spawn;
use alluvium_env::{Clock, Env, SeededRng};
use alluvium_store::{Durability, Options, Store, TreeId};
use alluvium_testkit::seed;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(100);
/// Writers wait if the last sync ended this many intervals ago.
const LATE_INTERVALS: u32 = 3;
const SECONDS: u64 = 8;
const CUTS: u32 = 30;
const WRITERS: u64 = 2;

struct World {
    disk: Arc<MemFs>,
    clock: Arc<SimulatedClock>,
    store: Store,
    tree: TreeId,
    /// The time at which each write was acknowledged.
    acknowledged: Mutex<Vec<(Duration, u64)>>,
    writing: AtomicUsize,
    latency: Duration,
}

#[test]
fn periodic_writes_are_durable_in_time_under_any_schedule() {
    seed::each("periodic_writes_are_durable_in_time_under_any_schedule", 0, 10, |seed| {
        alluvium_env::simulated::run(seed, move || one(seed));
        seed::tally_rare();
    });
}

fn env_of(fs: Arc<dyn alluvium_env::Fs>, clock: Arc<SimulatedClock>, seed: u64) -> Env {
    Env { fs, clock, rng: Arc::new(SeededRng::new(seed)) }
}

fn one(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    // The disks range from one whose syncs take almost no time to one whose syncs take many intervals.
    let latency = Duration::from_millis([1, 20, 90, 250, 1000][rng.usize(0..5)]);
    let (disk, clock) = (Arc::new(MemFs::new()), Arc::new(SimulatedClock::new()));
    let slow = FaultFs::over(disk.clone());
    let of_disk = clock.clone();
    slow.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        if op.kind == OpKind::Sync {
            of_disk.wait_until(of_disk.now() + latency);
        }
    })));
    let options = Options { durability: Durability::Periodic, sync_interval: INTERVAL, ..Options::default() };
    let store = Store::open(env_of(Arc::new(slow), clock.clone(), seed), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    store.sync().unwrap();
    let (acknowledged, writing) = (Mutex::new(Vec::new()), AtomicUsize::new(WRITERS as usize));
    let world = Arc::new(World { disk, clock, store, tree, acknowledged, writing, latency });
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let world = world.clone();
        threads.push(spawn("writer", move || write(&world, writer, seed)));
    }
    let cutter = world.clone();
    threads.push(spawn("cutter", move || cut(&cutter, seed)));
    for thread in threads {
        thread.join().unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(world.acknowledged.lock().len() > 20, "hardly anything was written");
    world.store.close().unwrap();
}

fn write(world: &World, writer: u64, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed ^ (writer + 1));
    let begun = world.clock.now();
    let mut number = writer;
    while world.clock.now() < begun + Duration::from_secs(SECONDS) {
        let mut batch = world.store.batch();
        batch.put(world.tree, &number.to_be_bytes(), &[1; 100]);
        world.store.write(batch, Durability::Periodic).unwrap();
        world.acknowledged.lock().push((world.clock.now(), number));
        number += WRITERS;
        // Occasionally no thread writes for a while, so that only the background thread syncs the last writes.
        let pause = if rng.u32(0..40) == 0 { rng.u64(200..2000) } else { rng.u64(0..30) };
        world.clock.wait_until(world.clock.now() + Duration::from_millis(pause));
    }
    world.writing.fetch_sub(1, Ordering::SeqCst);
}

fn cut(world: &World, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(!seed);
    for number in 0..CUTS {
        world.clock.wait_until(world.clock.now() + Duration::from_millis(rng.u64(1..500)));
        if world.writing.load(Ordering::SeqCst) == 0 {
            return;
        }
        let (acknowledged, now) = (world.acknowledged.lock().clone(), world.clock.now());
        let after = Arc::new(world.disk.crash_clone(u64::from(number), CrashStyle::AllLost));
        check(world, after, &acknowledged, now);
    }
}

/// Checks that the acknowledged writes that a power cut loses are recent and few.
fn check(world: &World, after: Arc<MemFs>, acknowledged: &[(Duration, u64)], now: Duration) {
    let options = Options { background: false, ..Options::default() };
    let store = Store::open(env_of(after, world.clock.clone(), 1), Path::new("db"), options).unwrap();
    let found = |number: &u64| store.get(world.tree, &number.to_be_bytes(), &mut Vec::new()).unwrap();
    let lost: Vec<Duration> = acknowledged.iter().filter(|(_, number)| !found(number)).map(|(at, _)| *at).collect();
    let (Some(first), Some(last)) = (lost.iter().min(), lost.iter().max()) else { return };
    let latency = world.latency;
    let oldest = INTERVAL + latency;
    assert!(now - *first <= oldest, "syncs take {latency:?}; acknowledged {:?} ago, and lost", now - *first);
    let most = LATE_INTERVALS * INTERVAL;
    assert!(*last - *first <= most, "syncs take {latency:?}; writes of {:?} are lost", *last - *first);
}
