//! The memtables of writes that are not committed yet.

use alluvium_codec::entry::Seq;
use alluvium_lsm::{FIRST_UNCOMMITTED, Uncommitted, View};
use alluvium_memtable::Memtable;
use std::sync::{Arc, OnceLock};

/// The writes of a transaction before its commit: a memtable for each partition that it writes to.
pub(crate) struct UncommittedWrites {
    memtables: Vec<OnceLock<Arc<Memtable>>>,
}

impl UncommittedWrites {
    pub fn new(partitions: usize) -> Arc<Self> {
        Arc::new(Self { memtables: (0..partitions).map(|_| OnceLock::new()).collect() })
    }

    /// The memtable of a partition, made at the first write.
    pub fn memtable(&self, partition: u16) -> &Memtable {
        self.memtables[partition as usize].get_or_init(|| Arc::new(Memtable::small(FIRST_UNCOMMITTED)))
    }

    /// The memory of the memtables, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memtables.iter().filter_map(OnceLock::get).map(|memtable| memtable.charged_bytes()).sum()
    }
}

/// Uncommitted writes, up to a number.
#[derive(Clone)]
pub(crate) struct SeenWrites {
    pub writes: Arc<UncommittedWrites>,
    pub last: Seq,
}

impl SeenWrites {
    /// The view of a partition under the writes, if there are any in the partition.
    pub fn over(&self, partition: usize, view: &View) -> Option<View> {
        let memtable = self.writes.memtables.get(partition)?.get()?.clone();
        Some(view.under(Uncommitted { memtable, last: self.last }))
    }
}
