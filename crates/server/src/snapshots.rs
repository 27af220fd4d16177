//! Snapshots that clients read at, by their cluster times.

use crate::error::{CommandError, CommandResult};
use crate::principal::Principal;
use alluvium::{Database, Snapshot, Timestamp};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// A snapshot can be read at this long after its last use, as in MongoDB.
const KEPT: Duration = Duration::from_secs(300);
/// The most snapshots that are kept.
const SNAPSHOTS_MAX: usize = 1_000;

/// The snapshots that clients have read at, by the number of their last operation.
pub(crate) struct Snapshots {
    kept: Mutex<State>,
    env: Env,
}

#[derive(Default)]
struct State {
    by_number: BTreeMap<u64, Kept>,
    /// How many of them each principal has used last.
    counts: HashMap<Principal, usize>,
}

struct Kept {
    snapshot: Snapshot,
    last_used: Duration,
    /// Who has used it last.
    by: Principal,
}

impl State {
    /// Makes room for one more: of the principal that has the most snapshots, the one that was not used for the longest
    /// time is dropped. So no principal loses one while another has more.
    fn make_room(&mut self) {
        let Some(most) = self.counts.values().max() else { return };
        let is_greedy = |by: &Principal| self.counts.get(by) == Some(most);
        let theirs = self.by_number.iter().filter(|(_, kept)| is_greedy(&kept.by));
        if let Some(oldest) = theirs.min_by_key(|(_, kept)| kept.last_used).map(|(number, _)| *number) {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(kept) = self.by_number.remove(&number) {
            self.count(&kept.by, false);
        }
    }

    fn count(&mut self, principal: &Principal, is_more: bool) {
        let count = self.counts.entry(principal.clone()).or_default();
        *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.counts.remove(principal);
        }
    }

    /// Notes a use of a snapshot that is kept.
    fn renew(&mut self, number: u64, by: &Principal, now: Duration) -> Option<Snapshot> {
        let kept = self.by_number.get_mut(&number)?;
        kept.last_used = now;
        let snapshot = kept.snapshot.clone();
        let before = std::mem::replace(&mut kept.by, by.clone());
        self.count(&before, false);
        self.count(by, true);
        Some(snapshot)
    }
}

impl Snapshots {
    pub(crate) fn new(env: Env) -> Self {
        Self { kept: Mutex::default(), env }
    }

    /// The snapshot at a time, or a new one. When there are too many, the principal that has the most loses one.
    ///
    /// # Errors
    /// Error 239 if it is not kept any more.
    pub(crate) fn get(
        &self,
        db: &Database,
        by: &Principal,
        at: Option<Timestamp>,
    ) -> CommandResult<(Snapshot, Timestamp)> {
        let now = self.env.clock.now();
        let mut state = self.kept.lock();
        if let Some(at) = at {
            if let Some(snapshot) = state.renew(number(at), by, now) {
                return Ok((snapshot, at));
            }
            if number(at) < db.store().visible() {
                let message = "Read timestamp is older than the oldest available timestamp: begin a new session";
                return Err(CommandError::new(239, "SnapshotTooOld", message));
            }
        }
        let snapshot = db.snapshot();
        let number = snapshot.store.seq();
        if let Some(snapshot) = state.renew(number, by, now) {
            return Ok((snapshot, timestamp(number)));
        }
        if state.by_number.len() >= SNAPSHOTS_MAX {
            state.make_room();
        }
        state.count(by, true);
        state.by_number.insert(number, Kept { snapshot: snapshot.clone(), last_used: now, by: by.clone() });
        Ok((snapshot, timestamp(number)))
    }

    /// Drops snapshots that were not used for long.
    pub(crate) fn expire(&self) {
        let now = self.env.clock.now();
        let mut state = self.kept.lock();
        let is_old = |kept: &Kept| now.saturating_sub(kept.last_used) >= KEPT;
        let old: Vec<u64> =
            state.by_number.iter().filter(|(_, kept)| is_old(kept)).map(|(number, _)| *number).collect();
        old.into_iter().for_each(|number| state.remove(number));
    }
}

/// The cluster time of an operation: its number, with 1 added to the upper half, since clients take zero for no time.
pub(crate) fn timestamp(number: u64) -> Timestamp {
    let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap_or(u32::MAX);
    Timestamp { time: half(number >> 32).saturating_add(1), increment: half(number) }
}

/// The number of an operation, by its cluster time.
pub(crate) fn number(time: Timestamp) -> u64 {
    (u64::from(time.time.saturating_sub(1)) << 32) | u64::from(time.increment)
}

#[cfg(test)]
mod tests;
