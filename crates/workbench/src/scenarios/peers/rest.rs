//! Waits until the background work of a store is done.

use crate::peer::Failure;
use alluvium_cli::process::cpu_time;
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use std::time::Duration;

/// The process rests if it takes less processor time than this in an interval.
const REST_CPU: Duration = Duration::from_millis(8);
const INTERVAL: Duration = Duration::from_millis(100);
/// The number of intervals of rest in a row that are the end.
const INTERVALS: u32 = 3;
/// Work that takes longer than this is not waited for.
const LIMIT: Duration = Duration::from_secs(120);

/// Settles a store, then waits until the process rests, since not every store can wait for all of
/// its background work. Returns the seconds until the rest began.
///
/// # Errors
/// Errors of `settle`.
pub(super) fn settled(settle: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let clock = Env::os().clock;
    let started = clock.now();
    settle()?;
    let (waiting, never) = (Mutex::new(()), Condvar::new());
    let (mut rests, mut began) = (0, clock.now());
    while rests < INTERVALS && clock.now().saturating_sub(started) < LIMIT {
        let before = cpu_time();
        never.wait_for(&mut waiting.lock(), INTERVAL);
        if cpu_time().saturating_sub(before) < REST_CPU {
            rests += 1;
        } else {
            (rests, began) = (0, clock.now());
        }
    }
    Ok(began.saturating_sub(started).as_secs_f64())
}
