//! Wakes the waiters for new documents of a capped collection.

use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

/// Called when documents were added, or the collection was dropped or renamed. It must not block.
type Waker = Box<dyn Fn() + Send + Sync>;

/// The changes of a collection that a tailable cursor waits for.
#[derive(Default)]
pub(crate) struct Appends {
    count: AtomicU64,
    /// True while `waiting` may contain wakers. Most collections never have a waker.
    is_watched: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    wakers: HashMap<u64, Arc<Waker>>,
}

impl std::fmt::Debug for Appends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Appends").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Appends {
    /// The count of changes so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Counts a change that is visible now, and calls all wakers.
    pub fn note(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.is_watched.load(Ordering::SeqCst) {
            let wakers: Vec<Arc<Waker>> = self.waiting.lock().wakers.values().cloned().collect();
            wakers.iter().for_each(|wake| wake());
        }
    }
}

/// A waker that is called as long as this exists.
pub struct AppendWatch {
    appends: Arc<Appends>,
    id: u64,
}

impl AppendWatch {
    /// Calls `wake` at each change after the first `seen` changes. Calls it immediately if there were more changes
    /// already.
    pub(crate) fn new(appends: &Arc<Appends>, seen: u64, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let wake: Arc<Waker> = Arc::new(Box::new(wake));
        let mut waiting = appends.waiting.lock();
        waiting.last += 1;
        let id = waiting.last;
        waiting.wakers.insert(id, wake.clone());
        appends.is_watched.store(true, Ordering::SeqCst);
        drop(waiting);
        // A change that was counted before the flag was set may have missed the waker.
        if appends.count() != seen {
            wake();
        }
        Self { appends: appends.clone(), id }
    }
}

impl Drop for AppendWatch {
    fn drop(&mut self) {
        let mut waiting = self.appends.waiting.lock();
        waiting.wakers.remove(&self.id);
        if waiting.wakers.is_empty() {
            self.appends.is_watched.store(false, Ordering::SeqCst);
        }
    }
}
