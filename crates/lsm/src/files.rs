//! Files of a partition as its versions hold them: opened when first read, removed when the last
//! version or iterator lets go of them after an edit has dropped them.

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

/// What all files of a partition have in common.
pub(crate) struct Home {
    pub shared: Arc<Shared>,
    pub dir: PathBuf,
    /// Dropped files that nobody holds any more, to be removed by [`Home::remove_dropped`].
    /// A leaf among the locks.
    dropped: Mutex<Vec<u64>>,
    /// Files that durable edits have removed and that are still there, or may be. Files that are written
    /// meanwhile name them: if the manifest is lost, nobody else knows that they do not count. A leaf.
    replaced: Mutex<BTreeSet<u64>>,
    /// Held while files are removed, so that whoever freezes waits for that.
    removing: Mutex<()>,
    /// Dropped files that somebody still holds.
    held: AtomicUsize,
    /// Set when an edit may or may not have become durable (the manifest may name any file then), and
    /// when the partition is closed: no file is removed.
    frozen: AtomicBool,
    /// Syncs of the directory that have failed. Held during each, so that whoever comes after one knows of it.
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

    /// How many syncs of the directory have failed. Whoever makes files asks before the first of them.
    pub fn failed_syncs(&self) -> u64 {
        *self.failed_syncs.lock()
    }

    /// Makes the names of files durable that were made since so many syncs had failed. One that fails may lose them all,
    /// also those of other threads, and is told to one alone: what the next one says is of no use to them.
    pub fn sync_names(&self, failed_before: u64) -> Result<()> {
        let mut failed = self.failed_syncs.lock();
        if let Err(error) = self.shared.env.fs.sync_dir(&self.dir) {
            *failed += 1;
            return Err(error);
        }
        drop(failed);
        self.check_names(failed_before)
    }

    /// The second half of [`Home::sync_names`], for names that were synced elsewhere.
    pub fn check_names(&self, failed_before: u64) -> Result<()> {
        if self.failed_syncs() == failed_before {
            return Ok(());
        }
        let what = std::io::Error::other("another sync has failed, and may have lost names that are new");
        Err(Error::io("sync", &self.dir, what))
    }

    /// The path of a file.
    pub fn path(&self, number: u64) -> PathBuf {
        sst_path(&self.dir, number)
    }

    /// No file is removed from now on.
    pub fn freeze(&self) {
        let _removing = self.removing.lock();
        self.frozen.store(true, Ordering::SeqCst);
    }

    /// Takes note of files that a durable edit has removed, before anybody can build on that.
    pub fn note_replaced(&self, numbers: &[u64]) {
        self.replaced.lock().extend(numbers);
    }

    /// Files that were replaced, and may still be there.
    pub fn replaced(&self) -> Vec<u64> {
        self.replaced.lock().iter().copied().collect()
    }

    /// Dropped files that somebody still holds.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// Removes the dropped files that nobody holds. What cannot be removed now is a left-over
    /// that the next open removes.
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
    /// The failed syncs of the directory ([`Home::failed_syncs`]) before the first of them was created.
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
    /// Range tombstones up to this number have been applied to it.
    pub clean: Seq,
    readers: Vec<(Seq, u64)>,
    /// What was found last of how much is covered, by how many ranges and their newest number. A leaf
    /// among the locks.
    covered: Mutex<(u64, Seq, Covered)>,
    open: OnceLock<Open>,
    /// Held while the file is opened, so that it is opened once.
    opening: Mutex<()>,
    dropped: AtomicBool,
    /// When a merge could not read it last, in nanoseconds of the clock plus one; 0 for never.
    unread_at: AtomicU64,
}

/// What the range tombstones that every snapshot sees hide of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// All of it: the file can go.
    pub wholly: bool,
    /// About so many entries.
    pub entries: u64,
    /// So many ranges of keys, which stay until the file is rewritten.
    pub fragments: u64,
}

/// For so long after a merge that could not read it, a file is left out of others that nobody asks for.
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

    /// Takes the blocks of a file that an edit has dropped out of the cache. Readers that hold the file may bring some
    /// back; those go like all that nobody asks for.
    pub fn forget(&self) {
        if let Some(open) = self.open.get() {
            open.reader.forget();
        }
    }

    /// Takes note that a merge could not read the file.
    pub fn note_unread(&self, now: Duration) {
        self.unread_at.store(1 + now.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Whether a merge could not read the file, not long ago.
    pub fn is_left_out(&self, now: Duration) -> bool {
        let unread_at = self.unread_at.load(Ordering::Relaxed);
        unread_at != 0 && now.saturating_sub(Duration::from_nanos(unread_at - 1)) < LEFT_OUT
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        self.home.path(self.meta.number)
    }

    /// Says that a durable edit has dropped the file: it is removed when nobody holds it.
    pub fn drop_when_released(&self) {
        if !self.dropped.swap(true, Ordering::SeqCst) {
            self.home.held.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What an edit would say to add the file to a run.
    pub fn added(&self, run: u64) -> AddedFile {
        let (meta, trees, readers) = (self.meta.clone(), self.trees.clone(), self.readers.clone());
        AddedFile { run, meta, trees, shadowed: self.shadowed, clean: self.clean, readers }
    }

    /// What `find` says, remembered while the number of ranges and the newest stay the same.
    pub fn covered(&self, fragments: u64, newest: Seq, find: impl FnOnce() -> Covered) -> Covered {
        let (known_fragments, known_newest, known) = *self.covered.lock();
        if (known_fragments, known_newest) == (fragments, newest) {
            return known;
        }
        let found = find();
        *self.covered.lock() = (fragments, newest, found);
        found
    }

    /// About the bytes of what somebody may read now: without tombstones, old versions, and what range
    /// tombstones were last found to hide.
    pub fn live_bytes(&self) -> u64 {
        let (_, _, covered) = *self.covered.lock();
        let dead = self.meta.tombstones + self.shadowed + covered.entries;
        let live = u128::from(self.meta.entries.saturating_sub(dead));
        (u128::from(self.meta.bytes) * live / u128::from(self.meta.entries.max(1))) as u64
    }

    /// Shadowed entries that no snapshot at or above `oldest` reads, however the file came about.
    pub fn released(&self, oldest: Seq) -> u64 {
        self.readers.iter().take_while(|(last, _)| *last < oldest).map(|(_, entries)| entries).sum()
    }

    /// About the bytes of shadowed entries, by the last snapshot that reads them.
    pub fn kept_bytes(&self) -> impl Iterator<Item = (Seq, u64)> {
        let (bytes, all) = (u128::from(self.meta.bytes), u128::from(self.meta.entries.max(1)));
        self.readers.iter().map(move |(last, entries)| (*last, (bytes * u128::from(*entries) / all) as u64))
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        // Only noted here: a reader that happens to be the last does no I/O for others.
        if self.dropped.load(Ordering::Acquire) {
            self.home.dropped.lock().push(self.meta.number);
            // After that: whoever finds nothing held can have it removed.
            self.home.held.fetch_sub(1, Ordering::Release);
        }
    }
}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileHandle").field("number", &self.meta.number).finish_non_exhaustive()
    }
}
