//! The engine: the catalogue with its store, the environment, and the background work of one open
//! database.

use crate::catalog::Catalog;
use crate::encoders::Encoders;
use crate::error::{Error, Result};
use crate::gathering::Gathering;
use crate::names::FullName;
use crate::snapshot::Snapshot;
use crate::state::CollectionState;
use alluvium_document::Timestamp;
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_query::expression::Memory;
use alluvium_query::update::Context;
use alluvium_store::Store;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// An open database.
pub struct Engine {
    /// The collections, and the store that contains them.
    pub catalog: Catalog,
    /// The access to files, clock and random numbers.
    pub env: Env,
    pub(crate) tasks: Tasks,
    /// Limits the work that gathers index entries in memory.
    pub(crate) gathering: Gathering,
    /// The encoders of documents that are given as JSON text.
    pub(crate) encoders: Encoders,
    /// The time at which the database was opened, in milliseconds since 1970.
    pub(crate) opened_ms: i64,
    /// The value of `$$CLUSTER_TIME`, its seconds in the upper half; 0 without a cluster.
    cluster_time: AtomicU64,
}

impl Engine {
    pub(crate) fn new(catalog: Catalog, env: Env) -> Self {
        let (tasks, gathering, encoders) = Default::default();
        let opened_ms = env.clock.unix_millis();
        Self { catalog, env, tasks, gathering, encoders, opened_ms, cluster_time: AtomicU64::new(0) }
    }

    /// The key/value store.
    pub fn store(&self) -> &Store {
        self.catalog.store()
    }

    /// The account of the values that expressions make.
    pub fn memory(&self) -> &Memory {
        self.catalog.memory()
    }

    /// Sets the value of `$$CLUSTER_TIME` for later queries and updates.
    pub fn note_cluster_time(&self, time: Timestamp) {
        let joined = u64::from(time.time) << 32 | u64::from(time.increment);
        self.cluster_time.store(joined, Ordering::Relaxed);
    }

    /// The value of `$$CLUSTER_TIME`; `None` without a cluster.
    pub(crate) fn cluster_time(&self) -> Option<Timestamp> {
        let joined = self.cluster_time.load(Ordering::Relaxed);
        let (time, increment) = ((joined >> 32) as u32, joined as u32);
        (joined != 0).then_some(Timestamp { time, increment })
    }

    /// A snapshot of the current state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.store().snapshot())
    }

    /// The state of the collection with this name, now or at a snapshot; an empty one if it does
    /// not exist.
    ///
    /// # Errors
    /// Errors of reading the shapes.
    pub fn collection_at(&self, name: &FullName, snapshot: Option<&Snapshot>) -> Result<Arc<CollectionState>> {
        let found = match snapshot {
            Some(snapshot) => self.readable_at(name, snapshot)?,
            None => self.catalog.find(name)?,
        };
        Ok(found.unwrap_or_else(|| self.catalog.absent()))
    }

    /// The state of a collection at a snapshot; `None` if the collection did not exist then.
    fn readable_at(&self, name: &FullName, snapshot: &Snapshot) -> Result<Option<Arc<CollectionState>>> {
        let Some(state) = self.catalog.find_at(name, snapshot)? else { return Ok(None) };
        // A drop removes the trees before the name, so a snapshot between the two steps has the name without the trees.
        Ok(self.store().is_readable_at(&snapshot.store, state.documents)?.then_some(state))
    }

    /// The context of an update: the current time.
    pub(crate) fn update_context(&self) -> Context {
        Context { time_ms: self.env.clock.unix_millis(), inserting: false }
    }

    /// Sets the time between two checks for expired documents, by default a minute. With `None`, expired documents are
    /// not deleted. The next check is due immediately.
    pub fn set_expiry_interval(&self, interval: Option<Duration>) {
        self.tasks.set_interval(interval);
    }

    /// Stops background work and closes the store.
    ///
    /// # Errors
    /// Errors of syncing and sealing the log.
    pub fn close(&self) -> Result<()> {
        self.tasks.stop();
        Ok(self.store().close()?)
    }
}

/// The interval at which expired documents are deleted, as in MongoDB.
pub(crate) const INTERVAL: Duration = Duration::from_secs(60);

impl Default for Tasks {
    fn default() -> Self {
        let (stopping, changed, threads) = Default::default();
        Self { stopping, changed, interval: Mutex::new(Some(INTERVAL)), threads }
    }
}

/// The threads of background work, and the flag that stops them.
pub(crate) struct Tasks {
    stopping: Mutex<bool>,
    changed: Condvar,
    /// The time between two checks for expired documents.
    interval: Mutex<Option<Duration>>,
    threads: Mutex<Vec<alluvium_env::thread::JoinHandle<()>>>,
}

impl Tasks {
    /// True if background work must stop now.
    pub fn stopping(&self) -> bool {
        *self.stopping.lock()
    }

    /// An error if background work must stop now.
    pub fn check(&self) -> Result<()> {
        if self.stopping() { Err(Error::Store(alluvium_store::Error::Closed)) } else { Ok(()) }
    }

    /// Waits for `time`, or until background work must stop. Returns false in the latter case.
    pub fn wait(&self, time: Duration) -> bool {
        let mut stopping = self.stopping.lock();
        if !*stopping {
            self.changed.wait_for(&mut stopping, time);
        }
        !*stopping
    }

    /// The time between two checks for expired documents; `None` if they are not deleted.
    pub fn interval(&self) -> Option<Duration> {
        *self.interval.lock()
    }

    /// Sets the interval of the checks. The next check is due immediately.
    pub fn set_interval(&self, interval: Option<Duration>) {
        *self.interval.lock() = interval;
        self.changed.notify_all();
    }

    pub fn add(&self, thread: alluvium_env::thread::JoinHandle<()>) {
        self.threads.lock().push(thread);
    }

    /// Stops background work and waits for its threads.
    pub fn stop(&self) {
        *self.stopping.lock() = true;
        self.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A panic was logged already.
            let _panicked = thread.join();
        }
    }
}

/// A shared engine. When the last handle of a user is dropped, background work is stopped, and then
/// the database is closed.
#[derive(Clone)]
pub struct EngineHandle {
    engine: Arc<Engine>,
    /// `None` in background threads, which do not keep the database open.
    _stop: Option<Arc<StopOnDrop>>,
}

struct StopOnDrop(Weak<Engine>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(engine) = self.0.upgrade() {
            engine.tasks.stop();
        }
    }
}

impl EngineHandle {
    pub(crate) fn new(engine: Engine) -> Self {
        let engine = Arc::new(engine);
        let stop = Arc::new(StopOnDrop(Arc::downgrade(&engine)));
        Self { engine, _stop: Some(stop) }
    }

    /// A handle for a background thread.
    pub(crate) fn for_background(&self) -> Self {
        Self { engine: self.engine.clone(), _stop: None }
    }
}

impl AsRef<EngineHandle> for EngineHandle {
    fn as_ref(&self) -> &EngineHandle {
        self
    }
}

impl Deref for EngineHandle {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}
