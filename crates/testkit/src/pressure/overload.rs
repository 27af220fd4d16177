//! Writers that demand more than the disk can deliver, in simulated time. Their throughput in each second and the
//! memory of the database are measured.

use crate::replay::seed;
use alluvium::{Database, Durability};
use alluvium_env::mem::MemFs;
use alluvium_env::simulated::SimulatedClock;
use alluvium_env::slow::{SlowFs, Speed};
use alluvium_env::sync::Mutex;
use alluvium_env::thread::spawn;
use alluvium_env::{Clock, Env, SeededRng};
use alluvium_store::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The load on a database.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The number of partitions of the database.
    pub partitions: u32,
    /// The number of writing threads.
    pub writers: usize,
    /// The number of documents in a batch.
    pub batch: usize,
    /// The throughput of the disk in bytes per second.
    pub disk_bytes_per_s: u64,
    /// The demand of the writers, as a multiple of the disk's throughput.
    pub times: f64,
    /// The duration in seconds.
    pub seconds: u64,
}

/// The results.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// The number of bytes acknowledged in each second.
    pub seconds: Vec<u64>,
    /// The number of bytes acknowledged for each writer.
    pub writers: Vec<u64>,
    /// The longest duration of a write.
    pub longest: Duration,
    /// The maximum memory that the database reported, and the memory budget.
    pub memory: (usize, usize),
}

/// The number of seconds at the beginning that are ignored, in which empty buffers fill up.
const WARM_UP: usize = 4;

impl Served {
    /// Checks that the throughput in the worst second was over half the median, that every writer had over half of its
    /// share, and that memory stayed at most 15% above the budget.
    ///
    /// # Panics
    /// If one of these conditions is not met.
    pub fn check(&self) {
        let mut steady: Vec<u64> = self.seconds[WARM_UP.min(self.seconds.len())..].to_vec();
        steady.sort_unstable();
        let (worst, median) = (steady[0], steady[steady.len() / 2]);
        let share = self.writers.iter().sum::<u64>() / self.writers.len() as u64;
        let least = self.writers.iter().min().copied().unwrap_or(0);
        println!("worst {worst}, median {median}, least {least} of {share}, {self:?}");
        assert!(median > 0 && worst * 2 >= median, "the worst second is below half the median: {self:?}");
        assert!(least * 2 >= share, "a writer starves: {self:?}");
        assert!(self.memory.0 * 100 <= self.memory.1 * 115, "memory beyond the budget: {self:?}");
    }
}

struct Shared {
    db: Database,
    clock: Arc<SimulatedClock>,
    over: AtomicBool,
    served: Mutex<Served>,
    ids: AtomicU64,
}

/// Runs a load in simulated time.
pub fn run(seed: u64, load: Load) -> Served {
    let out = Arc::new(std::sync::OnceLock::new());
    let into = out.clone();
    alluvium_env::simulated::run(seed, move || {
        let _once = into.set(one(seed, load));
    });
    let served = out.get().cloned();
    seed::tally_rare();
    served.expect("the world has ended")
}

fn one(seed: u64, load: Load) -> Served {
    let clock = Arc::new(SimulatedClock::new());
    let speed = Speed { bytes_per_s: load.disk_bytes_per_s, latency: Duration::from_micros(100) };
    let fs = Arc::new(SlowFs::new(Arc::new(MemFs::new()), clock.clone(), speed));
    let env = Env { fs, clock: clock.clone(), rng: Arc::new(SeededRng::new(seed)) };
    let options = Options {
        partitions: Some(load.partitions),
        memory_bytes: 8 << 20,
        threads: Some(2),
        durability: Durability::Periodic,
        disk_reserve_bytes: Some(0),
        compression: alluvium::Compression::Lz4,
        ..Options::default()
    };
    let db = Database::builder().env(env).options(options).open("db").expect("a good disk");
    db.create_collection("documents").run().expect("a good disk");
    let served = Served {
        seconds: vec![0; load.seconds as usize],
        writers: vec![0; load.writers],
        memory: (0, 8 << 20),
        ..Served::default()
    };
    let shared = Arc::new(Shared {
        db,
        clock,
        over: AtomicBool::new(false),
        served: Mutex::new(served),
        ids: AtomicU64::new(0),
    });
    let mut threads = Vec::new();
    for writer in 0..load.writers {
        let shared = shared.clone();
        threads.push(spawn("writer", move || write(&shared, load, writer, seed)));
    }
    let watched = shared.clone();
    let watcher = spawn("watcher", move || watch(&watched));
    for thread in threads {
        thread.join().unwrap_or_else(|e| panic!("{e}"));
    }
    shared.over.store(true, Ordering::SeqCst);
    watcher.join().unwrap_or_else(|e| panic!("{e}"));
    shared.db.close().expect("a good disk");
    shared.served.lock().clone()
}

fn write(shared: &Shared, load: Load, writer: usize, seed: u64) {
    let documents = shared.db.collection("documents");
    let mut rng = fastrand::Rng::with_seed(seed ^ (writer as u64 + 1));
    let end = Duration::from_secs(load.seconds);
    let rate = load.disk_bytes_per_s as f64 * load.times / load.writers as f64;
    let mut next = Duration::ZERO;
    loop {
        shared.clock.wait_until(next);
        let began = shared.clock.now();
        if began >= end {
            return;
        }
        let texts: Vec<String> = (0..load.batch)
            .map(|_| {
                // Half of the content is incompressible.
                let id = shared.ids.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
                let noise: String = (0..500).map(|_| rng.alphanumeric()).collect();
                format!(r#"{{"_id":{id},"noise":"{noise}","plain":"{}"}}"#, "a word and another ".repeat(25))
            })
            .collect();
        let bytes: usize = texts.iter().map(String::len).sum();
        documents.insert_many(texts).expect("a good disk");
        let done = shared.clock.now();
        let mut served = shared.served.lock();
        served.longest = served.longest.max(done - began);
        served.writers[writer] += bytes as u64;
        if let Some(second) = served.seconds.get_mut(done.as_secs() as usize) {
            *second += bytes as u64;
        }
        drop(served);
        // A writer that is late does not try to catch up.
        next = began.max(next) + Duration::from_secs_f64(bytes as f64 / rate);
    }
}

fn watch(shared: &Shared) {
    while !shared.over.load(Ordering::SeqCst) {
        let stats = shared.db.stats();
        let reported = stats.memtable_bytes + stats.job_bytes + stats.cache_bytes + stats.pinned_bytes;
        let mut served = shared.served.lock();
        served.memory.0 = served.memory.0.max(reported);
        drop(served);
        shared.clock.wait_until(shared.clock.now() + Duration::from_millis(50));
    }
}
