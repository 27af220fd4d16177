//! One partition: its view, and how it changes.
//!
//! # Locks
//! In the order in which they may be taken: `flushing` (one flush at a time), `manifest` (one edit
//! at a time, held during its sync), `jobs` (the files of each running job), `installing` (the
//! exchange of the view; never held during I/O). Readers take none of them: they load the view.

use crate::counters::Counters;
use crate::edit::VersionEdit;
use crate::files::Home;
use crate::iter::PartitionIter;
use crate::jobs::Jobs;
use crate::key::tree_of;
use crate::manifest::{DroppedTail, Identity, Manifest, Recovered, WriteError, ambiguous};
use crate::marks;
use crate::names::{manifest_number, manifest_path, sst_number};
use crate::options::Shared;
use crate::ranges::superfluous;
use crate::version::Version;
use crate::view::View;
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::MAX_NUMBER;
use alluvium_codec::ranges::RangeSet;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{ArcCell, Mutex};
use alluvium_env::{DirEntry, Error, Result};
use alluvium_memtable::Memtable;
use std::collections::HashSet;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// One partition of a store: an LSM tree of its own keys.
///
/// All methods may be called from any thread.
pub struct Partition {
    pub(crate) home: Arc<Home>,
    identity: Identity,
    view: ArcCell<View>,
    installing: Mutex<()>,
    pub(crate) flushing: Mutex<()>,
    pub(crate) manifest: Mutex<Manifest>,
    pub(crate) jobs: Arc<Jobs>,
    /// Set when an edit may or may not be durable; no edit is written afterwards.
    poison: OnceLock<Error>,
    /// Set by [`Partition::close`]: no flush and no job begins afterwards.
    closing: AtomicBool,
    /// True if no edit lets range tombstones grow beyond [`crate::Options::full_range_bytes`].
    ranges_limited: AtomicBool,
    pub(crate) counters: Counters,
    /// The moving average of the bytes that a flush writes; 0 before the first.
    flush_bytes: AtomicU64,
    dropped_tail: Option<DroppedTail>,
    /// Files that existed when the partition was opened have lower numbers.
    first_new_file: u64,
    /// The number of the manifest that opening created.
    first_new_manifest: u64,
}

impl Partition {
    /// Opens the partition in `dir`, or creates it if the directory is empty or absent.
    ///
    /// Opening adds a manifest, and neither changes nor removes existing files:
    /// [`Partition::remove_left_overs`] or [`Partition::withdraw`] should follow. All partitions of
    /// a store are opened before one is written to, because opening raises the next file number
    /// above all numbers in use.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the manifest is damaged or missing, or a file that it names is missing
    /// or has another length; [`Error::NewerFormat`]; [`Error::Io`].
    pub fn open(shared: Arc<Shared>, index: u32, dir: &Path) -> Result<Self> {
        let env = shared.env.clone();
        let identity = Identity { database_id: shared.options.database_id, partition: index };
        if !env.fs.exists(dir)? {
            env.fs.create_dir_all(dir)?;
            if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                env.fs.sync_dir(parent)?;
            }
        }
        let names = env.fs.list(dir)?;
        let recovered = Manifest::recover(&env, dir, identity, &names)?;
        let home = Home::new(shared.clone(), dir);
        let mut recovered = match recovered {
            Some(recovered) => recovered,
            None => new_partition(dir, &names)?,
        };
        check_files(&home, &recovered, &names)?;
        let highest = names.iter().filter_map(|entry| sst_number(&entry.name)).max().unwrap_or(0);
        if highest >= MAX_NUMBER {
            return Err(Error::corrupt(&home.path(highest), 0, "the number of the file is out of range"));
        }
        shared.raise_file_numbers(recovered.next_file.max(highest + 1));
        recovered.next_file = shared.file_number_bound();
        let snapshot = recovered.snapshot();
        // Checked before anything is written.
        let version = Version::empty().apply(&snapshot, &home).map_err(|what| {
            Error::corrupt(&manifest_path(dir, recovered.number), 0, format!("the files it names: {what}"))
        })?;
        // Each open creates a manifest with a new number, so that a torn tail stays cut off and the
        // next open starts from one frame. Once the new manifest exists, left-overs may be removed:
        // their numbers are never used again.
        let manifest =
            Manifest::create(&env, dir, identity, recovered.number + 1, &snapshot).map_err(|failed| failed.error)?;
        let active = Arc::new(Memtable::new(version.flushed_seq + 1));
        let view = View::new(active, Vec::new(), version, shared.policies.clone());
        let partition = Self {
            home,
            identity,
            view: ArcCell::new(Arc::new(view)),
            installing: Mutex::new(()),
            flushing: Mutex::new(()),
            manifest: Mutex::new(manifest),
            jobs: Arc::new(Jobs::default()),
            poison: OnceLock::new(),
            closing: AtomicBool::new(false),
            ranges_limited: AtomicBool::new(false),
            counters: Counters::default(),
            flush_bytes: AtomicU64::new(0),
            dropped_tail: recovered.dropped,
            first_new_file: recovered.next_file,
            first_new_manifest: recovered.number + 1,
        };
        if partition.dropped_tail.is_some() {
            marks::TORN_MANIFEST.hit();
        }
        partition.measure_debt(&partition.view().version);
        Ok(partition)
    }

    /// Removes the left-overs of a crash: files that the manifest does not name, temporary files
    /// and older manifests. The caller must have opened the partition and know that nothing is
    /// lost, because a damaged manifest may fail to name files that are in use. Called before other
    /// threads use the partition.
    ///
    /// # Errors
    /// [`Error::Io`] if some left-overs remain. If the partition is poisoned, the reason for that:
    /// its manifest may name files that are not known here, and nothing was removed.
    pub fn remove_left_overs(&self) -> Result<()> {
        self.check_poisoned()?;
        let manifest = self.manifest.lock().number();
        let version = self.view().version.clone();
        let named: HashSet<u64> = version.files().map(|(_, file)| file.meta.number).collect();
        let env = &self.shared().env;
        for entry in env.fs.list(&self.home.dir)?.iter().filter(|entry| !entry.is_dir) {
            let unnamed = sst_number(&entry.name).is_some_and(|number| !named.contains(&number));
            let old = manifest_number(&entry.name).is_some_and(|number| number != manifest);
            if unnamed || old || entry.name.ends_with(".tmp") {
                // There is always an older manifest.
                if unnamed {
                    marks::LEFT_OVERS.hit();
                }
                env.fs.remove(&self.home.dir.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Removes the files that opening and later flushes have written, so that the next open finds
    /// the same state as this open, except for left-overs that were removed. Called only while the
    /// log holds everything that was flushed; the partition cannot be used afterwards.
    ///
    /// # Errors
    /// [`Error::Io`]: the next open finds additional manifests and files.
    pub fn withdraw(&self) -> Result<()> {
        let manifest = self.manifest.lock();
        self.poison(&Error::io("use", &manifest.path(), std::io::Error::other("the partition was withdrawn")));
        let fs = &self.shared().env.fs;
        let names = fs.list(&self.home.dir)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|entry| manifest_number(&entry.name)).collect();
        if !numbers.iter().any(|number| *number < self.first_new_manifest) {
            return Ok(());
        }
        // All new manifests are removed, the current one first. Some may not be known here, because
        // the last step of their creation failed.
        numbers.retain(|number| *number >= self.first_new_manifest);
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        for number in numbers {
            fs.remove(&manifest_path(&self.home.dir, number))?;
        }
        fs.sync_dir(&self.home.dir)?;
        for entry in names {
            if sst_number(&entry.name).is_some_and(|number| number >= self.first_new_file) {
                fs.remove(&self.home.dir.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// The highest number of a tree that has keys in files or range tombstones; 0 if no tree has.
    pub fn highest_tree(&self) -> u32 {
        let version = self.view().version.clone();
        let ranges = version.ranges.fragments().last().map_or(0, |last| tree_of(last.start()));
        version.files().flat_map(|(_, file)| file.trees.iter().copied()).max().unwrap_or(0).max(ranges)
    }

    /// The torn end of the manifest that open ignored, if any: an edit that was being written when
    /// the machine stopped. The log still has the data that the edit would have recorded.
    pub fn dropped_tail(&self) -> Option<&DroppedTail> {
        self.dropped_tail.as_ref()
    }

    /// The lowest number that a file created after opening can have; files that existed before have
    /// lower numbers.
    pub(crate) fn first_new_file(&self) -> u64 {
        self.first_new_file
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.home.shared
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.home.dir
    }

    /// Everything up to this sequence number is in files, so recovery replays only higher numbers.
    pub fn flushed_seq(&self) -> Seq {
        self.view.load().version.flushed_seq
    }

    /// The highest sequence number in files, including files of [`Partition::ingest`], which may be
    /// above [`Partition::flushed_seq`].
    pub fn highest_seq(&self) -> Seq {
        let version = self.view().version.clone();
        version.files().map(|(_, file)| file.meta.max_seq).max().unwrap_or(0).max(version.flushed_seq)
    }

    /// The current memtables and files.
    ///
    /// A read at a *registered* snapshot, which is a snapshot that [`crate::Liveness::snapshots`]
    /// has listed since before the read began, finds everything that the snapshot sees, whenever
    /// the view is taken.
    ///
    /// A read of the newest visible version without a registered snapshot takes the view first and
    /// reads *visible* after that. Flushes and compactions drop versions by a list that counts
    /// *visible* as a snapshot. Each one whose output is in the view made its list before the view
    /// was taken, with a *visible* V' that is at most the V of the read; it kept the newest version
    /// at or below V' and all above V', hence the newest at or below V. (In the opposite order, a
    /// flush between the two steps may have dropped the version that the older *visible* sees.)
    ///
    /// The view may lack a memtable that was started after the view was taken, while V includes
    /// writes in that memtable. These writes became visible after the read began, so the read may
    /// be ordered before them. The read also sees everything that precedes them, because all
    /// visible writes are fully applied.
    ///
    /// If [`View::needs_snapshot`] is true, the read needs a registered snapshot.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// As [`Partition::view`], for the duration of a point read: it changes no reference count, so readers on
    /// many cores write to no common cache line.
    #[inline]
    pub fn pin(&self) -> impl std::ops::Deref<Target = Arc<View>> {
        self.view.load()
    }

    /// The memtable that takes writes now.
    pub fn active(&self) -> Arc<Memtable> {
        self.view.load().active.clone()
    }

    /// Seals the active memtable at `next_seq - 1` and starts a new one from `next_seq`. Only the
    /// commit leader calls it, since only the leader registers writers. Returns false without
    /// effect if the active memtable was assigned no sequence number yet (`next_seq` is its first).
    ///
    /// A memtable may look empty although its writers have only not applied their entries yet, so
    /// the assigned numbers decide.
    pub fn rotate(&self, next_seq: Seq) -> bool {
        let _installing = self.installing.lock();
        let view = self.view.load_full();
        if next_seq <= view.active.first_seq() {
            return false;
        }
        view.active.seal(next_seq - 1);
        let mut immutable = Vec::with_capacity(view.immutable.len() + 1);
        immutable.push(view.active.clone());
        immutable.extend(view.immutable.iter().cloned());
        let active = Arc::new(Memtable::new(next_seq));
        self.view.store(Arc::new(View::new(active, immutable, view.version.clone(), view.policies.clone())));
        true
    }

    /// Iterates over the keys within the bounds that have a value at `seq`, a registered
    /// snapshot. Reads nothing until it is positioned.
    pub fn iter(&self, view: Arc<View>, seq: Seq, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> PartitionIter {
        PartitionIter::new(self.shared().policies.clone(), &view, seq, lower, upper)
    }

    /// The reason why the partition accepts no more edits, if it is poisoned. Reads still work;
    /// reopening recovers.
    pub fn poisoned(&self) -> Option<Error> {
        self.poison.get().cloned()
    }

    pub(crate) fn check_poisoned(&self) -> Result<()> {
        self.poisoned().map_or(Ok(()), Err)
    }

    /// Ends all work on files: waits for a running flush and for compactions, which yield, and
    /// refuses later ones. Afterwards no file of the partition is written or removed, even if views
    /// and iterators are still held, and another process may open the directory. Pinned views can
    /// be read as far as their files are open.
    pub fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        drop(self.flushing.lock());
        self.jobs.wait_for_all();
        self.home.remove_dropped();
        self.home.freeze();
    }

    pub(crate) fn closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Returns an error if no new work may begin. Running work may end.
    pub(crate) fn check_usable(&self) -> Result<()> {
        self.check_poisoned()?;
        if self.closing() {
            let cause = std::io::Error::other("the partition is closed");
            return Err(Error::io("change", &self.home.dir, cause));
        }
        Ok(())
    }

    fn poison(&self, error: &Error) {
        self.home.freeze();
        let _ = self.poison.set(error.clone());
    }

    /// From now on, range tombstones grow to at most [`crate::Options::full_range_bytes`]. Must not
    /// be called before the log was replayed, because a replay must not stop.
    pub fn limit_ranges(&self) {
        self.ranges_limited.store(true, Ordering::Relaxed);
    }

    /// Counts deltas that could not apply in [`View::shorten`].
    pub fn note_refused(&self, deltas: u64) {
        if deltas > 0 {
            marks::DELTA_REFUSED.hit();
        }
        Counters::add(&self.counters.deltas_refused, deltas);
    }

    /// Adds the bytes of a flush to the average.
    pub(crate) fn note_flush_bytes(&self, bytes: u64) {
        let average = self.flush_bytes.load(Ordering::Relaxed);
        let next = if average == 0 { bytes } else { average - average / 4 + bytes / 4 };
        self.flush_bytes.store(next, Ordering::Relaxed);
    }

    /// The average bytes that a flush writes.
    pub(crate) fn average_flush_bytes(&self) -> u64 {
        self.flush_bytes.load(Ordering::Relaxed)
    }

    /// Makes an edit durable and visible, in this order, and releases the memtable that it
    /// replaces. After an error nothing has changed, except that the partition may be poisoned.
    pub(crate) fn commit(&self, mut edit: VersionEdit, flushed: Option<&Arc<Memtable>>) -> Result<()> {
        let mut manifest = self.manifest.lock();
        self.check_poisoned()?;
        edit.next_file = Some(self.shared().file_number_bound());
        let before = self.view.load().version.clone();
        // Checked before it is written: a manifest never names an impossible version.
        let refused = |what| Error::corrupt(&manifest.path(), manifest.bytes(), format!("refused an edit: {what}"));
        let mut version = before.apply(&edit, &self.home).map_err(refused)?;
        if forget_ranges(&mut edit, &before, &version) {
            version = before.apply(&edit, &self.home).map_err(refused)?;
        }
        let (bytes, most) = (version.ranges.bytes(), self.shared().options.full_range_bytes);
        if self.ranges_limited.load(Ordering::Relaxed) && bytes > most && bytes > before.ranges.bytes() {
            let (path, bytes, limit) = (self.home.dir.clone(), bytes as u64, most as u64);
            return Err(Error::TooManyRanges { path, bytes, limit });
        }
        self.written(manifest.append(&edit))?;
        self.home.note_replaced(&edit.removed);
        self.install(version.clone(), flushed);
        self.measure_debt(&version);
        let gone: Vec<_> = {
            let kept: HashSet<u64> = version.files().map(|(_, file)| file.meta.number).collect();
            before.files().filter(|(_, file)| !kept.contains(&file.meta.number)).map(|(_, file)| file.clone()).collect()
        };
        for file in &gone {
            file.drop_when_released();
        }
        drop(before);
        self.renew_manifest(&mut manifest, &version);
        drop(manifest);
        gone.iter().for_each(|file| file.forget());
        drop(gone);
        self.home.remove_dropped();
        Ok(())
    }

    fn written(&self, result: std::result::Result<(), WriteError>) -> Result<()> {
        result.map_err(|failed| {
            if failed.ambiguous {
                marks::MANIFEST_POISONED.hit();
                self.poison(&failed.error);
            }
            failed.error
        })
    }

    fn install(&self, version: Arc<Version>, flushed: Option<&Arc<Memtable>>) {
        let _installing = self.installing.lock();
        let view = self.view.load_full();
        let gone = |memtable: &&Arc<Memtable>| !flushed.is_some_and(|flushed| Arc::ptr_eq(flushed, memtable));
        let immutable = view.immutable.iter().filter(gone).cloned().collect();
        self.view.store(Arc::new(View::new(view.active.clone(), immutable, version, view.policies.clone())));
        // Iterators hold only the parts of a view that they need; point reads, checks and
        // checkpoints hold the view itself.
        if Arc::strong_count(&view) > 1 {
            marks::READ_OVERTAKEN.hit();
        }
    }

    /// Begins a new manifest if the current one is long. The last edit is durable already, so a
    /// failure here is an error only if it is unknown which manifest is the current one.
    fn renew_manifest(&self, manifest: &mut Manifest, version: &Version) {
        if !manifest.is_long(self.shared().options.manifest_bytes) {
            return;
        }
        let env = &self.shared().env;
        let snapshot = version.snapshot(self.shared().file_number_bound());
        let failed_syncs = self.home.failed_syncs();
        let new = Manifest::create(env, &self.home.dir, self.identity, manifest.number() + 1, &snapshot);
        // A sync of another thread may have failed and lost the new manifest's name.
        match new.and_then(|new| self.home.check_names(failed_syncs).map(|()| new).map_err(ambiguous)) {
            Ok(new) => {
                let old = std::mem::replace(manifest, new);
                let _ = env.fs.remove(&old.path());
            }
            Err(failed) => {
                let _ = self.written(Err(failed));
            }
        }
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        // The files of the current version stay. Files that were dropped and released since are
        // removed now, unless the partition was closed: then the next open removes them.
        self.home.remove_dropped();
    }
}

impl std::fmt::Debug for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partition").field("dir", &self.home.dir).finish_non_exhaustive()
    }
}

/// Adds to an edit from one version to another the removal of the range tombstones that the edit
/// makes superfluous. Returns false if there are no such tombstones.
fn forget_ranges(edit: &mut VersionEdit, before: &Version, after: &Version) -> bool {
    if after.ranges.is_empty() {
        return false;
    }
    let removed: HashSet<u64> = edit.removed.iter().copied().collect();
    let gone = before.files().filter(|(_, file)| removed.contains(&file.meta.number));
    let files = gone.map(|(_, file)| (file.meta.smallest.as_slice(), file.meta.largest.as_slice()));
    let ranges = edit.ranges.fragments().iter().map(|fragment| (fragment.start(), fragment.end()));
    let bounds = files.chain(ranges).reduce(|(low, high), (a, b)| (low.min(a), high.max(b)));
    let done = bounds.map(|(low, high)| superfluous(after, low, high)).unwrap_or_default();
    if done.is_empty() {
        return false;
    }
    marks::RANGE_FORGOTTEN.hit();
    edit.forgotten = RangeSet::union(vec![std::mem::take(&mut edit.forgotten), done], &[]);
    true
}

/// The state of a directory without a manifest: it is empty, or damaged.
fn new_partition(dir: &Path, names: &[DirEntry]) -> Result<Recovered> {
    match names.iter().find(|entry| sst_number(&entry.name).is_some()) {
        None => Ok(Recovered::default()),
        // The manifest is created before the first file, so this is not an empty partition.
        Some(file) => Err(Error::corrupt(&dir.join(&file.name), 0, "the directory of this file has no manifest")),
    }
}

/// Checks the lengths of all files; their contents are checked when they are read.
fn check_files(home: &Home, recovered: &Recovered, names: &[DirEntry]) -> Result<()> {
    let lengths: std::collections::HashMap<u64, u64> =
        names.iter().filter_map(|entry| Some((sst_number(&entry.name)?, entry.len))).collect();
    for file in recovered.files.values() {
        let path = home.path(file.meta.number);
        match lengths.get(&file.meta.number) {
            None => return Err(Error::corrupt(&path, 0, "the manifest names this file, but it is missing")),
            Some(&found) if found != file.meta.bytes => {
                // Opening refuses anything that is not a regular file.
                home.shared.env.fs.open(&path, alluvium_env::OpenMode::Read)?;
                let what = format!("the file has {found} bytes; the manifest records {}", file.meta.bytes);
                return Err(Error::corrupt(&path, found.min(file.meta.bytes), what));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
