//! The data of a collection for the planner: statistics, and the plans of earlier queries. The modules of
//! [`crate::find`] fill and use this data.

use crate::index::IndexSet;
use alluvium_env::sync::{Mutex, MutexGuard, RwLock};
use alluvium_store::{Seq, TreeId};
use hashbrown::HashMap;
use std::sync::Arc;

/// Estimates about a collection at sequence number `seq`.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub seq: Seq,
    pub documents: u64,
    pub bytes: u64,
    /// True if the sampled `_id`s have a type whose key determines the value exactly.
    pub natural_ids: bool,
    pub indexes: HashMap<TreeId, IndexStatistics>,
}

impl Statistics {
    pub fn of(&self, tree: TreeId) -> Option<&IndexStatistics> {
        self.indexes.get(&tree)
    }
}

/// Estimates about an index.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexStatistics {
    pub entries: u64,
    pub bytes: u64,
    /// The number of distinct values of the first part, of the first two parts together, and so on.
    pub distinct: Vec<u64>,
}

/// The latest statistics of a collection.
#[derive(Default)]
pub(crate) struct StatisticsCell {
    current: RwLock<Option<Arc<Statistics>>>,
    collecting: Mutex<()>,
}

impl StatisticsCell {
    pub fn current(&self) -> Option<Arc<Statistics>> {
        self.current.read().clone()
    }

    /// Held by the one thread that collects new statistics.
    pub fn lock_collecting(&self) -> MutexGuard<'_, ()> {
        self.collecting.lock()
    }

    pub fn replace(&self, statistics: Arc<Statistics>) {
        *self.current.write() = Some(statistics);
    }

    /// Discards the statistics if `is_stale` returns true.
    pub fn discard_if(&self, is_stale: impl FnOnce(&Statistics) -> bool) {
        let mut current = self.current.write();
        if current.as_ref().is_some_and(|statistics| is_stale(statistics)) {
            *current = None;
        }
    }
}

/// The maximum number of query forms that are remembered for a collection.
const FORMS_MAX: usize = 1000;

/// Plans of earlier queries, by query form: paths, operators and types without the values.
#[derive(Default)]
pub(crate) struct PlanCache {
    known: Mutex<KnownForms>,
}

#[derive(Default)]
struct KnownForms {
    /// The schema number for which the forms are valid.
    schema: Seq,
    forms: HashMap<Arc<str>, QueryForm>,
}

/// The remembered data of one query form.
#[derive(Default)]
pub(crate) struct QueryForm {
    /// The index that queries of this form use.
    pub index: Option<String>,
    /// Indexes that cost more than estimated, with the measured cost in microseconds.
    pub costly: Vec<(String, f64)>,
}

impl PlanCache {
    /// Calls `with` with the remembered data of a form under these indexes. All forms are forgotten when the indexes
    /// change.
    pub fn with_form<T>(&self, set: &IndexSet, form: &Arc<str>, with: impl FnOnce(&mut QueryForm) -> T) -> T {
        let mut known = self.known.lock();
        if known.schema != set.schema || known.forms.len() >= FORMS_MAX {
            *known = KnownForms { schema: set.schema, forms: HashMap::new() };
        }
        with(known.forms.entry(form.clone()).or_default())
    }
}
