//! Requests that wait without a thread and without a permit: for documents of a tailable cursor, or for the transaction
//! that has written what a write would write.
//!
//! Such a request leaves a [`Wait`] with its client, and its reply is dropped. The task of the connection then waits, and
//! executes the request again when what it waits for has happened, the client has disconnected, the server stops, or the
//! time is over. A `getMore` replies the second time, even with an empty batch. A write may wait again, until its time is
//! over.

use alluvium::AppendWatch;
use alluvium_env::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The wait of a request.
pub(crate) struct Wait {
    /// The end of the wait, on the server's clock.
    pub until: Duration,
    /// The event.
    pub event: Event,
}

/// The event that a request waits for.
pub(crate) enum Event {
    /// Documents were added, or the cursor was closed.
    Documents {
        /// Notified when the request has to be executed again.
        changed: Arc<Notify>,
        /// Notifies `changed` when documents are added.
        _watch: AppendWatch,
    },
    /// A transaction has ended, which makes the receiver fail. `None` if the transaction is not one of a client, or has
    /// ended already.
    Transaction(Option<watch::Receiver<()>>),
}

/// The wait of the request on a connection. A connection has one request at a time.
#[derive(Default)]
pub(crate) struct Waits {
    wait: Mutex<Option<Wait>>,
    resumed: Mutex<Option<Duration>>,
    /// True if the connection can execute the request again.
    is_repeatable: AtomicBool,
}

impl Waits {
    /// Makes the request wait; it is executed again afterwards.
    pub fn begin(&self, wait: Wait) {
        *self.wait.lock() = Some(wait);
    }

    /// Takes the wait that the executed request has begun.
    pub fn take_wait(&self) -> Option<Wait> {
        self.wait.lock().take()
    }

    /// Notes that the next execution continues a request that has waited, and may wait until this time.
    pub fn resume(&self, until: Duration) {
        *self.resumed.lock() = Some(until);
    }

    /// Takes the end of the wait, if the request is being executed again.
    pub fn take_resumed(&self) -> Option<Duration> {
        self.resumed.lock().take()
    }

    /// Notes whether the connection can execute its request again.
    pub fn set_repeatable(&self, is_repeatable: bool) {
        self.is_repeatable.store(is_repeatable, Ordering::Relaxed);
    }

    /// True if the connection can execute its request again.
    pub fn is_repeatable(&self) -> bool {
        self.is_repeatable.load(Ordering::Relaxed)
    }
}
