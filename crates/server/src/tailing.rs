//! Requests that wait for documents of a tailable cursor.
//!
//! A `getMore` that finds nothing leaves a [`Wait`] with its client, and its reply is dropped. The task of the
//! connection waits, without a thread and without the permit of a request, and executes the request again: when
//! documents were added, when the cursor was closed, when the client is gone, when the server ends, or when the time is
//! over. Then `getMore` replies whatever it finds.

use alluvium::AppendWatch;
use alluvium_env::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The condition that a request waits for.
pub(crate) struct Wait {
    /// When it ends, on the server's clock.
    pub until: Duration,
    /// Notified when the request is to be executed again.
    pub changed: Arc<Notify>,
    /// Notifies when documents are added.
    pub _watch: AppendWatch,
}

/// The wait of the request of a connection, which has one request at a time.
#[derive(Default)]
pub(crate) struct Tailing {
    wait: Mutex<Option<Wait>>,
    resumed: Mutex<Option<Duration>>,
}

impl Tailing {
    /// Has the request wait, and executed again afterwards.
    pub fn begin(&self, wait: Wait) {
        *self.wait.lock() = Some(wait);
    }

    /// The condition that the executed request waits for.
    pub fn take_wait(&self) -> Option<Wait> {
        self.wait.lock().take()
    }

    /// Notes that the next executed request has waited, and may wait until this time.
    pub fn resume(&self, until: Duration) {
        *self.resumed.lock() = Some(until);
    }

    /// When the wait of the request ends, if it is executed again.
    pub fn take_resumed(&self) -> Option<Duration> {
        self.resumed.lock().take()
    }
}
