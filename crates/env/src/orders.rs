//! Runs small scenarios of threads under all orders of their steps. For tests, with the feature
//! `loom`.
//!
//! If [`crate::sync`] runs on a scheduler, each step sees the effects of all earlier steps. Loom's
//! model also lets an atomic's load see older values, as far as the memory orders in the code allow
//! it (Norris and Demsky, CDSChecker, 2013), so that a `Relaxed` that has to be an `Acquire` is
//! found on any machine.

use loom::model::Builder;

/// The maximum number of interruptions of threads in one order. A small number finds nearly all
/// bugs (Musuvathi and Qadeer, CHESS, 2007).
const INTERRUPTIONS: usize = 3;
/// A scenario that takes more steps is assumed not to end.
const MOST_STEPS: usize = 10_000;

/// Runs a scenario under all orders in which its threads are interrupted at most three times.
/// `LOOM_LOG=1` prints the steps of a failing order; `LOOM_MAX_PREEMPTIONS` sets another limit.
///
/// # Panics
/// If the scenario panics, and on a deadlock.
pub fn check(scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(INTERRUPTIONS));
    model.max_branches = MOST_STEPS;
    model.check(scenario);
}
