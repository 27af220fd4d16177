//! Seeds: every random test runs from one number, prints it when it fails, and runs it again.
//!
//! `ALLUVIUM_SEED=7 cargo test -p alluvium-testkit --test NAME` runs the one sequence that
//! failed; `ALLUVIUM_SEQUENCES=10000` runs this many instead of the usual number, `ALLUVIUM_SECONDS=60` as many as
//! there is time for, and `ALLUVIUM_FIRST=100` begins with that seed. What was done is appended to the file that
//! `ALLUVIUM_TALLY` names, for `tests/soak/run` to add up.

// The environment says what to replay, and results for the soak go into a real file.
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

/// How many sequences to run, where `usual` is the number without `ALLUVIUM_SEQUENCES`.
pub fn sequences(usual: u64) -> u64 {
    number("ALLUVIUM_SEQUENCES").unwrap_or(usual)
}

/// For how long sequences are run, in place of a number of them.
fn seconds() -> Option<Duration> {
    requested_seconds().map(Duration::from_secs)
}

/// The requested seconds, in place of the usual number of sequences.
pub fn requested_seconds() -> Option<u64> {
    number("ALLUVIUM_SECONDS")
}

/// Set to 1, tests that have a size for the soak take it; their failures print that.
pub const LARGE: &str = "ALLUVIUM_LARGE";

/// True if tests that have a size for the soak are to take it: there is time, or a seed of one is run again.
pub fn is_large() -> bool {
    seconds().is_some() || number(LARGE) == Some(1)
}

/// True if as many sequences are run as usual, so that rare things must be met; never under `ALLUVIUM_MUTANTS`, where
/// only broken promises count.
pub fn is_usual(usual: u64) -> bool {
    number("ALLUVIUM_MUTANTS").is_none() && replayed().is_none() && seconds().is_none() && sequences(usual) >= usual
}

/// The start that is passed to [`has_time`].
pub fn now() -> Instant {
    Instant::now()
}

/// True while `ALLUVIUM_SECONDS` are not over; false if no time was requested.
pub fn has_time(started: Instant) -> bool {
    seconds().is_some_and(|limit| started.elapsed() < limit)
}

/// True while more sequences are to be run, where `usual` is the default number.
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

/// Reports to the soak how often this process has taken each rare path since the last report.
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

/// The row of the soak's table that counts a rare path.
pub fn rare_row(description: &str) -> String {
    format!("rare: {description}")
}

/// Errors unless each of these paths was taken by this process: for a test that runs as many sequences as `usual`,
/// which always meet them.
///
/// # Panics
/// If one was not.
pub fn must_have_met(usual: u64, paths: &[&Mark]) {
    if is_usual(usual) {
        let never: Vec<&str> = paths.iter().filter(|mark| mark.hits() == 0).map(|mark| mark.description()).collect();
        assert!(never.is_empty(), "never met: {never:?}");
    }
}

/// The seed to begin with.
pub fn first() -> u64 {
    replayed().unwrap_or_else(|| number("ALLUVIUM_FIRST").unwrap_or(0))
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
    run(test, "", first, usual, &body);
}

/// As [`each`], for one part of a test, which an environment variable chooses: a failure prints it.
///
/// # Panics
/// As `body` does, after printing the seed and how to run it again.
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
        // Tests of other packages say which.
        let package = if test.starts_with("-p ") { "" } else { "-p alluvium-testkit --test " };
        eprintln!("seed {seed} failed; run it alone: {chosen}ALLUVIUM_SEED={seed} cargo test {package}{test}");
        resume_unwind(panic);
    }
}
