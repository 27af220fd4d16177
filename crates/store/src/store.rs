//! The store itself: what its users call.

use crate::admission::{Admission, Admitted};
use crate::batch::{lock_hash, partition_of};
use crate::commit::{Commit, Work};
use crate::durability::Syncer;
use crate::holds::Holds;
use crate::locks::LockTable;
use crate::open::OpenReport;
use crate::scan::{Bounds, Scan};
use crate::superblock::Superblock;
use crate::trees::{SYSTEM, SchemaChange, TreeId, Trees, described_tree};
use crate::visibility::Visibility;
use crate::workers::Workers;
use crate::{Durability, Error, LockGuard, LockMode, Multivalue, Options, Result, Snapshot, WriteBatch};
use codec::entry::Seq;
use env::sync::Mutex;
use env::{Env, FileLock};
use lsm::{Partition, View};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use wal::Wal;

/// An open key/value store. `Send + Sync`; share it behind an `Arc` or by reference.
///
/// Dropping it closes it; [`Store::close`] also says whether that went well.
///
/// ```
/// use store::{Bounds, Durability, LockMode, Options, Store};
/// # fn main() -> store::Result<()> {
/// # let (env, path) = (env::Env::in_memory(1), std::path::Path::new("db"));
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
    threads: Vec<env::thread::JoinHandle<()>>,
    outcome: Option<Result<()>>,
}

/// What all threads of a store share.
pub(crate) struct Inner {
    pub env: Env,
    pub path: PathBuf,
    pub options: Options,
    pub superblock: Superblock,
    pub partitions: Vec<Arc<Partition>>,
    pub shared: Arc<lsm::Shared>,
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
    pub report: OpenReport,
    /// The directory's lock, until the store is closed.
    pub lock: Mutex<Option<Box<dyn FileLock>>>,
}

impl Store {
    /// Opens the store in the directory `path`, or creates one there.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::NotADatabase`], [`Error::ForeignDirectory`],
    /// [`Error::PartitionCount`], [`Error::InvalidOption`], and [`Error::Storage`] for damage, a
    /// newer format, or what the operating system refuses.
    pub fn open(env: Env, path: &Path, options: Options) -> Result<Self> {
        let inner =
            crate::open::open(env, path, options).inspect_err(|error| crate::events::not_opened(path, error))?;
        crate::events::opened(&inner);
        let threads = crate::open::start_threads(&inner)?;
        Ok(Self { inner, closing: Mutex::new(Closing { threads, outcome: None }) })
    }

    /// What opening found: whether the last close was clean, and what was lost.
    pub fn report(&self) -> &OpenReport {
        &self.inner.report
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The options that the store runs with.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Partitions of the store.
    pub fn partitions(&self) -> u32 {
        self.inner.superblock.partitions
    }

    /// An empty batch.
    pub fn batch(&self) -> WriteBatch {
        WriteBatch::new(self.inner.superblock.partitions)
    }

    /// Writes a batch whose operations read nothing: takes shared locks on its keys.
    ///
    /// Returns the number of the last operation. When this returns, every read sees the batch.
    ///
    /// # Errors
    /// [`Error::BatchTooLarge`], [`Error::NoSuchTree`], [`Error::NoSpace`], [`Error::Poisoned`]:
    /// nothing was written. [`Error::OutcomeUnknown`]: the log failed under way.
    pub fn write(&self, batch: WriteBatch, durability: Durability) -> Result<Seq> {
        let _admitted = self.inner.admit(batch.encoded_bytes())?;
        let keys = batch.ops.iter().map(|op| (op.hash, LockMode::Shared)).collect();
        let _locks = self.inner.locks.acquire(keys);
        self.inner.commit(Work::Batch(batch, None), durability)
    }

    /// Removes the keys of a tree from `from` to below `to`; see [`WriteBatch::delete_range`].
    ///
    /// ```
    /// # fn main() -> store::Result<()> {
    /// use store::{Durability, Options, Store};
    /// let store = Store::open(env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let tree = store.create_trees(&[b"events"])?[0];
    /// let mut batch = store.batch();
    /// for day in ["2026-01-01", "2026-01-02", "2026-02-01"] {
    ///     batch.put(tree, day.as_bytes(), b"...");
    /// }
    /// store.write(batch, Durability::Periodic)?;
    /// store.delete_range(tree, b"2026-01", b"2026-02", Durability::Periodic)?;
    /// assert!(!store.contains(tree, b"2026-01-02")?);
    /// assert!(store.contains(tree, b"2026-02-01")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn delete_range(&self, tree: TreeId, from: &[u8], to: &[u8], durability: Durability) -> Result<Seq> {
        let mut batch = self.batch();
        batch.delete_range(tree, from, to);
        self.write(batch, durability)
    }

    /// Pays the admission debt for a write of some `bytes` and reserves their memory, before any
    /// lock is taken. For callers of [`Store::write_locked`], who keep what is returned until then.
    /// A thread that has locks must not ask for admission.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn admit(&self, bytes: usize) -> Result<Admitted<'_>> {
        self.inner.open_for_reads()?;
        self.inner.admit(bytes)
    }

    /// Writes a batch for whose keys the caller holds locks, after [`Store::admit`].
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_locked(&self, batch: WriteBatch, durability: Durability, _locks: &LockGuard) -> Result<Seq> {
        self.inner.commit(Work::Batch(batch, None), durability)
    }

    /// Locks keys of a tree, waiting as needed. All keys of one write in one call.
    pub fn lock<'a>(&self, tree: TreeId, keys: impl IntoIterator<Item = &'a [u8]>, mode: LockMode) -> LockGuard {
        let wanted = keys.into_iter().map(|k| (lock_hash(tree.0, codec::hash64(k)), mode));
        self.inner.locks.acquire(wanted.collect())
    }

    /// Locks keys of several trees, as [`Store::lock`].
    pub fn lock_all<'a>(&self, keys: impl IntoIterator<Item = (TreeId, &'a [u8], LockMode)>) -> LockGuard {
        let wanted = keys.into_iter().map(|(t, k, m)| (lock_hash(t.0, codec::hash64(k)), m));
        self.inner.locks.acquire(wanted.collect())
    }

    /// Reads the latest visible value of a key into `value`; false if there is none.
    ///
    /// # Errors
    /// [`Error::Storage`] for damage or what the operating system refuses.
    pub fn get(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(self.get_chained(tree, key, value)?.is_some())
    }

    /// As [`Store::get`]; how many deltas were folded for it, or `None` if there is no value. Who is about to write the
    /// key can tell by it whether another delta or a whole value is better.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn get_chained(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<Option<usize>> {
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            // The view first, then the number: see `Partition::get`.
            let view = inner.partitions[partition].view();
            let seq = inner.visibility.visible();
            if view.needs_snapshot() {
                return inner.read_registered(partition, |view, seq| view.get_chained(internal, seq, value));
            }
            inner.read(view.get_chained(internal, seq, value))
        })
    }

    /// Reads a key's value at a snapshot into `value`; false if there is none.
    ///
    /// # Errors
    /// As [`Store::get`]; [`Error::SnapshotTooOld`], and [`Error::NoSuchTree`] if the tree was
    /// dropped before the snapshot.
    pub fn get_at(&self, snapshot: &Snapshot, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            let view = inner.partitions[partition].view();
            inner.readable_at(tree, snapshot)?;
            let found = self.inner.read(view.get(internal, snapshot.seq(), value))?;
            // Range tombstones in memory are thinned under a reader whose snapshot has ended.
            if view.needs_snapshot() {
                snapshot.check()?;
            }
            Ok(found)
        })
    }

    /// The number of the operation that wrote a key last; `None` if nothing of it is left. A tombstone and a delta
    /// count too, and so does the delete of a range that the key lies in.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn version(&self, tree: TreeId, key: &[u8]) -> Result<Option<Seq>> {
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            // The view first, then the number, as in `Store::get`.
            let view = inner.partitions[partition].view();
            let seq = inner.visibility.visible();
            if view.needs_snapshot() {
                let found = inner.read_registered(partition, |view, seq| view.find(internal, seq, &mut Vec::new()))?;
                return Ok(found.map(|(seq, _)| seq));
            }
            Ok(view.find(internal, seq, &mut Vec::new())?.map(|(seq, _)| seq))
        })
    }

    /// [`Store::version`] as of a snapshot.
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn version_at(&self, snapshot: &Snapshot, tree: TreeId, key: &[u8]) -> Result<Option<Seq>> {
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            let view = inner.partitions[partition].view();
            snapshot.check()?;
            inner.trees.check_readable(tree, snapshot.seq())?;
            let found = view.find(internal, snapshot.seq(), &mut Vec::new())?;
            if view.needs_snapshot() {
                snapshot.check()?;
            }
            Ok(found.map(|(seq, _)| seq))
        })
    }

    /// True if the key has a value. Filters answer most misses without I/O.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn contains(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let mut value = Vec::new();
        self.get(tree, key, &mut value)
    }

    /// Walks the keys of a tree in order, at a snapshot (a fresh one if none is given).
    ///
    /// # Errors
    /// As [`Store::get_at`]; [`Error::NoSuchTree`] if it was dropped before the snapshot.
    pub fn scan(&self, tree: TreeId, bounds: Bounds, snapshot: Option<&Snapshot>) -> Result<Scan> {
        self.inner.open_for_reads()?;
        let snapshot = snapshot.cloned().unwrap_or_else(|| self.inner.visibility.snapshot());
        Scan::new(&self.inner, tree, bounds, snapshot)
    }

    /// Takes a snapshot: the latest visible moment of the whole store.
    pub fn snapshot(&self) -> Snapshot {
        self.inner.visibility.snapshot()
    }

    /// The most bytes of a batch that the memory budget allows.
    pub fn max_batch_bytes(&self) -> usize {
        self.inner.options.max_batch_bytes()
    }

    /// The number of the last visible operation.
    pub fn visible(&self) -> Seq {
        self.inner.visibility.visible()
    }

    /// Makes trees, one for each description. Their ids were never used before.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_trees(&self, descriptions: &[&[u8]]) -> Result<Vec<TreeId>> {
        let count = descriptions.len() as u32;
        self.create_trees_with(count, |_| descriptions.iter().map(|d| d.to_vec()).collect())
    }

    /// Makes `count` trees in one batch; `describe` is given their ids, so that a description can
    /// name another tree.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_trees_with(
        &self,
        count: u32,
        describe: impl FnOnce(&[TreeId]) -> Vec<Vec<u8>>,
    ) -> Result<Vec<TreeId>> {
        let _schema = self.inner.schema.lock();
        let ids = self.inner.trees.allocate(count)?;
        let create = ids.iter().copied().zip(describe(&ids)).collect();
        self.change_schema(SchemaChange { create, ..SchemaChange::default() })?;
        Ok(ids)
    }

    /// Makes a tree that holds many sorted values under each key; see [`Store::multivalue`].
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_multivalue_tree(&self, description: &[u8]) -> Result<TreeId> {
        let _schema = self.inner.schema.lock();
        let ids = self.inner.trees.allocate(1)?;
        let create = vec![(ids[0], description.to_vec())];
        self.change_schema(SchemaChange { create, multivalue: ids.clone(), ..SchemaChange::default() })?;
        Ok(ids[0])
    }

    /// The keys and values of a tree made by [`Store::create_multivalue_tree`].
    ///
    /// # Errors
    /// [`Error::NoSuchTree`] if there is no such multivalue tree.
    pub fn multivalue(&self, tree: TreeId) -> Result<Multivalue<'_>> {
        match self.inner.trees.is_multivalue(tree) {
            true => Ok(Multivalue::new(self, tree)),
            false => Err(Error::NoSuchTree(tree.0)),
        }
    }

    /// Replaces the description of trees.
    ///
    /// # Errors
    /// As [`Store::write`]; [`Error::NoSuchTree`] if one was dropped.
    pub fn describe_trees(&self, trees: &[(TreeId, &[u8])]) -> Result<()> {
        let _schema = self.inner.schema.lock();
        self.inner.trees.check_live(&trees.iter().map(|(id, _)| id.0).collect::<Vec<_>>())?;
        let describe = trees.iter().map(|(id, d)| (*id, d.to_vec())).collect();
        self.change_schema(SchemaChange { describe, ..SchemaChange::default() })
    }

    /// Drops trees with all their keys, at once for readers to come; the space is given back in
    /// the background.
    ///
    /// # Errors
    /// As [`Store::write`]; [`Error::NoSuchTree`] if one was dropped already.
    pub fn drop_trees(&self, trees: &[TreeId]) -> Result<()> {
        let _schema = self.inner.schema.lock();
        self.inner.trees.check_live(&trees.iter().map(|id| id.0).collect::<Vec<_>>())?;
        self.change_schema(SchemaChange { drop: trees.to_vec(), ..SchemaChange::default() })?;
        self.inner.workers.signal();
        Ok(())
    }

    /// The trees and their descriptions, by id.
    pub fn trees(&self) -> Vec<(TreeId, Vec<u8>)> {
        self.inner.trees.live()
    }

    /// The trees and their descriptions as they were at a snapshot, by id.
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn trees_at(&self, snapshot: &Snapshot) -> Result<Vec<(TreeId, Vec<u8>)>> {
        let mut scan = self.scan(SYSTEM, Bounds::all(), Some(snapshot))?;
        let mut trees = Vec::new();
        while let Some((key, description)) = scan.next()? {
            trees.extend(described_tree(key).map(|id| (id, description.to_vec())));
        }
        Ok(trees)
    }

    /// A tree's description; `None` if it was dropped.
    pub fn description(&self, tree: TreeId) -> Option<Vec<u8>> {
        self.inner.trees.description(tree)
    }

    /// The partition that holds `key`.
    pub fn partition_of(&self, key: &[u8]) -> u32 {
        partition_of(codec::hash64(key), self.inner.superblock.partitions)
    }

    /// Closes the store: ends the threads and what others do to its files, syncs and seals the log,
    /// and gives the directory free, so that it can be opened again at once. Later calls answer
    /// [`Error::Closed`], on snapshots and scans too, and touch no file; a later `close` answers what
    /// the first did.
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
    /// # Errors
    /// [`Error::Closed`].
    pub fn check_open(&self) -> Result<()> {
        self.inner.open_for_reads()
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
    fn read_registered<T>(&self, partition: usize, read: impl FnMut(&View, Seq) -> env::Result<T>) -> Result<T> {
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
            _ => partition_of(codec::hash64(key), self.superblock.partitions) as usize,
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
    pub(crate) fn read<T>(&self, result: env::Result<T>) -> Result<T> {
        result.map_err(|error| self.open_for_reads().err().unwrap_or(error.into()))
    }

    /// Calls it closed if work failed because the store was closed meanwhile; anything else that
    /// failed is looked into.
    pub(crate) fn ended<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match self.open_for_reads() {
            Err(closed) => closed,
            Ok(()) => {
                // Not every failure ends writing; one that broke the log or a manifest does.
                self.poison_if_broken();
                error
            }
        })
    }

    fn close(&self, threads: Vec<env::thread::JoinHandle<()>>) -> Result<()> {
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
