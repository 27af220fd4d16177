//! What is known of an index in memory, since the database was opened: whether somebody builds it and how far that is, and
//! who has asked it.

use crate::error::{Error, Result};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_exec::Examined;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// How long a flag may go unnoticed by whoever waits for a build: nobody can notify from within a signal handler.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// How far the build of an index is. Cheap to clone; its clones share it, whoever builds.
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
    /// Documents whose entries are made so far, since the database was opened.
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

    /// About how many there will be at the end; 0 before the build goes on.
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

    /// One more; returns how many there are.
    pub(crate) fn add(&self) -> u64 {
        self.counts.documents.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Who builds an index: one at a time.
#[derive(Default)]
pub struct Building {
    busy: Mutex<bool>,
    left: Condvar,
    progress: IndexProgress,
    /// Why it cannot be built, and was dropped.
    failed: Mutex<Option<Error>>,
}

/// As long as it lives, nobody else builds the index.
pub struct Builds<'a>(&'a Building);

impl Building {
    /// Waits until nobody builds the index; [`Error::Stopped`] if `stop` is set before.
    pub fn enter(&self, stop: Option<&AtomicBool>) -> Result<Builds<'_>> {
        let mut busy = self.busy.lock();
        while *busy {
            match stop {
                Some(stop) if stop.load(Ordering::Relaxed) => return Err(Error::Stopped),
                Some(_) => drop(self.left.wait_for(&mut busy, STOP_CHECK)),
                None => self.left.wait(&mut busy),
            }
        }
        *busy = true;
        Ok(Builds(self))
    }

    /// The index is dropped, since it cannot be built: who waits is told why.
    pub fn fail(&self, error: &Error) {
        *self.failed.lock() = Some(error.clone());
    }

    /// Why it could not be built.
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

impl Drop for Builds<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock() = false;
        self.0.left.notify_all();
    }
}

/// Who has asked an index, and what that took.
#[derive(Debug, Default)]
pub struct Usage {
    uses: AtomicU64,
    /// Milliseconds since 1970; 0 for never.
    last_ms: AtomicI64,
    keys: AtomicU64,
    stale: AtomicU64,
}

impl Usage {
    /// Somebody asks the index.
    pub fn begin(&self, now_ms: i64) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.last_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    /// What was looked at for an answer.
    pub fn examined(&self, examined: &Examined) {
        self.keys.fetch_add(examined.keys, Ordering::Relaxed);
        self.stale.fetch_add(examined.stale, Ordering::Relaxed);
    }

    /// How often it was asked.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// When it was asked last, in milliseconds since 1970.
    pub fn last_ms(&self) -> Option<i64> {
        Some(self.last_ms.load(Ordering::Relaxed)).filter(|ms| *ms != 0)
    }

    /// Entries that were looked at, and those of them that were stale.
    pub fn keys_and_stale(&self) -> (u64, u64) {
        (self.keys.load(Ordering::Relaxed), self.stale.load(Ordering::Relaxed))
    }
}
