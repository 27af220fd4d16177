//! Slows down clients that guess passwords.

use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Failures are counted for this long after the first.
const WINDOW: Duration = Duration::from_secs(60);
/// The failures within [`WINDOW`] that cost nothing: people mistype passwords.
const FREE: u32 = 5;
/// The delay that each further failure adds.
const STEP: Duration = Duration::from_millis(200);
/// The longest delay.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// The most sources that are remembered.
const SOURCES_MAX: usize = 20_000;

/// Logins that failed, by the address and by the user.
pub(crate) struct Failures {
    counts: Mutex<HashMap<Source, Count>>,
    env: Env,
}

/// The subject for which failures are counted.
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

    /// Notes that a login failed.
    pub(crate) fn add(&self, sources: [Source; 2]) {
        let now = self.env.clock.now();
        let mut counts = self.counts.lock();
        if counts.len() + sources.len() > SOURCES_MAX {
            counts.retain(|_, count| is_recent(count, now));
        }
        if counts.len() + sources.len() > SOURCES_MAX {
            // More sources than this within a minute are an attack from many addresses: the count starts again.
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

    /// How long the answer to a login waits, whether it succeeds or not: an answer that came at once would be a sign.
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
