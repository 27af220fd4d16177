//! Counters of a partition's work.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since open.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub flushes: AtomicU64,
    pub bytes_flushed: AtomicU64,
    pub bytes_taken: AtomicU64,
    pub compactions: AtomicU64,
    pub bytes_compacted: AtomicU64,
    pub bytes_read: AtomicU64,
    pub trivial_moves: AtomicU64,
    pub deltas_refused: AtomicU64,
    /// The bytes above the base that exceeded the limit after the last edit.
    pub debt_bytes: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }
}
