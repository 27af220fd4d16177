//! Ends the history of recorded changes: raises the numbers from which on they are complete, and ends recordings that no
//! change stream reads.

use super::Catalog;
use crate::error::Result;
use crate::history::{ChangeRetention, History, RecordedScope, Scope};
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicU64, Ordering};
use alluvium_store::{Seq, TreeId};
use std::collections::HashMap;

/// The longest time after which the use of a scope is written to the disk, in milliseconds.
const NOTED_MS: i64 = 3_600_000;
/// The use of a scope is written at least this number of times in the time of the retention.
const NOTED_PARTS: i64 = 10;
/// A use within this time after the last one is not noted, in milliseconds.
const SAME_USE_MS: i64 = 100;

/// How long recorded changes are kept.
pub(super) struct Retention {
    limits: ChangeRetention,
    /// The time at which the last use of each scope was written to the disk, in milliseconds since 1970.
    written: Mutex<HashMap<Scope, i64>>,
    /// The changes up to this number were removed since the database was opened.
    removed: AtomicU64,
}

impl Retention {
    pub fn new(limits: ChangeRetention) -> Self {
        Self { limits, written: Mutex::default(), removed: AtomicU64::new(0) }
    }

    /// True if the use of a scope at this time must be written to the disk. Then it counts as written.
    fn is_due(&self, scope: &Scope, now_ms: i64) -> bool {
        let interval_ms = NOTED_MS.min(self.limits.time_ms() / NOTED_PARTS);
        let mut written = self.written.lock();
        // After the clock was set back, the earlier time is written.
        let is_due = written.get(scope).is_none_or(|last| !(0..interval_ms).contains(&now_ms.saturating_sub(*last)));
        if is_due {
            written.insert(scope.clone(), now_ms);
        }
        is_due
    }
}

impl Catalog {
    /// How long recorded changes are kept.
    pub fn change_retention(&self) -> ChangeRetention {
        self.retention.limits
    }

    /// The changes up to this number are known to be removed.
    pub(crate) fn removed_changes(&self) -> Seq {
        self.retention.removed.load(Ordering::Relaxed)
    }

    /// The changes up to a number are removed.
    pub(crate) fn set_removed_changes(&self, last: Seq) {
        self.retention.removed.fetch_max(last, Ordering::Relaxed);
    }

    /// Notes that a change stream reads a scope. Open streams call this more often than a tenth of the retention: the
    /// recording that a stream has begun ends when there was no call for the time of the retention. The time is written
    /// to the disk once an hour, or ten times in the time of the retention; if that fails, it is logged.
    pub(crate) fn note_used(&self, scope: &Scope) {
        let now_ms = self.store.env().clock.unix_millis();
        let Some(used) = self.reading_of(scope) else { return };
        let is_same = |used_ms: i64| (0..SAME_USE_MS).contains(&now_ms.saturating_sub(used_ms));
        if used.used_ms.is_none_or(is_same) || self.store.options().read_only {
            return;
        }
        let is_due = self.retention.is_due(&used.scope, now_ms);
        let _change = is_due.then(|| self.change.lock());
        let description = {
            let mut history = self.history.write();
            let Some(History { tree, scopes, .. }) = &mut *history else { return };
            let known = scopes.iter_mut().find(|known| known.scope == used.scope && known.used_ms.is_some());
            let Some(known) = known else { return };
            known.used_ms = Some(now_ms);
            is_due.then(|| (*tree, History::describe(scopes)))
        };
        if let Some((tree, description)) = description
            && let Err(error) = self.store.describe_trees(&[(tree, &description)])
        {
            log::warn!(target: "alluvium::changes", "the use of recorded changes is not noted on the disk: {error}");
        }
    }

    /// The recorded scope that the readers of a scope read: the scope itself, or the one with the longest history that
    /// includes it.
    fn reading_of(&self, scope: &Scope) -> Option<RecordedScope> {
        let history = self.history.read();
        let including = history.as_ref()?.scopes.iter().filter(|known| known.scope.includes(scope));
        including.min_by_key(|known| (known.scope != *scope, known.since)).cloned()
    }

    /// A recorded scope lasts until it is stopped, or with `used_ms` at least for the retention from then on. The caller
    /// holds `change`.
    pub(super) fn keep_recording(&self, scope: &Scope, used_ms: Option<i64>) -> Result<()> {
        let Some(mut history) = self.history.read().clone() else { return Ok(()) };
        let Some(known) = history.scopes.iter_mut().find(|known| known.scope == *scope) else { return Ok(()) };
        if known.used_ms.is_none() || known.used_ms == used_ms {
            return Ok(());
        }
        known.used_ms = used_ms;
        self.store.describe_trees(&[(history.tree, &History::describe(&history.scopes))])?;
        self.store.sync()?;
        *self.history.write() = Some(history);
        Ok(())
    }

    /// Ends the recordings that a change stream has begun, and that none has read since a time. Returns false
    /// if none has ended.
    pub(crate) fn stop_unused(&self, since_ms: i64) -> Result<bool> {
        let is_unused = |known: &RecordedScope| known.used_ms.is_some_and(|used_ms| used_ms < since_ms);
        if !self.recorded_scopes().iter().any(is_unused) {
            return Ok(false);
        }
        let stopped = self.stop_where(is_unused)?;
        let recorded = self.recorded_scopes();
        self.retention.written.lock().retain(|scope, _| recorded.iter().any(|known| known.scope == *scope));
        Ok(stopped)
    }

    /// Makes durable that no scope has changes up to a number, which is the last of a batch. Only afterwards may the
    /// changes be removed. Without effect if the history is another tree by now.
    pub(crate) fn end_history(&self, tree: TreeId, last: Seq) -> Result<()> {
        let _change = self.change.lock();
        let Some(mut history) = self.history.read().clone().filter(|history| history.tree == tree) else {
            return Ok(());
        };
        history.scopes.iter_mut().for_each(|known| known.since = known.since.max(last));
        self.store.describe_trees(&[(tree, &History::describe(&history.scopes))])?;
        self.store.sync()?;
        // A use that was noted in between is kept.
        if let Some(current) = &mut *self.history.write() {
            current.scopes.iter_mut().for_each(|known| known.since = known.since.max(last));
        }
        Ok(())
    }
}
