//! The number and the duration of reads and writes of collections, which `$collStats` and `top` show.

use alluvium::{Map, Value};
use alluvium_env::sync::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most collections that are counted; further collections are not counted.
const COLLECTIONS_MAX: usize = 10_000;
/// The number of latency ranges.
const BUCKETS: usize = 40;

/// The figures of all collections, by their full names.
#[derive(Default)]
pub(crate) struct Latencies {
    by_collection: RwLock<HashMap<String, Arc<OfCollection>>>,
}

#[derive(Default)]
struct OfCollection {
    /// Reads, writes and other commands, in this order.
    operations: [Operations; 3],
    /// The sums of each [`Use`].
    uses: [Sum; Use::ALL.len()],
    /// The number of queries that scanned all documents.
    scans: AtomicU64,
}

/// The class of a command in the latencies of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Query,
    GetMore,
    /// A read that is not a query.
    Read,
    Insert,
    Update,
    Remove,
    /// A command that does not write.
    Command,
    /// A command that may write, such as `create`.
    Change,
}

/// The number and the total duration of operations of one use.
#[derive(Default)]
struct Sum {
    count: AtomicU64,
    micros: AtomicU64,
}

/// Operations of one kind.
struct Operations {
    count: AtomicU64,
    micros: AtomicU64,
    /// Bucket `n` counts operations of 2^n to 2^(n+1) microseconds. The first bucket also counts shorter operations.
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Operations {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), micros: AtomicU64::new(0), buckets: [const { AtomicU64::new(0) }; BUCKETS] }
    }
}

impl Use {
    /// All uses.
    const ALL: [Self; 8] =
        [Self::Query, Self::GetMore, Self::Read, Self::Insert, Self::Update, Self::Remove, Self::Command, Self::Change];

    /// The position of the use among reads, writes and other commands.
    fn kind(self) -> usize {
        match self {
            Self::Query | Self::GetMore | Self::Read => 0,
            Self::Insert | Self::Update | Self::Remove => 1,
            Self::Command | Self::Change => 2,
        }
    }

    /// True if the use may write.
    fn writes(self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Remove | Self::Change)
    }
}

impl Sum {
    fn note(&self, time: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
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

impl OfCollection {
    fn to_top(&self) -> Map {
        let sum = |is_counted: &dyn Fn(Use) -> bool| {
            let counted = Use::ALL.into_iter().zip(&self.uses).filter(|(of, _)| is_counted(*of));
            let (micros, count) = counted.fold((0_u64, 0_u64), |(micros, count), (_, sum)| {
                let more = (sum.micros.load(Ordering::Relaxed), sum.count.load(Ordering::Relaxed));
                (micros.saturating_add(more.0), count.saturating_add(more.1))
            });
            let long = |n: u64| Value::Int64(n.cast_signed());
            Value::Map(Map::from([("time", long(micros)), ("count", long(count))]))
        };
        Map::from([
            ("total", sum(&|_| true)),
            ("readLock", sum(&|of| !of.writes())),
            ("writeLock", sum(&Use::writes)),
            ("queries", sum(&|of| of == Use::Query)),
            ("getmore", sum(&|of| of == Use::GetMore)),
            ("insert", sum(&|of| of == Use::Insert)),
            ("update", sum(&|of| of == Use::Update)),
            ("remove", sum(&|of| of == Use::Remove)),
            ("commands", sum(&|of| matches!(of, Use::Read | Use::Command | Use::Change))),
        ])
    }
}

impl Latencies {
    /// Notes an operation.
    pub(crate) fn note(&self, collection: &str, what: Use, time: Duration) {
        let Some(of) = self.of(collection) else { return };
        if let (Some(operations), Some(sum)) = (of.operations.get(what.kind()), of.uses.get(what as usize)) {
            operations.note(time);
            sum.note(time);
        }
    }

    /// The uses of all collections, by full collection name, as `top` shows them.
    pub(crate) fn to_top(&self) -> Map {
        let by_collection = self.by_collection.read();
        let mut all: Vec<(&String, &Arc<OfCollection>)> = by_collection.iter().collect();
        all.sort_by_key(|(name, _)| *name);
        Map { entries: all.into_iter().map(|(name, of)| (name.as_str().into(), Value::Map(of.to_top()))).collect() }
    }

    /// Notes a query that scanned all documents.
    pub(crate) fn note_scan(&self, collection: &str) {
        if let Some(of) = self.of(collection) {
            of.scans.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of queries that scanned all documents.
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

    /// Removes the figures of collections that do not exist.
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
