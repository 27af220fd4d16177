//! What a database does by itself beside its store: it goes on with index builds that were interrupted, deletes what
//! has expired, and sweeps indexes of stale entries.
//!
//! The threads hold the database, but not a handle: when the last handle goes, they are told to stop and waited for.

use crate::database::DatabaseInner;
use crate::index::{Build, Index};
use crate::names::FullName;
use crate::{Database, Error};
use alluvium_env::sync::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often expired documents are looked for, as MongoDB does, and stale index entries.
const EXPIRE_EVERY: Duration = Duration::from_secs(60);

/// Whether background work is to end.
#[derive(Default)]
pub(crate) struct Tasks {
    stopping: Mutex<bool>,
    changed: Condvar,
    threads: Mutex<Vec<alluvium_env::thread::JoinHandle<()>>>,
}

impl Tasks {
    /// True if work is to end where it stands.
    pub fn stopping(&self) -> bool {
        *self.stopping.lock()
    }

    /// Waits; false if work is to end.
    fn wait(&self, time: Duration) -> bool {
        let mut stopping = self.stopping.lock();
        if !*stopping {
            self.changed.wait_for(&mut stopping, time);
        }
        !*stopping
    }

    /// Ends background work and waits until it has ended.
    pub fn stop(&self) {
        *self.stopping.lock() = true;
        self.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // It has told the log already.
            let _panicked = thread.join();
        }
    }
}

/// What the clones of a handle share: when it goes, background work ends, and then the database is closed.
pub(crate) struct Handle(Weak<DatabaseInner>);

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            inner.tasks.stop();
        }
    }
}

impl Database {
    /// A handle for users, and with it the threads of the database.
    pub(crate) fn start(inner: DatabaseInner) -> Self {
        let inner = Arc::new(inner);
        let handle = Arc::new(Handle(Arc::downgrade(&inner)));
        let database = Self { inner, handle: Some(handle) };
        if database.inner.store.options().background {
            // Those that are declared from now on are built by who declares them.
            let unfinished = database.inner.catalog.unfinished_indexes();
            if !unfinished.is_empty() {
                database.start_thread("alluvium-builds", move |own| own.run_builds(unfinished));
            }
            database.start_thread("alluvium-tasks", Self::run_tasks);
        }
        database
    }

    /// As a background thread holds the database.
    pub(crate) fn without_handle(&self) -> Self {
        Self { inner: self.inner.clone(), handle: None }
    }

    /// Without the thread indexes wait for whoever asks for them, and expired documents stay.
    fn start_thread(&self, name: &'static str, run: impl FnOnce(&Self) + Send + 'static) {
        let own = self.without_handle();
        match alluvium_env::thread::try_spawn(name, move || run(&own)) {
            Ok(thread) => self.inner.tasks.threads.lock().push(thread),
            Err(error) => log::warn!(target: "alluvium::index", "no thread for background work: {error}"),
        }
    }

    /// Nothing else waits for them: documents expire meanwhile.
    fn run_builds(&self, unfinished: Vec<(FullName, Arc<Index>)>) {
        // Each is told where it fails.
        let _told = self.finish_all(unfinished, |name, index, error| {
            let index = index.definition.name();
            let told = match error {
                Error::Index(_) | Error::DuplicateIndexKey { .. } => "is given up, and dropped",
                error if error.kind() == crate::ErrorKind::Closed => {
                    log::info!(target: "alluvium::index", "the build of {index} of {name} goes on at the next opening");
                    return;
                }
                _ => "is not ready",
            };
            log::warn!(target: "alluvium::index", "the index {index} of {name}, which was being built, {told}: {error}");
        });
    }

    fn run_tasks(&self) {
        while self.inner.tasks.wait(EXPIRE_EVERY) {
            if let Err(error) = self.delete_expired() {
                log::warn!(target: "alluvium::index", "expired documents stay for now: {error}");
            }
            if let Err(error) = crate::index::sweep::sweep_where_due(self) {
                log::warn!(target: "alluvium::index", "stale index entries stay for now: {error}");
            }
        }
    }

    /// Goes on with all index builds that were interrupted, and waits for them. One that fails does not keep the others
    /// from being built; the first error is returned. A database does that by itself after it is
    /// opened; who cannot wait for it calls this.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.finish_indexes()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`crate::Collection::create_index`].
    pub fn finish_indexes(&self) -> crate::Result<()> {
        self.finish_all(self.inner.catalog.unfinished_indexes(), |_, _, _| {})
    }

    /// Finishes builds; `failed` is told of each that fails.
    fn finish_all(
        &self,
        unfinished: Vec<(FullName, Arc<Index>)>,
        failed: impl Fn(&FullName, &Index, &Error),
    ) -> crate::Result<()> {
        let mut first = Ok(());
        for (name, index) in unfinished {
            match crate::index::finish(&Build { db: self, name: &name, index: &index, stop: None }) {
                // Dropped meanwhile.
                Ok(_) | Err(Error::NoSuchIndex { .. } | Error::NoSuchCollection { .. }) => {}
                Err(error) => {
                    failed(&name, &index, &error);
                    first = first.and(Err(error));
                }
            }
        }
        first
    }
}
