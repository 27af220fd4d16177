//! Waits until the background work of a store is done.

use crate::peer::Failure;
use alluvium_cli::process::cpu_time;
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use std::time::Duration;

/// The process is at rest in an interval if it takes less processor time than this.
const REST_CPU: Duration = Duration::from_millis(8);
const INTERVAL: Duration = Duration::from_millis(100);
/// The work is done after this number of consecutive intervals at rest.
const INTERVALS: u32 = 3;
/// The maximum time to wait.
const LIMIT: Duration = Duration::from_secs(120);

/// Settles a store, then waits until the process is at rest, because not every store can wait for
/// all of its background work. Returns the seconds until the rest began.
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
