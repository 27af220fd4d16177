//! The in-memory state of an index since the database was opened: its build, and its use by queries.

use crate::error::{Error, Result};
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_exec::{Examined, Limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// The interval at which a thread that waits for a build checks its stop flag. A signal handler sets the flag, and
/// cannot notify the thread.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// The progress of the build of an index. Clones are cheap, and share the counts.
#[derive(Debug, Clone, Default)]
pub struct IndexProgress {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    documents: AtomicU64,
    expected: AtomicU64,
}

impl IndexProgress {
    /// The number of documents indexed since the database was opened.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let build = pets.create_index(r#"{"age": 1}"#).start()?;
    /// let progress = build.progress();
    /// build.run()?;
    /// assert_eq!(progress.documents(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn documents(&self) -> u64 {
        self.counts.documents.load(Ordering::Relaxed)
    }

    /// The approximate total of [`IndexProgress::documents`] at the end of the build; 0 before the
    /// build begins or resumes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let build = pets.create_index(r#"{"age": 1}"#).start()?;
    /// assert_eq!(build.progress().documents_expected(), 0, "it has not begun");
    /// # build.run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn documents_expected(&self) -> u64 {
        self.counts.expected.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, expected: u64) {
        self.counts.documents.store(0, Ordering::Relaxed);
        self.counts.expected.store(expected, Ordering::Relaxed);
    }

    /// Counts one more document, and returns the count.
    pub(crate) fn add(&self) -> u64 {
        self.counts.documents.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The build of an index. Only one thread builds at a time.
#[derive(Default)]
pub struct Building {
    busy: Mutex<bool>,
    released: Condvar,
    progress: IndexProgress,
    /// The reason why the build failed and the index was dropped.
    failed: Mutex<Option<Error>>,
}

/// While this guard exists, no other thread builds the index.
pub struct BuildGuard<'a>(&'a Building);

impl Building {
    /// Waits until no other thread builds the index. Returns an error if the limits end the wait.
    pub fn enter(&self, limits: &Limits, env: &Env) -> Result<BuildGuard<'_>> {
        let mut busy = self.busy.lock();
        while *busy {
            if limits.stop.is_none() && limits.max_time.is_none() {
                self.released.wait(&mut busy);
                continue;
            }
            limits.check(env)?;
            self.released.wait_for(&mut busy, STOP_CHECK);
        }
        *busy = true;
        Ok(BuildGuard(self))
    }

    /// Records why the index cannot be built and is dropped, for the waiting threads.
    pub fn fail(&self, error: &Error) {
        *self.failed.lock() = Some(error.clone());
    }

    /// The reason why the build failed, if it did.
    pub fn failed(&self) -> Option<Error> {
        self.failed.lock().clone()
    }

    /// The progress of the build.
    pub fn progress(&self) -> &IndexProgress {
        &self.progress
    }
}

impl std::fmt::Debug for Building {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Building").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl Drop for BuildGuard<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock() = false;
        self.0.released.notify_all();
    }
}

/// The use of an index by queries, and its cost.
#[derive(Debug, Default)]
pub struct Usage {
    uses: AtomicU64,
    /// The time of the last query, in milliseconds since 1970; 0 if there was none.
    last_ms: AtomicI64,
    keys: AtomicU64,
    stale: AtomicU64,
}

impl Usage {
    /// Counts a query.
    pub fn begin(&self, now_ms: i64) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.last_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    /// Adds the numbers that a query has examined.
    pub fn examined(&self, examined: &Examined) {
        self.keys.fetch_add(examined.keys, Ordering::Relaxed);
        self.stale.fetch_add(examined.stale, Ordering::Relaxed);
    }

    /// The number of queries.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// The time of the last query, in milliseconds since 1970.
    pub fn last_ms(&self) -> Option<i64> {
        Some(self.last_ms.load(Ordering::Relaxed)).filter(|ms| *ms != 0)
    }

    /// The number of entries examined, and the number of stale entries among them.
    pub fn keys_and_stale(&self) -> (u64, u64) {
        (self.keys.load(Ordering::Relaxed), self.stale.load(Ordering::Relaxed))
    }
}
