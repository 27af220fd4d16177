//! Snapshots that clients read at, by their cluster times.

use crate::error::{CommandError, CommandResult};
use alluvium::{Database, Snapshot, Timestamp};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// A snapshot can be read at this long after its last use, as in MongoDB.
const KEPT: Duration = Duration::from_secs(300);
/// The most snapshots that are kept.
const SNAPSHOTS_MAX: usize = 1_000;

/// The snapshots that clients have read at, by the number of their last operation.
pub(crate) struct Snapshots {
    by_number: Mutex<BTreeMap<u64, Kept>>,
    env: Env,
}

struct Kept {
    snapshot: Snapshot,
    last_used: Duration,
}

impl Snapshots {
    pub(crate) fn new(env: Env) -> Self {
        Self { by_number: Mutex::new(BTreeMap::new()), env }
    }

    /// The snapshot at a time, or a new one.
    ///
    /// # Errors
    /// Error 239 if it is not kept any more; 246 if there are too many.
    pub(crate) fn get(&self, db: &Database, at: Option<Timestamp>) -> CommandResult<(Snapshot, Timestamp)> {
        let now = self.env.clock.now();
        let mut by_number = self.by_number.lock();
        if let Some(at) = at {
            if let Some(kept) = by_number.get_mut(&number(at)) {
                kept.last_used = now;
                return Ok((kept.snapshot.clone(), at));
            }
            if number(at) < db.store().visible() {
                let message = "Read timestamp is older than the oldest available timestamp: begin a new session";
                return Err(CommandError::new(239, "SnapshotTooOld", message));
            }
        }
        if by_number.len() >= SNAPSHOTS_MAX {
            let message = format!("there are {SNAPSHOTS_MAX} snapshots that clients read at already: try again later");
            return Err(CommandError::new(246, "SnapshotUnavailable", message));
        }
        let snapshot = db.snapshot();
        let number = snapshot.store.seq();
        by_number.insert(number, Kept { snapshot: snapshot.clone(), last_used: now });
        Ok((snapshot, timestamp(number)))
    }

    /// Drops snapshots that were not used for long.
    pub(crate) fn expire(&self) {
        let now = self.env.clock.now();
        self.by_number.lock().retain(|_, kept| now.saturating_sub(kept.last_used) < KEPT);
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
