//! The request that runs on a connection.

use alluvium_env::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The request that runs.
#[derive(Default)]
pub(crate) struct Running {
    /// The flag that ends the request.
    stop: Mutex<Option<Arc<AtomicBool>>>,
    /// The flag that ends the query of the cursor that the request reads.
    read: Mutex<Option<Arc<AtomicBool>>>,
    /// True after the client has disconnected.
    is_gone: AtomicBool,
}

impl Running {
    /// Begins a request. Returns the flag that ends it.
    pub(crate) fn begin(&self) -> Arc<AtomicBool> {
        let stop = Arc::new(AtomicBool::new(false));
        *self.stop.lock() = Some(Arc::clone(&stop));
        // `end` sets `is_gone` first and then the flags. Checking `is_gone` after storing the flag therefore misses no
        // end.
        if self.is_gone() {
            stop.store(true, Ordering::SeqCst);
        }
        stop
    }

    /// Notes that the running request reads a cursor, whose query the flag `stop` ends.
    pub(crate) fn begin_reading(&self, stop: Arc<AtomicBool>) {
        *self.read.lock() = Some(Arc::clone(&stop));
        if self.is_gone() {
            stop.store(true, Ordering::SeqCst);
        }
    }

    /// Removes the request, which has ended. If the request has opened a cursor, its flag is still used to end the
    /// cursor.
    pub(crate) fn finish(&self) {
        *self.stop.lock() = None;
        *self.read.lock() = None;
    }

    /// True after the client has disconnected.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// Ends the running request and all later ones, because the client has disconnected.
    pub(crate) fn end(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
        for stop in [&self.stop, &self.read] {
            if let Some(stop) = &*stop.lock() {
                stop.store(true, Ordering::SeqCst);
            }
        }
    }
}
