//! Seeds: every random test runs from one number, prints it when it fails, and runs it again.
//!
//! `ALLUVIUM_SEED=7 cargo test -p alluvium-testkit --test NAME` runs the one sequence that
//! failed; `ALLUVIUM_SEQUENCES=10000` runs so many instead of the usual number.

// Tests are told by the environment what to replay.
#![allow(clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The number in an environment variable.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// How many sequences to run, where `usual` is the number without `ALLUVIUM_SEQUENCES`.
pub fn sequences(usual: u64) -> u64 {
    number("ALLUVIUM_SEQUENCES").unwrap_or(usual)
}

/// The seed to replay, if there is one.
pub fn replayed() -> Option<u64> {
    number("ALLUVIUM_SEED")
}

/// Runs `body` for the seeds from `first` on, `usual` of them, or for the one of `ALLUVIUM_SEED`.
///
/// # Panics
/// As `body` does, after printing the seed and how to run it again.
pub fn each(test: &str, first: u64, usual: u64, body: impl Fn(u64)) {
    if let Some(seed) = replayed() {
        return one(test, seed, &body);
    }
    for seed in first..first + sequences(usual) {
        one(test, seed, &body);
    }
}

fn one(test: &str, seed: u64, body: &impl Fn(u64)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(seed))) {
        eprintln!(
            "seed {seed} failed; run it alone: ALLUVIUM_SEED={seed} cargo test -p alluvium-testkit --test {test}"
        );
        resume_unwind(panic);
    }
}
