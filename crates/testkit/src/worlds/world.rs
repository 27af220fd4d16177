//! The world of a database: files in memory, and a manual clock.

use alluvium::{Compression, Database, Durability};
use alluvium_env::fault::FaultFs;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Options, Tuning};
use std::sync::Arc;

/// The database's directory in a world.
pub const PATH: &str = "db";

/// A machine in memory.
pub struct World {
    /// The disk.
    pub mem: Arc<MemFs>,
    /// The disk, with faults and hooks.
    pub faults: Arc<FaultFs>,
    /// The clock.
    pub clock: Arc<ManualClock>,
    /// The environment with these parts, for the database.
    pub env: Env,
    seed: u64,
}

impl World {
    /// A machine with an empty disk.
    pub fn new(seed: u64) -> Self {
        Self::over(MemFs::new(), seed)
    }

    /// A machine with this disk.
    pub fn over(mem: MemFs, seed: u64) -> Self {
        let mem = Arc::new(mem);
        let faults = Arc::new(FaultFs::over(mem.clone()));
        let clock = Arc::new(ManualClock::new());
        let rng = Arc::new(SeededRng::new(seed));
        let env = Env { fs: faults.clone(), clock: clock.clone(), rng };
        Self { mem, faults, clock, env, seed }
    }

    /// The machine after a kill of the process.
    pub fn killed(&self) -> Self {
        Self::over(self.mem.kill_clone(), self.seed.wrapping_add(1))
    }

    /// The machine after a power cut.
    pub fn cut(&self, seed: u64, style: CrashStyle) -> Self {
        Self::over(self.mem.crash_clone(seed, style), self.seed.wrapping_add(1))
    }

    /// Opens the database.
    ///
    /// # Errors
    /// The same as for [`alluvium::Builder::open`].
    pub fn open(&self, options: &Options) -> alluvium::Result<Database> {
        Database::builder().env(self.env.clone()).options(options.clone()).open(PATH)
    }
}

/// Small random options, without background threads. The number of partitions is given, because it cannot change after
/// the creation of a database.
pub fn random_options(rng: &mut fastrand::Rng, partitions: u32, durability: Durability) -> Options {
    Options {
        partitions: if rng.bool() { Some(partitions) } else { None },
        memory_bytes: 8 << 20,
        threads: Some(1),
        durability,
        block_bytes: [1 << 10, 2 << 10, 8 << 10][rng.usize(0..3)],
        compression: [
            Compression::None,
            Compression::Lz4,
            Compression::Zstd { level: 1 },
            Compression::Zstd { level: 3 },
        ][rng.usize(0..4)],
        // Groups begin at 8 KiB, so a segment has one group, a few, or many.
        segment_bytes: [Some(4 << 10), Some(9 << 10), Some(12 << 10), Some(64 << 10)][rng.usize(0..4)],
        file_bytes: [None, Some(1 << 10), Some(4 << 10), Some(64 << 10)][rng.usize(0..4)],
        filter_bits_per_key: [0, 4, 10][rng.usize(0..3)],
        // No reserve, a reserve that is small enough to be reached, or the default.
        disk_reserve_bytes: [Some(0), Some(0), Some(100 << 10), None][rng.usize(0..4)],
        background: false,
        tuning: random_tuning(rng),
        ..Options::default()
    }
}

/// Random sizes that are so small that a sequence of a few hundred operations covers the cases of a large database.
/// Sometimes only some of them are small, or none.
fn random_tuning(rng: &mut fastrand::Rng) -> Tuning {
    if rng.u8(0..4) == 0 {
        return Tuning::default();
    }
    Tuning {
        volume_bytes: None,
        memtable_bytes: [None, Some(500), Some(2 << 10), Some(8 << 10)][rng.usize(0..4)],
        log_limit_bytes: [None, Some(10 << 10), Some(30 << 10)][rng.usize(0..3)],
        log_compression_bytes: [None, Some(1), Some(300)][rng.usize(0..3)],
        manifest_bytes: [None, Some(200), Some(2 << 10)][rng.usize(0..3)],
        upper_floor_bytes: [None, Some(1 << 10), Some(6 << 10)][rng.usize(0..3)],
        max_runs: [None, Some(3), Some(5)][rng.usize(0..3)],
        max_job_bytes: [None, Some(4 << 10), Some(32 << 10)][rng.usize(0..3)],
        small_tree_bytes: [None, Some(0), Some(500)][rng.usize(0..3)],
        few_tombstones: [None, Some(0), Some(5)][rng.usize(0..3)],
        dictionary_file_bytes: [None, Some(2 << 10), Some(8 << 10)][rng.usize(0..3)],
        index_partition_blocks: [None, Some(2), Some(5)][rng.usize(0..3)],
        max_range_bytes: [None, Some(200)][rng.usize(0..2)],
        full_range_bytes: None,
        max_definitions: [None, Some(1), Some(6)][rng.usize(0..3)],
        max_batch_bytes: None,
        gather_bytes: [None, Some(2), Some(100), Some(600)][rng.usize(0..4)],
    }
}
