//! Slows down clients that guess passwords.

use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Failures are counted for this time after the first failure.
const WINDOW: Duration = Duration::from_secs(60);
/// The number of failures within [`WINDOW`] that cause no delay, because people mistype passwords.
const FREE: u32 = 5;
/// The delay that each further failure adds.
const STEP: Duration = Duration::from_millis(200);
/// The longest delay.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// The most sources whose failures are counted.
const SOURCES_MAX: usize = 20_000;

/// The failed logins by address and by user.
pub(crate) struct Failures {
    counts: Mutex<HashMap<Source, Count>>,
    env: Env,
}

/// The source of failed logins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// The address of a client, without its port.
    Address(String),
    /// A user, as `db.name`.
    User(String),
}

#[derive(Clone, Copy)]
struct Count {
    failures: u32,
    since: Duration,
}

impl Failures {
    pub(crate) fn new(env: Env) -> Self {
        Self { counts: Mutex::new(HashMap::new()), env }
    }

    /// Counts a failed login.
    pub(crate) fn add(&self, sources: [Source; 2]) {
        let now = self.env.clock.now();
        let mut counts = self.counts.lock();
        if counts.len() + sources.len() > SOURCES_MAX {
            counts.retain(|_, count| is_recent(count, now));
        }
        if counts.len() + sources.len() > SOURCES_MAX {
            // More sources within a minute mean an attack from many addresses. All counts are reset.
            counts.clear();
        }
        for source in sources {
            let count = counts.entry(source).or_insert(Count { failures: 0, since: now });
            if !is_recent(count, now) {
                *count = Count { failures: 0, since: now };
            }
            count.failures = count.failures.saturating_add(1);
        }
    }

    /// The delay of the answer to a login. A successful login is delayed, too, because otherwise a fast answer would
    /// show that the password is right.
    pub(crate) fn delay(&self, sources: &[Source; 2]) -> Duration {
        let now = self.env.clock.now();
        let counts = self.counts.lock();
        let recent = sources.iter().filter_map(|source| counts.get(source)).filter(|count| is_recent(count, now));
        let failures = recent.map(|count| count.failures).max().unwrap_or(0);
        STEP.saturating_mul(failures.saturating_sub(FREE - 1)).min(DELAY_MAX)
    }
}

fn is_recent(count: &Count, now: Duration) -> bool {
    now.saturating_sub(count.since) <= WINDOW
}

#[cfg(test)]
mod tests;
