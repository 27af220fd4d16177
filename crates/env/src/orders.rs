//! Small scenarios of threads under all orders of their steps. For tests, with the feature `loom`.
//!
//! Where [`crate::sync`] runs on a scheduler, each step sees what all steps before it have done. Loom's model also lets
//! an atomic's load see older values, as far as the orders that the code asks for allow it (Norris and Demsky, CDSChecker,
//! 2013), so that a `Relaxed` that has to be an `Acquire` is found on any machine.

use loom::model::Builder;

/// A thread is interrupted at most so many times in one order: that finds nearly all (Musuvathi and Qadeer, CHESS, 2007).
const INTERRUPTIONS: usize = 3;
/// A scenario that takes more steps goes round in circles.
const MOST_STEPS: usize = 10_000;

/// Runs a scenario under all orders in which its threads are interrupted at most three times. `LOOM_LOG=1` tells the
/// steps of the one that fails; `LOOM_MAX_PREEMPTIONS` sets another number.
///
/// # Panics
/// As the scenario does, and if its threads wait for each other for ever.
pub fn check(scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(INTERRUPTIONS));
    model.max_branches = MOST_STEPS;
    model.check(scenario);
}
