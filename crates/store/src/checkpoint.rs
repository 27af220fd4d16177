//! Checkpoints: consistent copies of a running store, made of links.
//!
//! A checkpoint has two parts. The first is the files of every partition, in a version that is pinned one partition
//! after the other. The second is the log, from the oldest operation that is not in the files to a note that is written
//! after all versions are pinned. A replay of this log gives the state at the note: every operation up to its number,
//! and none above. Writers do not wait: the note is one record among their records, and nothing is flushed.
//!
//! While a checkpoint is made, views keep the files and a hold keeps the log.

pub(crate) mod building;
pub(crate) mod log;

use crate::batch::encode_flushed;
use crate::commit::Work;
use crate::error::{Error, Result, check_stop};
use crate::files::listing::{self, FileChecksum, ListedFile, Listing};
use crate::files::{LOG_DIR, partition_dir};
use crate::options::Durability;
use crate::partitions;
use crate::store::Store;
use alluvium_codec::entry::Seq;
use alluvium_env::{Env, OpenMode};
use alluvium_lsm::View;
use building::{Building, Placement};
use log::LogCopy;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How to make a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct CheckpointOptions {
    /// An earlier checkpoint of the same database. Files that the earlier checkpoint also has are linked to it if
    /// possible, and marked as not new.
    pub base: Option<PathBuf>,
    /// Copy the files of the database instead of linking them. Files of the base are still linked.
    pub copy: bool,
    /// When this is set to true, the checkpoint ends with [`Error::Stopped`] shortly after, and leaves no files.
    pub stop: Arc<AtomicBool>,
}

/// The result of making a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// The checkpoint's id.
    pub id: u64,
    /// The number of the last operation in it.
    pub seq: Seq,
    /// Files of the checkpoint.
    pub files: u64,
    /// Bytes of the files of the checkpoint.
    pub bytes: u64,
    /// Sorted files that the base also has.
    pub in_base: u64,
    /// Bytes of the sorted files that the base also has.
    pub bytes_in_base: u64,
    /// Sorted files that were copied, on request or because links were not possible.
    pub copied: u64,
    /// Bytes of the copied files.
    pub bytes_copied: u64,
    /// Bytes of the log in the checkpoint.
    pub log_bytes: u64,
    /// How long it took.
    pub took: Duration,
}

/// The views of all partitions, and the part of the log that completes them to the state of one moment.
struct Pinned {
    views: Vec<Arc<View>>,
    /// The number from which the log is needed.
    from: Seq,
    /// The number of the note. It is above all numbers in the views.
    seq: Seq,
}

impl Store {
    /// Makes a checkpoint in the directory `dir`, which must not exist or must be empty, while other threads write. The
    /// checkpoint has all operations up to one number, and none above. Sorted files are linked if `dir` is on the same
    /// file system, otherwise copied. The directory is renamed to `dir` when all of its content is durable.
    ///
    /// ```
    /// use alluvium_store::{CheckpointOptions, Durability, Options, RestoreOptions, Store};
    ///
    /// let env = alluvium_env::Env::in_memory(1);
    /// let store = Store::open(env.clone(), "db".as_ref(), Options::default())?;
    /// let pets = store.create_trees(&[b"pets"])?[0];
    /// let put = |key: &[u8]| {
    ///     let mut batch = store.batch();
    ///     batch.put(pets, key, b"");
    ///     store.write(batch, Durability::Periodic)
    /// };
    /// put(b"rex")?;
    /// store.checkpoint("monday".as_ref(), &CheckpointOptions::default())?;
    /// put(b"tom")?;
    /// // The sorted files of Monday's checkpoint are not copied again.
    /// let base = Some("monday".into());
    /// store.checkpoint("tuesday".as_ref(), &CheckpointOptions { base, ..CheckpointOptions::default() })?;
    ///
    /// alluvium_store::restore_checkpoint(&env, "monday".as_ref(), "copy".as_ref(), RestoreOptions::default())?;
    /// let copy = Store::open(env, "copy".as_ref(), Options::default())?;
    /// assert!(copy.contains(pets, b"rex")? && !copy.contains(pets, b"tom")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TargetExists`], [`Error::InsideDatabase`], [`Error::NotACheckpoint`] and [`Error::ForeignBase`] for the
    /// base, [`Error::InUse`] if another process makes the same checkpoint, [`Error::NoSpace`], [`Error::Stopped`], and
    /// [`Error::Storage`]. After an error there is no `dir`, and the store continues.
    pub fn checkpoint(&self, dir: &Path, options: &CheckpointOptions) -> Result<CheckpointReport> {
        self.health.check_writable()?;
        let started = self.env.clock.now();
        let base = options.base.as_deref().map(|path| Base::read(self, path)).transpose()?;
        // If the log was damaged, it has gaps. The copy must not have any, so the damage is discarded first.
        self.discard_damage()?;
        let mut building = Building::begin(&self.env, dir, self.options.disk_reserve(), options.stop.clone())?;
        building.reserve_beside(self.path());
        let made = self.fill_checkpoint(&building, base.as_ref(), options.copy);
        match self.poison.after_work(made) {
            Ok(mut report) => {
                building.finish()?;
                report.took = self.env.clock.now().saturating_sub(started);
                Ok(report)
            }
            Err(error) => {
                building.abandon();
                Err(error.named_if_full())
            }
        }
    }

    fn fill_checkpoint(&self, building: &Building, base: Option<&Base>, copy: bool) -> Result<CheckpointReport> {
        let id = self.env.rng.next_u64();
        let hold = self.holds.hold();
        let Pinned { views, from, seq } = Pinned::take(self)?;
        let listing = Listing {
            id,
            database_id: self.superblock.database_id,
            seq,
            partitions: self.superblock.partitions,
            base: base.map(|base| base.listing.id),
            files: Vec::new(),
        };
        let report = CheckpointReport { id, seq, ..CheckpointReport::default() };
        let mut filling = Filling { store: self, building, base, copy, listing, report };
        // The log is copied first. Then its segments can be released while files are copied, which the views keep.
        filling.log(from, seq)?;
        drop(hold);
        let log = std::mem::take(&mut filling.listing.files);
        for (index, view) in (0..).zip(&views) {
            filling.partition(index, view)?;
        }
        filling.listing.files.extend(log);
        building.write_file(listing::TEMPORARY, listing::NAME, &filling.listing.encode())?;
        let mut report = filling.report;
        report.files = filling.listing.files.len() as u64;
        report.bytes = filling.listing.bytes();
        Ok(report)
    }
}

impl Pinned {
    /// Pins the views. The caller must hold the log.
    fn take(store: &Store) -> Result<Self> {
        loop {
            // An ingested run is not in the log, but notes about the run are. Therefore the views must contain the run.
            let ingested = store.holds.ingested();
            let pinned = Self::try_take(store)?;
            if store.holds.ingested() == ingested {
                return Ok(pinned);
            }
        }
    }

    fn try_take(store: &Store) -> Result<Self> {
        // The visible number is read first. An operation above it may still be on the way into a memtable that looks
        // empty. The log has all operations from its oldest segment on, and older ones are not needed.
        let visible = store.visibility.visible();
        let views = partitions::views(&store.partitions);
        let unflushed = views.iter().filter_map(|view| view.oldest_unflushed()).min().unwrap_or(Seq::MAX);
        let from = unflushed.min(visible + 1).max(store.wal.oldest_seq());
        let flushed = views.iter().enumerate().map(|(at, view)| (at as u32, view.flushed_seq()));
        let note = encode_flushed(from, flushed);
        // The number of the note is above all numbers in the views. When the note is visible, all operations below it
        // are applied.
        let seq = store.commit.commit(Work::Note(note), Durability::Sync)?;
        Ok(Self { views, from, seq })
    }
}

/// Fills the directory of a checkpoint.
struct Filling<'a> {
    store: &'a Store,
    building: &'a Building,
    base: Option<&'a Base>,
    copy: bool,
    listing: Listing,
    report: CheckpointReport,
}

impl Filling<'_> {
    fn partition(&mut self, index: u32, view: &View) -> Result<()> {
        let store = self.store;
        let name = partition_dir(index);
        let (from, to) = (store.path().join(&name), self.building.directory(&name)?);
        let version = view.edit(store.shared.file_number_bound());
        let mut numbers: Vec<_> = version.added.iter().map(|file| &file.meta).collect();
        numbers.sort_by_key(|meta| meta.number);
        for meta in numbers {
            // After the store is closed, another process may open the directory and remove files.
            store.health.check_open()?;
            check_stop(&self.building.stop)?;
            let path = format!("{name}/{:08}.sst", meta.number);
            let checksum = FileChecksum::Footer(meta.footer_checksum);
            let mut file = ListedFile { path, bytes: meta.bytes, checksum, in_base: false };
            file.in_base = self.place(&file, &alluvium_lsm::image::sst_path(&from, meta.number))?;
            self.listing.files.push(file);
        }
        // Writing the manifest also makes the links durable: it syncs the directory after the rename of the manifest.
        let manifest = alluvium_lsm::image::write_manifest(&self.building.env, &to, self.listing.id, index, &version)?;
        self.list_content(&name, &manifest)?;
        Ok(())
    }

    /// Links or copies a sorted file into the checkpoint. Returns true if the base has the file.
    fn place(&mut self, file: &ListedFile, original: &Path) -> Result<bool> {
        let (to, report) = (self.building.dir.join(&file.path), &mut self.report);
        let in_base = match self.base {
            Some(base) => base.path_of(&self.building.env, file)?,
            None => None,
        };
        let linked = match &in_base {
            Some(path) => self.building.env.fs.hard_link(path, &to).is_ok(),
            None => false,
        };
        if !linked && self.building.place(original, &to, !self.copy)? == Placement::Copied {
            report.copied += 1;
            report.bytes_copied += file.bytes;
        }
        if in_base.is_some() {
            report.in_base += 1;
            report.bytes_in_base += file.bytes;
        }
        Ok(in_base.is_some())
    }

    /// Copies the part of the log from number `from` to number `seq`.
    fn log(&mut self, from: Seq, seq: Seq) -> Result<()> {
        let store = self.store;
        let dir = self.building.directory(LOG_DIR)?;
        // The space that is reserved after the end of the log is not copied: a segment of the copy is no longer than
        // its content.
        let used = store.wal.bytes_used();
        self.building.need(used)?;
        let segment = store.options.log_segment_bytes().min(used);
        let mut copy = LogCopy::new(&self.building.env, &dir, self.listing.id, segment, Some(seq));
        store.wal.read_back(from, seq, &mut |record| copy.take(record))?;
        copy.finish()?;
        for (_, path) in alluvium_wal::list_segments(&self.building.env, &dir)? {
            self.report.log_bytes += self.list_content(LOG_DIR, &path)?;
        }
        Ok(())
    }

    /// Adds a file to the listing with the checksum of its content. Returns its length in bytes.
    fn list_content(&mut self, dir: &str, path: &Path) -> Result<u64> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (bytes, sum) = listing::content_checksum(&self.building.env, path, &self.building.stop)?;
        let checksum = FileChecksum::Content(sum);
        self.listing.files.push(ListedFile { path: format!("{dir}/{name}"), bytes, checksum, in_base: false });
        Ok(bytes)
    }
}

/// The checkpoint that was named as base.
struct Base {
    dir: PathBuf,
    listing: Listing,
    files: HashMap<String, (u64, FileChecksum)>,
}

impl Base {
    fn read(store: &Store, dir: &Path) -> Result<Self> {
        let listing = Listing::read(&store.env, dir)?;
        if listing.database_id != store.superblock.database_id {
            return Err(Error::ForeignBase { base: dir.to_owned(), database: store.path().to_owned() });
        }
        let files = listing.files.iter().map(|file| (file.path.clone(), (file.bytes, file.checksum))).collect();
        Ok(Self { dir: dir.to_owned(), listing, files })
    }

    /// The path of this file in the base, if the base has it.
    fn path_of(&self, env: &Env, file: &ListedFile) -> Result<Option<PathBuf>> {
        if self.files.get(&file.path) != Some(&(file.bytes, file.checksum)) {
            return Ok(None);
        }
        let path = self.dir.join(&file.path);
        // A file of the base that was lost or truncated is linked or copied from the database instead.
        let whole = env.fs.exists(&path)? && env.fs.open(&path, OpenMode::Read)?.len()? == file.bytes;
        Ok(whole.then_some(path))
    }
}
