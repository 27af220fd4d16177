//! Scenarios under the seeded scheduler, which decides at each lock, condition variable and thread who goes on.

use crate::seed;
use env::schedules::OF_A_SEED;
use std::sync::Arc;

/// Runs a scenario of a test file under many schedules. What a seed runs follows from it alone.
///
/// # Panics
/// As the scenario does, after printing the seed and how to run it again.
pub fn schedules(file: &str, name: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let test = format!("{file} --features shuttle {name}");
    seed::each(&test, 0, usual.div_ceil(OF_A_SEED), |seed| {
        let scenario = scenario.clone();
        env::schedules::run(seed, move || scenario());
        seed::tally("schedules", OF_A_SEED);
    });
}
