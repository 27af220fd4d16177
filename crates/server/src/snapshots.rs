//! Snapshots that clients read, by their cluster times.

use crate::cluster_time::ClusterTime;
use crate::error::{CommandError, CommandResult};
use crate::principal::Principal;
use crate::write_gate::WriteGate;
use alluvium::{Database, Snapshot, Timestamp};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// A snapshot is kept for this time after its last use, as in MongoDB.
const KEPT: Duration = Duration::from_secs(300);
/// The most snapshots that are kept.
const SNAPSHOTS_MAX: usize = 1_000;

/// The snapshots that clients have read.
pub(crate) struct Snapshots {
    kept: Mutex<State>,
    env: Env,
}

#[derive(Default)]
struct State {
    /// The snapshots, by the first time at which each is the latest state.
    by_time: BTreeMap<Timestamp, Kept>,
    /// The number of snapshots that each principal was the last to use.
    counts: HashMap<Principal, usize>,
}

struct Kept {
    snapshot: Snapshot,
    /// The last time at which the snapshot is known to be the latest state.
    to: Timestamp,
    last_used: Duration,
    /// The principal that has used it last.
    by: Principal,
}

impl State {
    /// If the limit is reached, removes a snapshot of the principal with the most snapshots: the snapshot that was not
    /// used for the longest time. Therefore, no principal loses a snapshot while another has more.
    fn make_room(&mut self) {
        let Some(most) = self.counts.values().max() else { return };
        let is_greedy = |by: &Principal| self.counts.get(by) == Some(most);
        let theirs = self.by_time.iter().filter(|(_, kept)| is_greedy(&kept.by));
        if let Some(oldest) = theirs.min_by_key(|(_, kept)| kept.last_used).map(|(time, _)| *time) {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, time: Timestamp) {
        if let Some(kept) = self.by_time.remove(&time) {
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

    /// Returns the snapshot at a time and notes its use, if the snapshot is kept.
    fn renew(&mut self, at: Timestamp, by: &Principal, now: Duration) -> Option<Snapshot> {
        let (_, kept) = self.by_time.range_mut(..=at).next_back().filter(|(_, kept)| at <= kept.to)?;
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

    /// Returns the snapshot at a time, or a new snapshot. If there are too many snapshots, the principal with the most
    /// snapshots loses one.
    ///
    /// # Errors
    /// Error 239 if the snapshot is not kept any more, 72 for a time in the future.
    pub(crate) fn get(
        &self,
        db: &Database,
        times: &ClusterTime,
        gate: &WriteGate,
        by: &Principal,
        at: Option<Timestamp>,
    ) -> CommandResult<(Snapshot, Timestamp)> {
        let too_old = || {
            let message = "Read timestamp is older than the oldest available timestamp: begin a new session";
            CommandError::new(239, "SnapshotTooOld", message)
        };
        // This call may write the mark of the cluster time, and is therefore made before the lock is taken.
        let _up_to_now = times.now(gate);
        let now = self.env.clock.now();
        let mut state = self.kept.lock();
        if let Some(at) = at
            && let Some(snapshot) = state.renew(at, by, now)
        {
            return Ok((snapshot, at));
        }
        let snapshot = db.snapshot();
        let (from, to) = times.range(snapshot.store.seq(), gate).ok_or_else(too_old)?;
        match at {
            Some(at) if at < from => return Err(too_old()),
            Some(at) if at > to => {
                let message = "readConcern atClusterTime value must not be greater than the current clusterTime";
                return Err(CommandError::invalid_options(message));
            }
            _ => {}
        }
        let time = at.unwrap_or(to);
        if let Some(kept) = state.by_time.get_mut(&from) {
            kept.to = kept.to.max(to);
            return state.renew(from, by, now).map(|snapshot| (snapshot, time)).ok_or_else(too_old);
        }
        if state.by_time.len() >= SNAPSHOTS_MAX {
            state.make_room();
        }
        state.count(by, true);
        state.by_time.insert(from, Kept { snapshot: snapshot.clone(), to, last_used: now, by: by.clone() });
        Ok((snapshot, time))
    }

    /// Drops snapshots that were not used for long.
    pub(crate) fn expire(&self) {
        let now = self.env.clock.now();
        let mut state = self.kept.lock();
        let is_old = |kept: &Kept| now.saturating_sub(kept.last_used) >= KEPT;
        let old: Vec<Timestamp> =
            state.by_time.iter().filter(|(_, kept)| is_old(kept)).map(|(time, _)| *time).collect();
        old.into_iter().for_each(|time| state.remove(time));
    }
}

#[cfg(test)]
mod tests;
