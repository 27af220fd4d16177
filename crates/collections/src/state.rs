//! The state that all handles of one collection share.

use crate::appends::Appends;
use crate::document_count::DocumentCount;
use crate::index::IndexSet;
use crate::limits::CappedLimits;
use crate::marks;
use crate::planner_state::{PlanCache, StatisticsCell};
use alluvium_document::shape::ShapeTable;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_env::sync::{Mutex, MutexGuard, RwLock};
use alluvium_store::TreeId;
use hashbrown::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The state that all handles of one collection share. It remains valid after a rename, until the collection is
/// dropped.
pub struct CollectionState {
    /// The tree of the documents.
    pub documents: TreeId,
    /// The system tree: shapes, and the progress of loads.
    pub system: TreeId,
    /// The shapes of the rows.
    pub shapes: Arc<ShapeTable>,
    /// The typical size of a change of a document, for reservations.
    pub(crate) change_size: ChangeSize,
    indexes: RwLock<Arc<IndexSet>>,
    /// Held while the description of an index is rewritten.
    pub(crate) index_change: Mutex<()>,
    /// The planner's statistics.
    pub(crate) statistics: StatisticsCell,
    /// Locks that upserts hold while they insert.
    pub(crate) upserts: UpsertLocks,
    /// Plans of earlier queries.
    pub(crate) plans: PlanCache,
    /// The paths that queries without a result have compared with dates, and that were examined already.
    pub(crate) compared_dates: Mutex<HashSet<String>>,
    /// True after the table of shapes was full for the first time.
    shapes_full: AtomicBool,
    /// The number of documents.
    pub(crate) count: DocumentCount,
    /// The changes of a capped collection, which wake tailable cursors.
    pub(crate) appends: Arc<Appends>,
    /// Held while the order of a capped collection is built.
    pub(crate) ordering: Mutex<()>,
    /// True if the order of a capped collection is known to be complete.
    pub(crate) is_ordered: AtomicBool,
}

impl CollectionState {
    pub(crate) fn new(documents: TreeId, system: TreeId, shapes: Arc<ShapeTable>, indexes: Arc<IndexSet>) -> Arc<Self> {
        Arc::new(Self {
            documents,
            system,
            shapes,
            change_size: ChangeSize::default(),
            indexes: RwLock::new(indexes),
            index_change: Mutex::new(()),
            statistics: StatisticsCell::default(),
            upserts: UpsertLocks::default(),
            plans: PlanCache::default(),
            compared_dates: Mutex::default(),
            shapes_full: AtomicBool::new(false),
            count: DocumentCount::default(),
            appends: Arc::default(),
            ordering: Mutex::new(()),
            is_ordered: AtomicBool::new(false),
        })
    }

    /// False for the state of a collection that does not exist.
    pub(crate) fn exists(&self) -> bool {
        self.documents != TreeId::EMPTY
    }

    /// Counts that the table of shapes is full, once per collection.
    pub(crate) fn note_shapes(&self) {
        if self.shapes.is_full() && !self.shapes_full.swap(true, Ordering::Relaxed) {
            marks::SHAPES_FULL.hit();
        }
    }

    /// The current indexes.
    pub fn indexes(&self) -> Arc<IndexSet> {
        self.indexes.read().clone()
    }

    /// The limits of a capped collection.
    pub fn capped(&self) -> Option<CappedLimits> {
        self.indexes.read().options.capped
    }

    /// The limits of a collection whose documents have an order; unlimited if it is not capped.
    pub(crate) fn order(&self) -> Option<CappedLimits> {
        self.indexes.read().options.order()
    }

    /// Replaces the indexes. Only the catalogue calls this, under its lock for changes.
    pub(crate) fn set_indexes(&self, indexes: Arc<IndexSet>) {
        *self.indexes.write() = indexes;
    }
}

/// The minimum number of bytes that is reserved for a change of a document.
const RESERVED_MIN_BYTES: usize = 1 << 10;

/// The bytes that recent changes of documents wrote. A write reserves this much before it reads its document.
#[derive(Debug, Default)]
pub(crate) struct ChangeSize(AtomicUsize);

impl ChangeSize {
    /// The bytes to reserve: enough for most changes.
    pub fn reserve(&self) -> usize {
        let typical = self.0.load(Ordering::Relaxed);
        (typical + typical / 4).max(RESERVED_MIN_BYTES)
    }

    /// Records the bytes of a change. The estimate increases immediately, and decreases slowly.
    pub fn note(&self, bytes: usize) {
        let typical = self.0.load(Ordering::Relaxed);
        let next = bytes.max(typical - typical / 16);
        if next > RESERVED_MIN_BYTES / 2 && next != typical {
            self.0.store(next, Ordering::Relaxed);
        }
    }
}

/// Locks for upserts that found nothing, by the hash of the filter. A thread holds a lock while it searches again and
/// inserts. Therefore only one of several concurrent upserts with the same filter inserts a document, even without a
/// unique index.
#[derive(Default)]
pub(crate) struct UpsertLocks([Mutex<()>; 16]);

impl UpsertLocks {
    pub fn lock(&self, filter_hash: u64) -> MutexGuard<'_, ()> {
        self.0[filter_hash as usize % self.0.len()].lock()
    }
}

#[cfg(test)]
mod tests;
