//! The files of a partition, shared by its versions. A file is opened at the first read. After an
//! edit has dropped it, the file is removed when the last version or iterator releases it.

use crate::budget::{Charge, Owner};
use crate::edit::AddedFile;
use crate::names::sst_path;
use crate::options::Shared;
use alluvium_codec::entry::Seq;
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use alluvium_env::{Error, Result};
use alluvium_sst::{FileMeta, Reader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The state that all files of a partition share.
pub(crate) struct Home {
    pub shared: Arc<Shared>,
    pub dir: PathBuf,
    /// Dropped files that no reader holds any more, to be removed by [`Home::remove_dropped`]. A
    /// leaf among the locks.
    dropped: Mutex<Vec<u64>>,
    /// Files that durable edits have removed and that may still exist. Files that are written
    /// concurrently name them in their footers. If the manifest is lost, these footers are the only
    /// evidence that the removed files are not part of the partition. A leaf among the locks.
    replaced: Mutex<BTreeSet<u64>>,
    /// Held while files are removed, so that freezing waits for a removal.
    removing: Mutex<()>,
    /// The number of dropped files that readers hold.
    held: AtomicUsize,
    /// Set when no file may be removed any more: after an edit that may or may not have become durable (the manifest
    /// may name any file then), and when the partition is closed.
    frozen: AtomicBool,
    /// The number of failed syncs of the directory. Held during each sync, so that the next one
    /// sees the failure.
    failed_syncs: Mutex<u64>,
}

impl Home {
    pub fn new(shared: Arc<Shared>, dir: &Path) -> Arc<Self> {
        Arc::new(Self {
            shared,
            dir: dir.to_owned(),
            dropped: Mutex::new(Vec::new()),
            replaced: Mutex::new(BTreeSet::new()),
            removing: Mutex::new(()),
            held: AtomicUsize::new(0),
            frozen: AtomicBool::new(false),
            failed_syncs: Mutex::new(0),
        })
    }

    /// The number of failed syncs of the directory. Read before the first of a group of new files
    /// is created.
    pub fn failed_syncs(&self) -> u64 {
        *self.failed_syncs.lock()
    }

    /// Makes the names of new files durable. `failed_before` is the number of failed syncs before
    /// the files were created. A failed sync may lose names that other threads have created,
    /// although only one thread gets the error, and a later successful sync does not restore these
    /// names.
    pub fn sync_names(&self, failed_before: u64) -> Result<()> {
        let mut failed = self.failed_syncs.lock();
        if let Err(error) = self.shared.env.fs.sync_dir(&self.dir) {
            *failed += 1;
            return Err(error);
        }
        drop(failed);
        self.check_names(failed_before)
    }

    /// The second half of [`Home::sync_names`], for names that were synced by other code.
    pub fn check_names(&self, failed_before: u64) -> Result<()> {
        if self.failed_syncs() == failed_before {
            return Ok(());
        }
        let what =
            std::io::Error::other("another sync of the directory failed, and may have lost the names of new files");
        Err(Error::io("sync", &self.dir, what))
    }

    pub fn path(&self, number: u64) -> PathBuf {
        sst_path(&self.dir, number)
    }

    /// Ends the removal of files for good.
    pub fn freeze(&self) {
        let _removing = self.removing.lock();
        self.frozen.store(true, Ordering::SeqCst);
    }

    /// Records files that a durable edit has removed. Called before the next edit can rely on the
    /// removal.
    pub fn note_replaced(&self, numbers: &[u64]) {
        self.replaced.lock().extend(numbers);
    }

    /// Files that were replaced and may still exist.
    pub fn replaced(&self) -> Vec<u64> {
        self.replaced.lock().iter().copied().collect()
    }

    /// The number of dropped files that readers hold.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// Removes the dropped files that no reader holds. A file that cannot be removed now is a
    /// left-over, which the next open removes.
    pub fn remove_dropped(&self) {
        let _removing = self.removing.lock();
        loop {
            let Some(number) = self.dropped.lock().pop() else { return };
            if self.frozen.load(Ordering::SeqCst) {
                return;
            }
            if self.shared.env.fs.remove(&self.path(number)).is_ok() {
                self.replaced.lock().remove(&number);
            }
        }
    }
}

/// Files that were written and are not part of a version yet.
pub(crate) struct NewFiles {
    pub files: Vec<AddedFile>,
    /// The number of failed syncs of the directory ([`Home::failed_syncs`]) before the first of these files was
    /// created.
    pub failed_syncs: u64,
}

impl NewFiles {
    /// The length of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.meta.bytes).sum()
    }
}

/// An open file, and the memory it pins.
struct Open {
    reader: Arc<Reader>,
    _charge: Charge,
}

/// A file of a version. Versions, and through them views and iterators, share it.
pub(crate) struct FileHandle {
    home: Arc<Home>,
    pub meta: FileMeta,
    pub trees: Vec<u32>,
    pub shadowed: u64,
    /// Range tombstones up to this number have been applied to the file.
    pub clean: Seq,
    readers: Vec<(Seq, u64)>,
    /// The last result of [`FileHandle::covered`], with the count of ranges and their newest number
    /// for which it was computed. A leaf among the locks.
    covered: Mutex<(u64, Seq, Covered)>,
    open: OnceLock<Open>,
    /// Held while the file is opened, so that it is opened once.
    opening: Mutex<()>,
    dropped: AtomicBool,
    /// The dead trees with keys in the file; set when they are counted. While this lock is held,
    /// only [`crate::Liveness`] is called.
    dead_trees: Mutex<Option<DeadTrees>>,
    /// The number of dead trees, or [`UNCOUNTED`]. Read whenever a thread looks for work; no other access depends on
    /// its order.
    dead_count: std::sync::atomic::AtomicUsize,
    /// The time of the last merge that could not read the file, in nanoseconds of the clock plus
    /// one; 0 for never.
    unread_at: AtomicU64,
}

/// The part of a file that range tombstones hide from every snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// True if the whole file is hidden: it can be removed.
    pub wholly: bool,
    /// The approximate number of hidden entries.
    pub entries: u64,
    /// The number of covering ranges, which stay until the file is rewritten.
    pub fragments: u64,
}

/// The count of a file's dead trees before they were counted.
const UNCOUNTED: usize = usize::MAX;

/// The dead trees of a file.
struct DeadTrees {
    /// For each tree in the file, whether it is dead.
    is_dead: Vec<bool>,
    /// The number of dead trees.
    count: usize,
}

impl DeadTrees {
    fn of(trees: &[u32], is_live: impl Fn(u32) -> bool) -> Self {
        let is_dead: Vec<bool> = trees.iter().map(|tree| !is_live(*tree)).collect();
        let count = is_dead.iter().filter(|dead| **dead).count();
        Self { is_dead, count }
    }

    fn note(&mut self, at: usize) {
        if !std::mem::replace(&mut self.is_dead[at], true) {
            self.count += 1;
        }
    }
}

/// A file that a merge could not read is left out of automatic merges for this time.
const LEFT_OUT: Duration = Duration::from_secs(600);

impl FileHandle {
    pub fn new(home: &Arc<Home>, added: AddedFile) -> Arc<Self> {
        Arc::new(Self {
            home: home.clone(),
            meta: added.meta,
            trees: added.trees,
            shadowed: added.shadowed,
            clean: added.clean,
            readers: added.readers,
            covered: Mutex::new((0, 0, Covered::default())),
            open: OnceLock::new(),
            opening: Mutex::new(()),
            dropped: AtomicBool::new(false),
            dead_trees: Mutex::new(None),
            dead_count: std::sync::atomic::AtomicUsize::new(UNCOUNTED),
            unread_at: AtomicU64::new(0),
        })
    }

    /// The reader; opens the file at the first call.
    #[inline]
    pub fn reader(&self) -> Result<&Arc<Reader>> {
        match self.open.get() {
            Some(open) => Ok(&open.reader),
            None => self.open_now(),
        }
    }

    #[cold]
    fn open_now(&self) -> Result<&Arc<Reader>> {
        let _opening = self.opening.lock();
        if self.open.get().is_none() {
            let shared = &self.home.shared;
            let path = self.home.path(self.meta.number);
            let reader =
                Reader::open(&shared.sorted_env, &path, &self.meta, shared.cache.clone(), &shared.dictionaries)?;
            let charge = shared.budget.charge(Owner::Pinned, reader.pinned_bytes() + std::mem::size_of::<Self>());
            shared.budget.set(Owner::Dictionaries, shared.dictionaries.bytes());
            let _ = self.open.set(Open { reader: Arc::new(reader), _charge: charge });
        }
        match self.open.get() {
            Some(open) => Ok(&open.reader),
            None => Err(alluvium_env::Error::corrupt(&self.home.path(self.meta.number), 0, "the file was not opened")),
        }
    }

    /// Removes the blocks of a dropped file from the cache. Readers that hold the file may add
    /// blocks again; such blocks are evicted like all unused blocks.
    pub fn forget(&self) {
        if let Some(open) = self.open.get() {
            open.reader.forget();
        }
    }

    /// The number of dead trees with keys in the file. They are counted by the first call; later,
    /// [`FileHandle::note_dead`] adds to them.
    pub fn dead_trees(&self, is_live: impl Fn(u32) -> bool) -> usize {
        let count = self.dead_count.load(Ordering::Acquire);
        if count != UNCOUNTED {
            return count;
        }
        // The lock is held while the trees are counted: a tree that dies after it was checked is
        // noted after the lock is released.
        let mut dead = self.dead_trees.lock();
        let count = dead.get_or_insert_with(|| DeadTrees::of(&self.trees, is_live)).count;
        self.dead_count.store(count, Ordering::Release);
        count
    }

    /// Notes that a tree has died; may be called again for the same tree. Returns false if the file
    /// has no key of the tree.
    pub fn note_dead(&self, tree: u32) -> bool {
        let Ok(at) = self.trees.binary_search(&tree) else { return false };
        if let Some(dead) = &mut *self.dead_trees.lock() {
            dead.note(at);
            self.dead_count.store(dead.count, Ordering::Release);
        }
        true
    }

    /// Records that a merge could not read the file.
    pub fn note_unread(&self, now: Duration) {
        self.unread_at.store(1 + now.as_nanos() as u64, Ordering::Relaxed);
    }

    /// True if a merge could not read the file within the last [`LEFT_OUT`].
    pub fn is_left_out(&self, now: Duration) -> bool {
        let unread_at = self.unread_at.load(Ordering::Relaxed);
        unread_at != 0 && now.saturating_sub(Duration::from_nanos(unread_at - 1)) < LEFT_OUT
    }

    pub fn path(&self) -> PathBuf {
        self.home.path(self.meta.number)
    }

    /// Marks the file as dropped by a durable edit: it is removed when no reader holds it.
    pub fn drop_when_released(&self) {
        if !self.dropped.swap(true, Ordering::SeqCst) {
            self.home.held.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The field of an edit that adds the file to a run.
    pub fn added(&self, run: u64) -> AddedFile {
        let (meta, trees, readers) = (self.meta.clone(), self.trees.clone(), self.readers.clone());
        AddedFile { run, meta, trees, shadowed: self.shadowed, clean: self.clean, readers }
    }

    /// Returns the result of `find`, which is cached for this count of ranges and this newest
    /// number.
    pub fn covered(&self, fragments: u64, newest: Seq, find: impl FnOnce() -> Covered) -> Covered {
        let (known_fragments, known_newest, known) = *self.covered.lock();
        if (known_fragments, known_newest) == (fragments, newest) {
            return known;
        }
        let found = find();
        *self.covered.lock() = (fragments, newest, found);
        found
    }

    /// The approximate bytes of entries that readers may see now. Tombstones, old versions and
    /// entries that range tombstones hide (as last determined) are left out.
    pub fn live_bytes(&self) -> u64 {
        let (_, _, covered) = *self.covered.lock();
        let dead = self.meta.tombstones + self.shadowed + covered.entries;
        let live = u128::from(self.meta.entries.saturating_sub(dead));
        (u128::from(self.meta.bytes) * live / u128::from(self.meta.entries.max(1))) as u64
    }

    /// Shadowed entries that no snapshot at or above `oldest` reads.
    pub fn released(&self, oldest: Seq) -> u64 {
        self.readers.iter().take_while(|(last, _)| *last < oldest).map(|(_, entries)| entries).sum()
    }

    /// The approximate bytes of shadowed entries, by the last snapshot that reads them.
    pub fn kept_bytes(&self) -> impl Iterator<Item = (Seq, u64)> {
        let (bytes, all) = (u128::from(self.meta.bytes), u128::from(self.meta.entries.max(1)));
        self.readers.iter().map(move |(last, entries)| (*last, (bytes * u128::from(*entries) / all) as u64))
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        // The file is only recorded here, so that the last reader performs no I/O for others.
        if self.dropped.load(Ordering::Acquire) {
            self.home.dropped.lock().push(self.meta.number);
            // The count falls after the push, so that a thread that finds no held file can have the
            // dropped files removed.
            self.home.held.fetch_sub(1, Ordering::Release);
        }
    }
}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileHandle").field("number", &self.meta.number).finish_non_exhaustive()
    }
}
