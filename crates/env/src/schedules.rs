//! Runs scenarios of threads under many schedules, all of which are determined by a seed. For
//! tests, with the feature `shuttle`.
//!
//! The environment variables are the same as of `alluvium_testkit::seed`: `ALLUVIUM_SEED=7` runs
//! the schedules of one seed again, `ALLUVIUM_SEQUENCES=1000` sets the number of seeds,
//! `ALLUVIUM_SECONDS=60` runs new seeds until that time has passed, and `ALLUVIUM_FIRST=100` sets
//! the first seed. The number of schedules is appended to the file named by `ALLUVIUM_TALLY`.

// Tests read the seed to replay from the environment, measure real time, and report to the soak in
// a real file.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of schedules for one seed. With priorities, the first schedule only counts the steps.
pub const OF_A_SEED: u64 = 10;
/// The number of priority changes in a schedule.
const DEPTH: usize = 3;
/// A scenario that takes more steps is assumed not to end.
const MOST_STEPS: usize = 20_000_000;
/// Large enough for the call depth of a database.
const STACK_BYTES: usize = 1 << 20;

/// Runs a scenario under the schedules of a seed: with an even seed, threads are picked at random;
/// with an odd seed, some threads pause for a long time while others run.
///
/// # Panics
/// If the scenario panics, and on a deadlock.
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
    // The seed is sufficient to replay a failure.
    config.failure_persistence = FailurePersistence::None;
    Runner::new(scheduler, config).run(scenario);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// The seeds that the environment variables request.
struct Request {
    replayed: Option<u64>,
    first: u64,
    count: u64,
    limit: Option<Duration>,
}

impl Request {
    /// Requests `usual` seeds, unless the environment sets others.
    fn new(usual: u64) -> Self {
        Self {
            replayed: number("ALLUVIUM_SEED"),
            first: number("ALLUVIUM_FIRST").unwrap_or(0),
            count: number("ALLUVIUM_SEQUENCES").unwrap_or(usual),
            limit: number("ALLUVIUM_SECONDS").map(Duration::from_secs),
        }
    }

    /// The next seed, after `done` seeds have run and the time `elapsed` has passed; `None` at the
    /// end.
    fn next(&self, done: u64, elapsed: Duration) -> Option<u64> {
        let continues = match (self.replayed, self.limit) {
            (Some(_), _) => done == 0,
            (None, Some(limit)) => elapsed < limit,
            (None, None) => done < self.count,
        };
        continues.then(|| self.replayed.unwrap_or(self.first + done))
    }
}

/// Reports the number of schedules to the soak.
fn tally(schedules: u64) {
    let Some(path) = std::env::var_os("ALLUVIUM_TALLY") else { return };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "schedules\t{schedules}"));
    written.unwrap_or_else(|e| panic!("ALLUVIUM_TALLY={}: {e}", path.display()));
}

/// Runs a scenario under `usual` schedules, or under the schedules that the environment requests.
/// `test` is the part of the cargo command that selects this test.
///
/// # Panics
/// As [`run`], after printing the seed and the command that replays it.
pub fn check(test: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let (request, started, mut done) = (Request::new(usual.div_ceil(OF_A_SEED)), Instant::now(), 0);
    while let Some(seed) = request.next(done, started.elapsed()) {
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
