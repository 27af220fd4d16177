//! The store: its parts, opening, closing, and the calls of its users.

mod maintenance;
mod open;
mod read;
mod schema;
mod write;
mod write_sets;

use crate::admission::Admission;
use crate::batch::WriteBatch;
use crate::claims::Claims;
use crate::commit::{Commit, take_number_of_thread};
use crate::durability::Syncer;
use crate::error::{Error, Result};
use crate::files::superblock::Superblock;
use crate::health::Health;
use crate::holds::Holds;
use crate::keys;
use crate::locks::LockTable;
use crate::options::Options;
use crate::partitions::Partitions;
use crate::poison::Poison;
use crate::reads::Reads;
use crate::report::OpenReport;
use crate::trees::Trees;
use crate::upkeep::Upkeep;
use crate::visibility::Visibility;
use crate::work::WorkSignal;
use alluvium_env::sync::Mutex;
use alluvium_env::thread::JoinHandle;
use alluvium_env::{Env, FileLock};
use alluvium_lsm::Shared;
use alluvium_wal::Wal;
pub use schema::TreeChanges;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open key/value store. `Send + Sync`; share it through an `Arc` or by reference.
///
/// Dropping the store closes it; [`Store::close`] also returns whether closing succeeded.
///
/// ```
/// use alluvium_store::{Bounds, Durability, LockMode, Options, Store};
/// # fn main() -> alluvium_store::Result<()> {
/// # let (env, path) = (alluvium_env::Env::in_memory(1), std::path::Path::new("db"));
/// let store = Store::open(env, path, Options::default())?;
/// let pets = store.create_trees(&[b"pets"])?[0];
///
/// // Writes come in batches, which take effect as a whole or not at all.
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
/// // Read, and write what follows from it, with no other writer in between.
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
    pub(crate) env: Env,
    path: PathBuf,
    pub(crate) options: Arc<Options>,
    pub(crate) superblock: Superblock,
    pub(crate) partitions: Partitions,
    pub(crate) shared: Arc<Shared>,
    pub(crate) wal: Arc<Wal>,
    pub(crate) health: Arc<Health>,
    pub(crate) poison: Arc<Poison>,
    pub(crate) visibility: Arc<Visibility>,
    pub(crate) trees: Arc<Trees>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) reads: Arc<Reads>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) commit: Arc<Commit>,
    pub(crate) work: Arc<WorkSignal>,
    pub(crate) upkeep: Arc<Upkeep>,
    syncer: Arc<Syncer>,
    locks: Arc<LockTable>,
    claims: Arc<Claims>,
    report: OpenReport,
    /// Held while the set of trees changes, so that ids and descriptions are written in order.
    schema: Mutex<()>,
    /// The lock of the directory, held until the store is closed.
    lock: Mutex<Option<Box<dyn FileLock>>>,
    closing: Mutex<Closing>,
}

/// The threads to join when the store is closed, and the outcome of closing.
#[derive(Default)]
struct Closing {
    threads: Vec<JoinHandle<()>>,
    outcome: Option<Result<()>>,
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
    /// [`Error::InUse`], [`Error::NotADatabase`], [`Error::ForeignDirectory`], [`Error::PartitionCount`],
    /// [`Error::InvalidOption`], [`Error::LogTooLarge`] with [`Options::read_only`], and [`Error::Storage`] for damage,
    /// a newer format, or an error of the operating system.
    pub fn open(env: Env, path: &Path, options: Options) -> Result<Self> {
        let opened = open::open(env, path, options).and_then(|store| {
            crate::events::opened(path, store.partitions.len(), &store.report);
            store.start_threads()?;
            Ok(store)
        });
        opened.inspect_err(|error| crate::events::not_opened(path, error))
    }

    /// The report of opening: whether the last close was clean, and what was lost.
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
        &self.report
    }

    /// The directory of the store.
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
        &self.path
    }

    /// The random number that the database was given when it was created. A database that is restored from a checkpoint
    /// gets a new number.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let env = alluvium_env::Env::in_memory(1);
    /// let one = Store::open(env.clone(), std::path::Path::new("one"), Options::default())?;
    /// let other = Store::open(env, std::path::Path::new("other"), Options::default())?;
    /// assert_ne!(one.database_id(), other.database_id());
    /// # Ok(())
    /// # }
    /// ```
    pub fn database_id(&self) -> u64 {
        self.superblock.database_id
    }

    /// The number of the last batch that this thread has committed since the last call, to any store. So a program that
    /// calls many functions learns up to which number it has written.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let _of_before = store.take_number_of_thread();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let number = store.write(batch, Durability::Periodic)?;
    /// assert_eq!(store.take_number_of_thread(), Some(number));
    /// assert_eq!(store.take_number_of_thread(), None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn take_number_of_thread(&self) -> Option<alluvium_codec::entry::Seq> {
        take_number_of_thread()
    }

    /// The environment of the store, in which its directory is held open. Paths at or below [`Store::path`] lead into
    /// the directory of the store, even if another directory has that name now.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// let env = alluvium_env::Env::in_memory(1);
    /// let store = Store::open(env.clone(), std::path::Path::new("db"), Options::default())?;
    /// env.fs.rename(std::path::Path::new("db"), std::path::Path::new("moved"))?;
    /// assert!(!env.fs.exists(store.path())? && store.env().fs.exists(store.path())?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// As [`Store::env`], for files whose names and contents do not change while they are read. Only a bounded number
    /// of these files and of the sorted files of the store are kept open.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// use alluvium_env::OpenMode;
    /// store.sorted_env().fs.open("db/some-file".as_ref(), OpenMode::CreateNew)?.write_at(b"text", 0)?;
    /// assert_eq!(store.sorted_env().fs.open("db/some-file".as_ref(), OpenMode::Read)?.len()?, 4);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn sorted_env(&self) -> &Env {
        &self.shared.sorted_env
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
        &self.options
    }

    /// The number of partitions.
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
        self.superblock.partitions
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
        WriteBatch::new(self.superblock.partitions)
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
        keys::partition_of(alluvium_codec::hash64(key), self.superblock.partitions)
    }

    /// Closes the store: ends its threads and the calls on other threads that use its files, syncs and seals the log,
    /// and unlocks the directory, so that the store can be opened again at once. Later calls, also on snapshots and
    /// scans, return [`Error::Closed`] and use no file. A later `close` returns the result of the first.
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
    /// [`Error::Storage`] if the log cannot be sealed; acknowledged writes are safe nevertheless. [`Error::Poisoned`]
    /// if an earlier failure has ended writing. The store is closed in any case.
    pub fn close(&self) -> Result<()> {
        let mut closing = self.closing.lock();
        let threads = std::mem::take(&mut closing.threads);
        closing.outcome.get_or_insert_with(|| self.close_with(threads)).clone()
    }

    /// Returns an error if the store was closed.
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
        self.health.check_open()
    }

    /// Returns an error if the store no longer takes writes.
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
    /// [`Error::Closed`], [`Error::Poisoned`], [`Error::OpenedForReading`].
    pub fn check_writable(&self) -> Result<()> {
        self.health.check_takes_writes()
    }

    fn close_with(&self, threads: Vec<JoinHandle<()>>) -> Result<()> {
        self.work.stop();
        self.syncer.stop();
        self.admission.wake();
        for thread in threads {
            // A worker that panicked has already poisoned the store.
            let _panicked = thread.join();
        }
        let writable = self.health.check_writable();
        self.health.set_closed();
        self.admission.wake();
        if writable.is_ok() {
            // Batches that were being written when the store was closed are finished before the log is sealed.
            self.commit.barrier();
        }
        self.visibility.close();
        // Flushes and compactions on the callers' threads need the log until they end.
        self.partitions.iter().for_each(|partition| partition.close());
        let sealed = self.wal.close();
        *self.lock.lock() = None;
        let outcome = writable.and(sealed.map_err(Error::from));
        crate::events::closed(&self.path, outcome.as_ref().err());
        outcome
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // There is no caller to return an error to; the next open recovers.
        let _unsealed = self.close();
    }
}
