//! Slow operations: in the log, and in `system.profile` of databases whose profiler is on.

use alluvium::Map;
use alluvium_env::sync::Mutex;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// An operation that takes longer is slow, by default: MongoDB's value.
const SLOW: Duration = Duration::from_millis(100);
/// The entries of all databases that are kept; older ones are dropped.
const ENTRIES_MAX: usize = 1_000;

/// What the profiler of a database keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Level {
    /// Nothing.
    #[default]
    Off,
    /// Slow operations.
    Slow,
    /// All operations.
    All,
}

/// The profiler.
#[derive(Default)]
pub(crate) struct SlowOperations {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slow_ms: Option<u64>,
    levels: HashMap<String, Level>,
    entries: VecDeque<Entry>,
}

struct Entry {
    db: String,
    fields: Map,
}

impl SlowOperations {
    /// The time from which on an operation is slow.
    pub(crate) fn threshold(&self) -> Duration {
        self.state.lock().slow_ms.map_or(SLOW, Duration::from_millis)
    }

    /// Sets the time from which on an operation is slow.
    pub(crate) fn set_threshold(&self, millis: u64) {
        self.state.lock().slow_ms = Some(millis);
    }

    /// The level of a database.
    pub(crate) fn level(&self, db: &str) -> Level {
        self.state.lock().levels.get(db).copied().unwrap_or_default()
    }

    /// Sets the level of a database.
    pub(crate) fn set_level(&self, db: &str, level: Level) {
        self.state.lock().levels.insert(db.to_owned(), level);
    }

    /// Keeps an operation, if the level of its database says so.
    pub(crate) fn note(&self, db: &str, is_slow: bool, describe: impl FnOnce() -> Map) {
        let mut state = self.state.lock();
        let level = state.levels.get(db).copied().unwrap_or_default();
        if level == Level::Off || (level == Level::Slow && !is_slow) {
            return;
        }
        if state.entries.len() == ENTRIES_MAX {
            state.entries.pop_front();
        }
        state.entries.push_back(Entry { db: db.to_owned(), fields: describe() });
    }

    /// Forgets the entries of a database.
    pub(crate) fn clear(&self, db: &str) {
        self.state.lock().entries.retain(|entry| entry.db != db);
    }

    /// The entries of a database, the oldest first.
    pub(crate) fn entries(&self, db: &str) -> Vec<Map> {
        let state = self.state.lock();
        let of_db = state.entries.iter().filter(|entry| entry.db == db);
        of_db.map(|entry| entry.fields.clone()).collect()
    }
}
