//! Scenarios under the seeded scheduler, which decides at each lock, condition variable and thread
//! operation which thread runs next.

use crate::replay::seed;
use alluvium::Durability;
use alluvium_env::schedules::OF_A_SEED;
use alluvium_store::{Options, Tuning};
use std::sync::Arc;

/// Options with two partitions and no background threads: the writing thread flushes and compacts.
pub fn small_options() -> Options {
    Options {
        partitions: Some(2),
        memory_bytes: 8 << 20,
        threads: Some(1),
        durability: Durability::Bulk,
        segment_bytes: Some(64 << 10),
        disk_reserve_bytes: Some(0),
        background: false,
        // The budget makes a run of an index build contain only a few entries.
        tuning: Tuning { gather_bytes: Some(60), ..Tuning::default() },
        ..Options::default()
    }
}

/// Runs a scenario of a test file under many schedules. A seed determines everything in a run.
///
/// # Panics
/// If the scenario panics, after printing the seed and the command that repeats it.
pub fn schedules(file: &str, name: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let test = format!("{file} --features shuttle {name}");
    seed::each(&test, 0, usual.div_ceil(OF_A_SEED), |seed| {
        let scenario = scenario.clone();
        alluvium_env::schedules::run(seed, move || scenario());
        seed::tally("schedules", OF_A_SEED);
    });
}
