//! Seeds: one number determines every random test. A test that fails prints its seed, and the seed repeats the failure.
//!
//! `ALLUVIUM_SEED=7 cargo test -p alluvium-testkit --test NAME` repeats one failed sequence. `ALLUVIUM_SEQUENCES=10000`
//! runs this number of sequences instead of the usual number. `ALLUVIUM_SECONDS=60` runs as many sequences as fit this
//! time. `ALLUVIUM_FIRST=100` starts with this seed. Counts are appended to the file named in `ALLUVIUM_TALLY`, and
//! `tests/soak/run` adds them up.

// Environment variables select the runs to repeat, and results for the soak are written to a real file.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::marks;
use alluvium_env::mark::Mark;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number in an environment variable.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// The number of sequences to run; `usual` is the default without `ALLUVIUM_SEQUENCES`.
pub fn sequences(usual: u64) -> u64 {
    number("ALLUVIUM_SEQUENCES").unwrap_or(usual)
}

/// The time for running sequences, if one was requested instead of a number of sequences.
fn seconds() -> Option<Duration> {
    requested_seconds().map(Duration::from_secs)
}

/// The time in seconds that was requested instead of the usual number of sequences.
pub fn requested_seconds() -> Option<u64> {
    number("ALLUVIUM_SECONDS")
}

/// If this variable is 1, tests that have a larger size for the soak use that size. Failures of such runs print the
/// variable.
pub const LARGE: &str = "ALLUVIUM_LARGE";

/// True if tests should use their size for the soak: a time was requested, or a seed of such a run is repeated.
pub fn is_large() -> bool {
    seconds().is_some() || number(LARGE) == Some(1)
}

/// True if the usual number of sequences is run, so that rare events must occur. Always false under `ALLUVIUM_MUTANTS`,
/// where only broken promises count.
pub fn is_usual(usual: u64) -> bool {
    number("ALLUVIUM_MUTANTS").is_none() && replayed().is_none() && seconds().is_none() && sequences(usual) >= usual
}

/// The current time, for [`has_time`].
pub fn now() -> Instant {
    Instant::now()
}

/// True until `ALLUVIUM_SECONDS` have passed; false if no time was requested.
pub fn has_time(started: Instant) -> bool {
    seconds().is_some_and(|limit| started.elapsed() < limit)
}

/// True if another sequence is to be run; `usual` is the default number of sequences.
pub fn continues(started: Instant, done: u64, usual: u64) -> bool {
    match seconds() {
        Some(limit) => started.elapsed() < limit,
        None => done < sequences(usual),
    }
}

/// Reports a count to the soak.
pub fn tally(what: &str, count: u64) {
    let Some(path) = std::env::var_os("ALLUVIUM_TALLY") else { return };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{what}\t{count}"));
    written.unwrap_or_else(|e| panic!("ALLUVIUM_TALLY={}: {e}", path.display()));
}

/// Reports to the soak how often this process took each rare path since the last report.
pub fn tally_rare() {
    static REPORTED: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    if std::env::var_os("ALLUVIUM_TALLY").is_none() {
        return;
    }
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    reported.resize(marks::all().count(), 0);
    for (mark, reported) in marks::all().zip(reported.iter_mut()) {
        let now = mark.hits();
        tally(&rare_row(mark.description()), now - *reported);
        *reported = now;
    }
}

/// The name of the row for a rare path in the soak's table.
pub fn rare_row(description: &str) -> String {
    format!("rare: {description}")
}

/// Checks that this process took each of these paths. For tests that run `usual` sequences, which are enough to take
/// all of them.
///
/// # Panics
/// If a path was not taken.
pub fn must_have_met(usual: u64, paths: &[&Mark]) {
    if is_usual(usual) {
        let never: Vec<&str> = paths.iter().filter(|mark| mark.hits() == 0).map(|mark| mark.description()).collect();
        assert!(never.is_empty(), "never met: {never:?}");
    }
}

/// The first seed.
pub fn first() -> u64 {
    replayed().unwrap_or_else(|| number("ALLUVIUM_FIRST").unwrap_or(0))
}

/// The seed to repeat, if one is given.
pub fn replayed() -> Option<u64> {
    number("ALLUVIUM_SEED")
}

/// Runs `body` for `usual` seeds, beginning with `first`, or for the seed in `ALLUVIUM_SEED`.
///
/// # Panics
/// If `body` panics, after printing the seed and the command that repeats it.
pub fn each(test: &str, first: u64, usual: u64, body: impl Fn(u64)) {
    run(test, "", first, usual, &body);
}

/// Like [`each`], for one part of a test, which an environment variable selects. A failure prints the variable.
///
/// # Panics
/// If `body` panics, after printing the seed and the command that repeats it.
pub fn each_of(test: &str, variable: &str, part: &str, usual: u64, body: impl Fn(u64)) {
    run(test, &format!("{variable}={part} "), 0, usual, &body);
}

fn run(test: &str, chosen: &str, first: u64, usual: u64, body: &impl Fn(u64)) {
    if let Some(seed) = replayed() {
        return one(test, chosen, seed, body);
    }
    let first = number("ALLUVIUM_FIRST").map_or(first, |from| first + from);
    let started = Instant::now();
    let mut done = 0;
    while continues(started, done, usual) {
        one(test, chosen, first + done, body);
        done += 1;
    }
    tally(format!("sequences: {test} {chosen}").trim_end(), done);
    tally_rare();
}

fn one(test: &str, chosen: &str, seed: u64, body: &impl Fn(u64)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(seed))) {
        // Names of tests in other packages include the package.
        let package = if test.starts_with("-p ") { "" } else { "-p alluvium-testkit --test " };
        eprintln!("seed {seed} failed; run it alone: {chosen}ALLUVIUM_SEED={seed} cargo test {package}{test}");
        resume_unwind(panic);
    }
}
