//! Scenarios under shuttle's scheduler, which decides at each lock, condition variable and thread who goes on.

// The time that a soak gives is real.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::seed;

/// Runs a scenario under many schedules: half of them at random, half of them with threads that stand still for long while
/// others go on. The stack holds a database's calls.
pub fn schedules(usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::default();
    config.stack_size = 1 << 20;
    let scenario = std::sync::Arc::new(scenario);
    let started = std::time::Instant::now();
    let (mut done, each) = (0, seed::sequences(usual).div_ceil(2) as usize);
    while done == 0 || seed::has_time(started) {
        let (scenario, again) = (scenario.clone(), scenario.clone());
        let random = shuttle::scheduler::RandomScheduler::new(each);
        shuttle::Runner::new(random, config.clone()).run(move || scenario());
        let steady = shuttle::scheduler::PctScheduler::new(3, each);
        shuttle::Runner::new(steady, config.clone()).run(move || again());
        done += 1;
    }
    seed::tally("schedules", done * 2 * each as u64);
}
