//! Keeps the runtime reading sockets while requests run on its threads, and ends requests whose clients have
//! disconnected.
//!
//! A thread of the runtime that finds a single request executes the request, and wakes no other thread. If all other
//! threads are asleep, no thread waits for sockets until the request ends. Therefore, a separate thread checks every
//! few milliseconds whether a request runs. If so, it gives the runtime an empty task: the thread that wakes up for
//! this task waits for sockets afterwards. Passing every request to another thread would cost more than most requests.
//!
//! A connection is not read while its request runs. Therefore, the same thread checks whether the clients of long
//! requests are still connected.

use crate::shared::Shared;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::thread::{JoinHandle, spawn};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;

/// The time between two checks while requests run. Sockets are not read for at most this time.
const BUSY: Duration = Duration::from_millis(4);
/// The time between two checks while no request runs.
const IDLE: Duration = Duration::from_millis(16);

/// For requests that take longer than this, the connection of the client is checked.
const LONG: Duration = Duration::from_millis(8);

/// The thread, which ends when this value is dropped.
pub(crate) struct Pulse {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Starts the thread.
    pub(crate) fn start(shared: Arc<Shared>, runtime: Handle) -> Self {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let until = Arc::clone(&ended);
        let beat = move || {
            let (has_ended, end) = &*until;
            let mut has_ended = has_ended.lock();
            while !*has_ended {
                let is_busy = shared.executing.load(Ordering::Relaxed) > 0;
                if is_busy {
                    runtime.spawn(async {});
                }
                let before = shared.env.clock.now().saturating_sub(LONG);
                shared.operations.begun_before(before).iter().for_each(|client| client.end_if_gone());
                end.wait_for(&mut has_ended, if is_busy { BUSY } else { IDLE });
            }
        };
        Self { ended, thread: Some(spawn("alluvium-pulse", beat)) }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panic was printed already. Nothing depends on this thread any more.
            let _panicked = thread.join();
        }
    }
}
