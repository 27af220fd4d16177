//! The store itself: what its users call.

mod read;
mod schema;
mod write;

use crate::admission::Admission;
use crate::batch::partition_of;
use crate::commit::Commit;
use crate::durability::Syncer;
use crate::holds::Holds;
use crate::locks::LockTable;
use crate::open::OpenReport;
use crate::superblock::Superblock;
use crate::trees::{SYSTEM, TreeId, Trees};
use crate::visibility::Visibility;
use crate::workers::Workers;
use crate::{Error, Options, Result, Snapshot, WriteBatch};
use alluvium_codec::entry::Seq;
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_env::{Env, FileLock};
use alluvium_lsm::{Partition, View};
use alluvium_wal::Wal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An open key/value store. `Send + Sync`; share it behind an `Arc` or by reference.
///
/// Dropping it closes it; [`Store::close`] also says whether that went well.
///
/// ```
/// use alluvium_store::{Bounds, Durability, LockMode, Options, Store};
/// # fn main() -> alluvium_store::Result<()> {
/// # let (env, path) = (alluvium_env::Env::in_memory(1), std::path::Path::new("db"));
/// let store = Store::open(env, path, Options::default())?;
/// let pets = store.create_trees(&[b"pets"])?[0];
///
/// // Writes come in batches, which are there as a whole or not at all.
/// let mut batch = store.batch();
/// batch.put(pets, b"rex", b"dog");
/// batch.put(pets, b"tom", b"cat");
/// store.write(batch, Durability::Sync)?;
/// assert!(store.contains(pets, b"rex")? && !store.contains(pets, b"ada")?);
///
/// // A snapshot never changes.
/// let before = store.snapshot();
/// let mut batch = store.batch();
/// batch.delete(pets, b"tom");
/// store.write(batch, Durability::Periodic)?;
/// let mut value = Vec::new();
/// assert!(!store.get(pets, b"tom", &mut value)? && store.get_at(&before, pets, b"tom", &mut value)?);
/// assert_eq!(value, b"cat");
///
/// // Keys in their order.
/// let mut scan = store.scan(pets, Bounds::all(), Some(&before))?;
/// while let Some((key, value)) = scan.next()? {
///     println!("{key:?} {value:?}");
/// }
///
/// // Read, and write what follows from it, with nobody in between.
/// let locks = store.lock(pets, [&b"rex"[..]], LockMode::Exclusive);
/// store.get(pets, b"rex", &mut value)?;
/// let mut batch = store.batch();
/// batch.put(pets, b"rex", &[&value[..], b", large"].concat());
/// store.write_locked(batch, Durability::Sync, &locks)?;
/// drop(locks);
///
/// store.drop_trees(&[pets])?;
/// store.close()
/// # }
/// ```
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    closing: Mutex<Closing>,
}

/// What closing needs and leaves.
struct Closing {
    threads: Vec<alluvium_env::thread::JoinHandle<()>>,
    outcome: Option<Result<()>>,
}

/// What all threads of a store share.
pub(crate) struct Inner {
    pub env: Env,
    pub path: PathBuf,
    pub options: Options,
    pub superblock: Superblock,
    pub partitions: Vec<Arc<Partition>>,
    pub shared: Arc<alluvium_lsm::Shared>,
    pub wal: Arc<Wal>,
    pub visibility: Arc<Visibility>,
    pub trees: Arc<Trees>,
    pub locks: Arc<LockTable>,
    pub commit: Commit,
    pub admission: Admission,
    pub workers: Workers,
    pub syncer: Syncer,
    /// Who keeps the log from letting segments go.
    pub holds: Holds,
    pub poisoned: OnceLock<Error>,
    /// No file is touched any more, or shortly.
    pub closed: AtomicBool,
    /// Held while the set of trees changes, so that ids and descriptions are written in order.
    pub schema: Mutex<()>,
    /// The last failure of background work that did not poison.
    pub background_error: Mutex<Option<Error>>,
    /// The log was damaged, and nothing of it is let go: see [`Store::discard_damage`].
    pub damaged: AtomicBool,
    /// Letting that log go has failed and is to be tried again.
    pub discard_wanted: AtomicBool,
    pub report: OpenReport,
    /// The directory's lock, until the store is closed.
    pub lock: Mutex<Option<Box<dyn FileLock>>>,
}

impl Store {
    /// Opens the store in the directory `path`, or creates one there.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// let env = alluvium_env::Env::in_memory(1); // or Env::os()
    /// let store = Store::open(env, std::path::Path::new("db"), Options::default())?;
    /// assert!(store.report().created);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::NotADatabase`], [`Error::ForeignDirectory`],
    /// [`Error::PartitionCount`], [`Error::InvalidOption`], and [`Error::Storage`] for damage, a
    /// newer format, or what the operating system refuses.
    pub fn open(env: Env, path: &Path, options: Options) -> Result<Self> {
        let inner =
            crate::open::open(env, path, options).inspect_err(|error| crate::events::not_opened(path, error))?;
        crate::events::opened(&inner);
        let mut threads = Vec::new();
        let started = crate::open::start_threads(&inner, &mut threads);
        // If one cannot be had, those that run end with it.
        let store = Self { inner, closing: Mutex::new(Closing { threads, outcome: None }) };
        started.inspect_err(|error| crate::events::not_opened(path, error))?;
        Ok(store)
    }

    /// What opening found: whether the last close was clean, and what was lost.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.report().created && store.report().lost.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn report(&self) -> &OpenReport {
        &self.inner.report
    }

    /// The directory.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert_eq!(store.path(), std::path::Path::new("db"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The options that the store runs with.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert_eq!(store.options().memory_bytes, 256 << 20);
    /// # Ok(())
    /// # }
    /// ```
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Partitions of the store.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert_eq!(store.partitions(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn partitions(&self) -> u32 {
        self.inner.superblock.partitions
    }

    /// An empty batch.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// assert_eq!(batch.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch(&self) -> WriteBatch {
        WriteBatch::new(self.inner.superblock.partitions)
    }

    /// The partition that holds `key`.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.partition_of(b"rex") < store.partitions());
    /// # Ok(())
    /// # }
    /// ```
    pub fn partition_of(&self, key: &[u8]) -> u32 {
        partition_of(alluvium_codec::hash64(key), self.inner.superblock.partitions)
    }

    /// Closes the store: ends the threads and what others do to its files, syncs and seals the log,
    /// and gives the directory free, so that it can be opened again at once. Later calls answer
    /// [`Error::Closed`], on snapshots and scans too, and touch no file; a later `close` answers what
    /// the first did.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// store.close()?;
    /// assert!(store.get(pets, b"rex", &mut Vec::new()).is_err());
    /// store.close()?; // once more has no effect
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Storage`] if the log cannot be sealed; what was acknowledged is safe then too.
    /// [`Error::Poisoned`] if an earlier failure has ended writing already. The store is closed then
    /// too.
    pub fn close(&self) -> Result<()> {
        let mut closing = self.closing.lock();
        let threads = std::mem::take(&mut closing.threads);
        closing.outcome.get_or_insert_with(|| self.inner.close(threads)).clone()
    }

    /// Errors if the store was closed.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// store.check_open()?;
    /// store.close()?;
    /// assert!(store.check_open().is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn check_open(&self) -> Result<()> {
        self.inner.open_for_reads()
    }

    /// Errors if the store takes no writes any more.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// store.check_writable()?;
    /// store.close()?;
    /// assert!(store.check_writable().is_err());
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Poisoned`].
    pub fn check_writable(&self) -> Result<()> {
        self.inner.writable()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Nobody is left to tell; the next open recovers.
        let _unsealed = self.close();
    }
}

impl Inner {
    /// Reads the latest moment of a partition under a snapshot, again if that was ended meanwhile.
    fn read_registered<T>(
        &self,
        partition: usize,
        read: impl FnMut(&View, Seq) -> alluvium_env::Result<T>,
    ) -> Result<T> {
        let mut read = read;
        loop {
            let snapshot = self.visibility.snapshot();
            let view = self.partitions[partition].view();
            let found = self.read(read(&view, snapshot.seq()))?;
            match snapshot.check() {
                Ok(()) => return Ok(found),
                Err(Error::SnapshotTooOld) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `f` with the internal key and its partition, on the stack where it fits.
    pub(crate) fn with_internal_key<T>(
        &self,
        tree: TreeId,
        key: &[u8],
        f: impl FnOnce(&[u8], usize) -> Result<T>,
    ) -> Result<T> {
        let partition = match tree {
            SYSTEM => 0,
            _ => {
                let hash = alluvium_codec::hash64(key);
                self.shared.cache.count_get();
                partition_of(hash, self.superblock.partitions) as usize
            }
        };
        let mut short = [0u8; 128];
        let len = key.len() + 4;
        if let Some(buffer) = short.get_mut(..len) {
            buffer[..4].copy_from_slice(&tree.0.to_be_bytes());
            buffer[4..].copy_from_slice(key);
            return f(buffer, partition);
        }
        let mut long = tree.0.to_be_bytes().to_vec();
        long.extend_from_slice(key);
        f(&long, partition)
    }

    /// Errors if the store was closed. A poisoned store still reads.
    pub(crate) fn open_for_reads(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Errors if the tree cannot be read at the snapshot. Asked after views were pinned: what they hold,
    /// the snapshot needs no more.
    pub(crate) fn readable_at(&self, tree: TreeId, snapshot: &Snapshot) -> Result<()> {
        snapshot.check()?;
        // Ended in between, it holds no dropped tree any more.
        let readable = self.trees.check_readable(tree, snapshot.seq());
        readable.map_err(|gone| snapshot.check().err().unwrap_or(gone))
    }

    /// A read that failed because the store was closed meanwhile says so: another may remove files then.
    pub(crate) fn read<T>(&self, result: alluvium_env::Result<T>) -> Result<T> {
        result.map_err(|error| self.open_for_reads().err().unwrap_or(error.into()))
    }

    /// Calls it closed if work failed because the store was closed meanwhile. Not every failure ends writing; one that broke
    /// the log or a manifest does, also where the work at hand was done before it.
    pub(crate) fn ended<T>(&self, result: Result<T>) -> Result<T> {
        let closed = result.is_err().then(|| self.open_for_reads().err()).flatten();
        if closed.is_none() {
            self.poison_if_broken();
        }
        result.map_err(|error| closed.unwrap_or(error))
    }

    fn close(&self, threads: Vec<alluvium_env::thread::JoinHandle<()>>) -> Result<()> {
        self.workers.stop();
        self.syncer.stop();
        self.admission.wake();
        for thread in threads {
            // A worker that panicked has poisoned the store already.
            let _panicked = thread.join();
        }
        let writable = self.writable();
        self.closed.store(true, Ordering::Release);
        self.admission.wake();
        if writable.is_ok() {
            // Batches that were being written when the store was closed end before the seal.
            self.commit_barrier();
        }
        self.visibility.close();
        // Flushes and compactions on the callers' threads still need the log.
        self.partitions.iter().for_each(|partition| partition.close());
        let sealed = self.wal.close();
        *self.lock.lock() = None;
        let outcome = writable.and(sealed.map_err(Error::from));
        crate::events::closed(&self.path, outcome.as_ref().err());
        outcome
    }

    /// A view of every partition.
    pub(crate) fn views(&self) -> Vec<Arc<View>> {
        self.partitions.iter().map(|p| p.view()).collect()
    }
}
