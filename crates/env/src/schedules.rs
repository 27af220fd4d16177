//! Scenarios of threads under many schedules, all of which follow from a seed. For tests, with the feature `shuttle`.
//!
//! The same variables say what to run as in `testkit::seed`: `ALLUVIUM_SEED=7` runs the schedules of one seed again,
//! `ALLUVIUM_SEQUENCES=1000` those of so many seeds in place of the usual number.

// Tests are told by the environment what to replay.
#![allow(clippy::disallowed_methods)]

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// So many schedules follow from a seed. The first of those with priorities only counts the steps.
pub const OF_A_SEED: u64 = 10;
/// So many turns of priorities.
const DEPTH: usize = 3;
/// A scenario that takes more steps goes round in circles.
const MOST_STEPS: usize = 20_000_000;
/// Holds the calls of a database.
const STACK_BYTES: usize = 1 << 20;

/// Runs a scenario under the schedules of a seed: of even ones at random; of odd ones with threads that stand still for
/// long while others go on.
///
/// # Panics
/// As the scenario does, and if its threads wait for each other for ever.
pub fn run(seed: u64, scenario: impl Fn() + Send + Sync + 'static) {
    if seed.is_multiple_of(2) {
        under(RandomScheduler::new_from_seed(seed, OF_A_SEED as usize), scenario);
    } else {
        under(PctScheduler::new_from_seed(seed, DEPTH, OF_A_SEED as usize), scenario);
    }
}

fn under(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::default();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    // The seed is enough.
    config.failure_persistence = FailurePersistence::None;
    Runner::new(scheduler, config).run(scenario);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// Runs a scenario under so many schedules, or under those of the seed to be replayed. `test` is what cargo is told to run
/// it alone.
///
/// # Panics
/// As [`run`], after printing the seed and how to run it again.
pub fn check(test: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let seeds = match number("ALLUVIUM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ALLUVIUM_SEQUENCES").unwrap_or(usual.div_ceil(OF_A_SEED)),
    };
    for seed in seeds {
        let again = scenario.clone();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed, move || again()))) {
            eprintln!("seed {seed} failed; run it alone: ALLUVIUM_SEED={seed} cargo test --features shuttle {test}");
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests;
