//! The request that runs on a connection.

use alluvium_env::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The request that runs.
#[derive(Default)]
pub(crate) struct Running {
    /// Ends it.
    stop: Mutex<Option<Arc<AtomicBool>>>,
    /// Ends the cursor that it reads.
    read: Mutex<Option<Arc<AtomicBool>>>,
    /// True once the client is gone.
    is_gone: AtomicBool,
}

impl Running {
    /// Begins a request.
    pub(crate) fn begin(&self) -> Arc<AtomicBool> {
        let stop = Arc::new(AtomicBool::new(false));
        *self.stop.lock() = Some(Arc::clone(&stop));
        // After the request is known to `end`, which sets the flag first.
        if self.is_gone() {
            stop.store(true, Ordering::SeqCst);
        }
        stop
    }

    /// The request that runs reads a cursor, whose query this flag ends.
    pub(crate) fn begin_reading(&self, stop: Arc<AtomicBool>) {
        *self.read.lock() = Some(Arc::clone(&stop));
        if self.is_gone() {
            stop.store(true, Ordering::SeqCst);
        }
    }

    /// Forgets the request, which has ended. Its flag stays in use if the request has left a cursor: then it can end
    /// the cursor.
    pub(crate) fn finish(&self) {
        *self.stop.lock() = None;
        *self.read.lock() = None;
    }

    /// True once the client is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// Ends the request that runs, and those after it: the client is gone.
    pub(crate) fn end(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
        for stop in [&self.stop, &self.read] {
            if let Some(stop) = &*stop.lock() {
                stop.store(true, Ordering::SeqCst);
            }
        }
    }
}
