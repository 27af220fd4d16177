//! Slow operations: they are logged, and kept for `system.profile` of databases whose profiler is on.

use crate::fields::Fields;
use crate::numbers::int;
use crate::shell_text;
use alluvium::{Collection, IndexInfo, Map, Value};
use alluvium_document::bson::bson_size;
use alluvium_env::sync::Mutex;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The default threshold of slow operations in milliseconds, as in MongoDB.
const SLOW_MS: i64 = 100;
/// The most entries of all databases together; older entries are dropped.
pub(crate) const ENTRIES_MAX: usize = 1_000;
/// A command or plan with more bytes than this is truncated in an entry, as in MongoDB.
const FIELD_BYTES_MAX: usize = 50_000;

/// The operations that the profiler of a database keeps.
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
    slow_ms: Option<i64>,
    sample_rate: Option<f64>,
    /// The level of databases for which no level was set.
    level: Level,
    levels: HashMap<String, Level>,
    filters: HashMap<String, Map>,
    entries: VecDeque<Entry>,
}

struct Entry {
    db: String,
    fields: Map,
}

/// Truncates the long fields of an entry, because up to 1,000 entries are kept in memory.
pub(crate) fn cut(mut entry: Map) -> Map {
    for (_, value) in &mut entry.entries {
        let bytes = bson_size(value);
        if let Value::Map(map) = value
            && bytes > FIELD_BYTES_MAX
        {
            let first = map.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
            let shown = Value::from(format!("{first}, of {bytes} bytes"));
            *map = Map::from([("$truncated", shown)]);
        }
    }
    entry
}

/// Adds a plan to an entry, with its costs and its summary.
pub(crate) fn put_plan(entry: &mut Map, plan: Option<Map>, collection: &Collection) {
    let Some(plan) = plan else { return };
    let indexes = collection.indexes().unwrap_or_default();
    let stats = plan.document("executionStats");
    for (name, count) in [("keysExamined", "totalKeysExamined"), ("docsExamined", "totalDocsExamined")] {
        if let Some(count) = stats.and_then(|stats| stats.integer(count)) {
            entry.push(name, int(count.unsigned_abs()));
        }
    }
    if let Some(winning) = plan.document("queryPlanner").and_then(|planner| planner.document("winningPlan")) {
        let mut scans = Vec::new();
        add_scans(winning, &indexes, &mut scans);
        entry.push("planSummary", scans.join(", "));
    }
    entry.push("execStats", plan);
}

/// The plan of a count that is answered from the stored count of the collection, under MongoDB's name.
pub(crate) fn fast_count() -> Map {
    let stage = Map::from([("stage", Value::from("RECORD_STORE_FAST_COUNT"))]);
    let stats = Map::from([("totalKeysExamined", Value::from(0)), ("totalDocsExamined", Value::from(0))]);
    let planner = Map::from([("winningPlan", Value::Map(stage))]);
    Map::from([("queryPlanner", Value::Map(planner)), ("executionStats", Value::Map(stats))])
}

/// Adds the summaries of the stages that read, in MongoDB's form: `COLLSCAN`, or `IXSCAN { a: 1 }`.
fn add_scans(stage: &Map, indexes: &[IndexInfo], scans: &mut Vec<String>) {
    let mut inputs: Vec<&Map> = stage.document("inputStage").into_iter().collect();
    inputs.extend(stage.elements("inputStages").unwrap_or_default().iter().filter_map(Value::as_map));
    if inputs.is_empty() {
        let name = stage.text("stage").unwrap_or_default();
        let index = indexes.iter().find(|index| stage.text("indexName") == Some(&index.name));
        scans.push(match index.and_then(|index| index.definition.document("key")) {
            Some(keys) => format!("{name} {}", shell_text::of_map(keys)),
            None => name.to_owned(),
        });
    }
    inputs.into_iter().for_each(|input| add_scans(input, indexes, scans));
}

impl SlowOperations {
    /// Creates the profiler with the level and the threshold of the settings.
    pub(crate) fn new(level: u8, slow_ms: Option<i64>) -> Self {
        let level = match level {
            0 => Level::Off,
            1 => Level::Slow,
            _ => Level::All,
        };
        Self { state: Mutex::new(State { level, slow_ms, ..State::default() }) }
    }

    /// The threshold: operations that take at least this number of milliseconds are slow.
    pub(crate) fn threshold_ms(&self) -> i64 {
        self.state.lock().slow_ms.unwrap_or(SLOW_MS)
    }

    /// Sets the threshold of slow operations. With a negative threshold, all operations are slow.
    pub(crate) fn set_threshold_ms(&self, millis: i64) {
        self.state.lock().slow_ms = Some(millis);
    }

    /// True if an operation with this duration is slow.
    pub(crate) fn is_slow(&self, time: Duration) -> bool {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX) >= self.threshold_ms()
    }

    /// The share of slow operations that is kept, from 0 to 1.
    pub(crate) fn sample_rate(&self) -> f64 {
        self.state.lock().sample_rate.unwrap_or(1.0)
    }

    /// Sets the share of slow operations that is kept.
    pub(crate) fn set_sample_rate(&self, rate: f64) {
        self.state.lock().sample_rate = Some(rate);
    }

    /// The filter that selects the operations to keep, regardless of their duration; `None` if the duration decides.
    pub(crate) fn filter(&self, db: &str) -> Option<Map> {
        self.state.lock().filters.get(db).cloned()
    }

    /// Sets or removes the filter of a database.
    pub(crate) fn set_filter(&self, db: &str, filter: Option<Map>) {
        let filters = &mut self.state.lock().filters;
        match filter {
            Some(filter) => drop(filters.insert(db.to_owned(), filter)),
            None => drop(filters.remove(db)),
        }
    }

    /// The level of a database.
    pub(crate) fn level(&self, db: &str) -> Level {
        let state = self.state.lock();
        state.levels.get(db).copied().unwrap_or(state.level)
    }

    /// Sets the level of a database.
    pub(crate) fn set_level(&self, db: &str, level: Level) {
        self.state.lock().levels.insert(db.to_owned(), level);
    }

    /// Keeps the entry of an operation on a database.
    pub(crate) fn keep(&self, db: &str, fields: Map) {
        let mut state = self.state.lock();
        if state.entries.len() == ENTRIES_MAX {
            state.entries.pop_front();
        }
        state.entries.push_back(Entry { db: db.to_owned(), fields: cut(fields) });
    }

    /// Removes the entries of a database.
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

#[cfg(test)]
mod tests;
