//! How often collections are read and written, and how long it takes: `$collStats` shows it.

use alluvium::{Map, Value};
use alluvium_env::sync::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The collections that are counted; later ones are not.
const COLLECTIONS_MAX: usize = 10_000;
/// The number of ranges of latencies.
const BUCKETS: usize = 40;

/// The figures of all collections, by their full names.
#[derive(Default)]
pub(crate) struct Latencies {
    by_collection: RwLock<HashMap<String, Arc<OfCollection>>>,
}

#[derive(Default)]
struct OfCollection {
    /// By [`Use`].
    operations: [Operations; 3],
    /// Queries that scanned all documents.
    scans: AtomicU64,
}

/// What a command does to a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read = 0,
    Write = 1,
    Command = 2,
}

/// Operations of one kind.
struct Operations {
    count: AtomicU64,
    micros: AtomicU64,
    /// Bucket `n` counts operations of 2^n to 2^(n+1) microseconds; the first one also shorter ones.
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Operations {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), micros: AtomicU64::new(0), buckets: [const { AtomicU64::new(0) }; BUCKETS] }
    }
}

impl Use {
    /// What a command does.
    pub(crate) fn of(command: &str) -> Self {
        match command {
            "find" | "aggregate" | "count" | "distinct" | "getMore" => Self::Read,
            "insert" | "update" | "delete" | "findAndModify" | "bulkWrite" => Self::Write,
            _ => Self::Command,
        }
    }
}

impl Operations {
    fn note(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        let bucket = micros.max(1).ilog2() as usize;
        if let Some(bucket) = self.buckets.get(bucket.min(BUCKETS - 1)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn to_map(&self, histograms: bool) -> Map {
        let long = |count: &AtomicU64| Value::Int64(count.load(Ordering::Relaxed).cast_signed());
        let mut map = Map::new();
        if histograms {
            let buckets = self.buckets.iter().enumerate().filter(|(_, count)| count.load(Ordering::Relaxed) > 0);
            let each = buckets.map(|(at, count)| {
                let from = if at == 0 { 0 } else { 1_i64 << at };
                Value::Map(Map::from([("micros", Value::Int64(from)), ("count", long(count))]))
            });
            map.push("histogram", Value::Array(each.collect()));
        }
        map.push("latency", long(&self.micros));
        map.push("ops", long(&self.count));
        map
    }
}

impl Latencies {
    /// Notes an operation.
    pub(crate) fn note(&self, collection: &str, what: Use, time: Duration) {
        if let Some(operations) = self.of(collection).as_ref().and_then(|of| of.operations.get(what as usize)) {
            operations.note(time);
        }
    }

    /// Notes a query that scanned all documents.
    pub(crate) fn note_scan(&self, collection: &str) {
        if let Some(of) = self.of(collection) {
            of.scans.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The queries that scanned all documents.
    pub(crate) fn scans(&self, collection: &str) -> i64 {
        let by_collection = self.by_collection.read();
        by_collection.get(collection).map_or(0, |of| of.scans.load(Ordering::Relaxed).cast_signed())
    }

    fn of(&self, collection: &str) -> Option<Arc<OfCollection>> {
        if let Some(of) = self.by_collection.read().get(collection) {
            return Some(Arc::clone(of));
        }
        let mut all = self.by_collection.write();
        match all.len() < COLLECTIONS_MAX {
            true => Some(Arc::clone(all.entry(collection.to_owned()).or_default())),
            false => None,
        }
    }

    /// Forgets the collections that do not exist.
    pub(crate) fn retain(&self, exists: impl Fn(&str) -> bool) {
        self.by_collection.write().retain(|name, _| exists(name));
    }

    /// The figures of a collection, as `$collStats` shows them.
    pub(crate) fn to_map(&self, collection: &str, histograms: bool) -> Map {
        let figures = self.by_collection.read().get(collection).map(Arc::clone).unwrap_or_default();
        let [reads, writes, commands] = &figures.operations;
        Map::from([
            ("reads", Value::Map(reads.to_map(histograms))),
            ("writes", Value::Map(writes.to_map(histograms))),
            ("commands", Value::Map(commands.to_map(histograms))),
            ("transactions", Value::Map(Operations::default().to_map(histograms))),
        ])
    }
}

#[cfg(test)]
mod tests;
