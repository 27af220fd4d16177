//! Scenarios of threads under many schedules, all of which follow from a seed. For tests, with the feature `shuttle`.
//!
//! The same variables say what to run as in `alluvium_testkit::seed`: `ALLUVIUM_SEED=7` runs the schedules of one seed again,
//! `ALLUVIUM_SEQUENCES=1000` those of so many seeds in place of the usual number, `ALLUVIUM_SECONDS=60` those of as many as there
//! is time for, and `ALLUVIUM_FIRST=100` begins with that seed. How many schedules there were is appended to the file that
//! `ALLUVIUM_TALLY` names.

// Tests are told by the environment what to replay, and tell the soak in a real file and by a real clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// The seeds that the environment asks for.
struct Asked {
    replayed: Option<u64>,
    first: u64,
    count: u64,
    limit: Option<Duration>,
}

impl Asked {
    /// `usual` seeds, if nobody asks for others.
    fn new(usual: u64) -> Self {
        Self {
            replayed: number("ALLUVIUM_SEED"),
            first: number("ALLUVIUM_FIRST").unwrap_or(0),
            count: number("ALLUVIUM_SEQUENCES").unwrap_or(usual),
            limit: number("ALLUVIUM_SECONDS").map(Duration::from_secs),
        }
    }

    /// The next seed, after so many and so much time.
    fn next(&self, done: u64, elapsed: Duration) -> Option<u64> {
        let goes_on = match (self.replayed, self.limit) {
            (Some(_), _) => done == 0,
            (None, Some(limit)) => elapsed < limit,
            (None, None) => done < self.count,
        };
        goes_on.then(|| self.replayed.unwrap_or(self.first + done))
    }
}

/// Tells the soak how many schedules there were.
fn tally(schedules: u64) {
    let Some(path) = std::env::var_os("ALLUVIUM_TALLY") else { return };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "schedules\t{schedules}"));
    written.unwrap_or_else(|e| panic!("ALLUVIUM_TALLY={}: {e}", path.display()));
}

/// Runs a scenario under so many schedules, or under those that the environment asks for. `test` is what cargo is told to
/// run it alone.
///
/// # Panics
/// As [`run`], after printing the seed and how to run it again.
pub fn check(test: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let (asked, started, mut done) = (Asked::new(usual.div_ceil(OF_A_SEED)), Instant::now(), 0);
    while let Some(seed) = asked.next(done, started.elapsed()) {
        let again = scenario.clone();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed, move || again()))) {
            eprintln!("seed {seed} failed; run it alone: ALLUVIUM_SEED={seed} cargo test --features shuttle {test}");
            resume_unwind(panic);
        }
        done += 1;
    }
    tally(done * OF_A_SEED);
}

#[cfg(test)]
mod tests;
