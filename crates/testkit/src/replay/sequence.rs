//! Sequences of numbered steps, which are shortened when they fail.
//!
//! Each step is determined by the seed and its own number, so that steps can be left out without changing the others. A
//! failing sequence is repeated with fewer and fewer steps, as long as it still fails. The shortest failing sequence is
//! printed with the command that runs it. `ALLUVIUM_STEPS=3,17,20`, together with `ALLUVIUM_SEED`, runs only these
//! steps. `ALLUVIUM_SHRINK` is the time for shortening in seconds; 0 disables it.

// Environment variables select the runs to repeat. Real time limits the search for a shorter sequence.
#![allow(clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time for shortening a failing sequence in seconds.
const LOOK_FOR: u64 = 30;

static QUIET: AtomicBool = AtomicBool::new(false);

/// True while shorter sequences are tried. Their output is suppressed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::SeqCst)
}

/// The random number generator of a step.
pub(crate) fn rng_of(seed: u64, step: u32) -> fastrand::Rng {
    fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(step) << 32 | 0x5eed))
}

/// The numbers of the steps in `ALLUVIUM_STEPS`.
fn given() -> Option<Vec<u32>> {
    let text = std::env::var("ALLUVIUM_STEPS").ok()?;
    let number =
        |part: &str| part.trim().parse().unwrap_or_else(|_| panic!("ALLUVIUM_STEPS={text}: {part} is no number"));
    Some(text.split(',').filter(|part| !part.trim().is_empty()).map(number).collect())
}

/// Runs `body` with the steps from 0 to `count`, or with the steps in `ALLUVIUM_STEPS`. If `body` fails, prints the
/// shortest failing sequence that was found, and the last output of that sequence.
///
/// # Panics
/// If `body` panics.
pub fn check(count: u32, body: impl Fn(&[u32])) {
    if let Some(steps) = given() {
        return body(&steps);
    }
    let all: Vec<u32> = (0..count).collect();
    let Err(failure) = catch_unwind(AssertUnwindSafe(|| body(&all))) else { return };
    let limit = crate::replay::seed::number("ALLUVIUM_SHRINK").unwrap_or(LOOK_FOR);
    if limit == 0 {
        resume_unwind(failure);
    }
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    QUIET.store(true, Ordering::SeqCst);
    let steps =
        shrink(all, Duration::from_secs(limit), |steps| catch_unwind(AssertUnwindSafe(|| body(steps))).is_err());
    QUIET.store(false, Ordering::SeqCst);
    set_hook(hook);
    let words: Vec<String> = steps.iter().map(u32::to_string).collect();
    eprintln!("\n{} of {count} steps are enough to fail: ALLUVIUM_STEPS={}", steps.len(), words.join(","));
    body(&steps);
    // The sequence did not fail again, because the schedule of threads matters, too.
    resume_unwind(failure);
}

/// Leaves out halves of the steps, then quarters and so on, as long as the remaining steps fail.
fn shrink(mut steps: Vec<u32>, limit: Duration, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let began = Instant::now();
    let mut size = steps.len().div_ceil(2);
    while size > 0 {
        let mut end = steps.len();
        // Parts at the end are tried first, because steps after the failure are not needed.
        while end > 0 && began.elapsed() < limit {
            let start = end.saturating_sub(size);
            let fewer = [&steps[..start], &steps[end..]].concat();
            if fails(&fewer) {
                steps = fewer;
            }
            end = start;
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    steps
}

#[cfg(test)]
mod tests;
