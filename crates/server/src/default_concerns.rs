//! The concerns of commands that have none: those of `setDefaultRWConcern`. They last until the server ends.

use alluvium::{Map, Timestamp};
use alluvium_env::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The defaults, and what commands need to know of them.
#[derive(Default)]
pub(crate) struct DefaultConcerns {
    defaults: Mutex<Defaults>,
    syncs_reads: AtomicBool,
    syncs_writes: AtomicBool,
}

/// The defaults that clients have set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Defaults {
    /// The level of reads.
    pub read: Option<String>,
    /// The write concern.
    pub write: Option<Map>,
    /// The time of the last change, and the milliseconds since 1970.
    pub updated: Option<(Timestamp, i64)>,
}

impl DefaultConcerns {
    /// The defaults.
    pub(crate) fn get(&self) -> Defaults {
        self.defaults.lock().clone()
    }

    /// Changes the defaults. With `syncs_writes`, writes wait until they are on the disk.
    pub(crate) fn set(&self, defaults: Defaults, syncs_writes: bool) {
        let mut present = self.defaults.lock();
        self.syncs_reads.store(defaults.read.as_deref() == Some("majority"), Ordering::Release);
        self.syncs_writes.store(syncs_writes, Ordering::Release);
        *present = defaults;
    }

    /// True if reads see only what is on the disk.
    pub(crate) fn syncs_reads(&self) -> bool {
        self.syncs_reads.load(Ordering::Acquire)
    }

    /// True if writes wait until they are on the disk.
    pub(crate) fn syncs_writes(&self) -> bool {
        self.syncs_writes.load(Ordering::Acquire)
    }
}
