//! Requests that wait for documents of a tailable cursor.
//!
//! A `getMore` that finds no documents leaves a [`Wait`] with its client, and its reply is dropped. The task of the
//! connection then waits, without a thread and without a permit. The task executes the request again when documents
//! were added, the cursor was closed, the client has disconnected, the server stops, or the time is over. This second
//! `getMore` always replies, even with an empty batch.

use alluvium::AppendWatch;
use alluvium_env::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The event that a request waits for.
pub(crate) struct Wait {
    /// The end of the wait, on the server's clock.
    pub until: Duration,
    /// Notified when the request has to be executed again.
    pub changed: Arc<Notify>,
    /// Notifies `changed` when documents are added.
    pub _watch: AppendWatch,
}

/// The wait of the request on a connection. A connection has one request at a time.
#[derive(Default)]
pub(crate) struct Tailing {
    wait: Mutex<Option<Wait>>,
    resumed: Mutex<Option<Duration>>,
}

impl Tailing {
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
}
