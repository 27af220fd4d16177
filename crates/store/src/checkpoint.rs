//! Checkpoints: consistent copies of a running store, made of links.
//!
//! A checkpoint holds the files of every partition's version, pinned one after the other, and the log
//! from the oldest operation that is not in them to a note that is written when all are pinned. Replayed,
//! that gives the state after the note: every operation up to its number, none beyond. Writers are not
//! held up: the note is one record of theirs, and nothing is flushed.
//!
//! While it is made, views keep the files, and a hold keeps the log.

pub(crate) mod building;
pub(crate) mod check;
pub(crate) mod listing;
pub(crate) mod log;

use crate::batch::encode_flushed;
use crate::commit::Work;
use crate::open::LOG_DIR;
use crate::store::{Inner, Store};
use crate::{Durability, Error, Result, superblock};
use alluvium_codec::entry::Seq;
use alluvium_env::{Env, OpenMode};
use alluvium_lsm::View;
use building::{Building, Placed};
use listing::{FileChecksum, ListedFile, Listing};
use log::LogCopy;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to make a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct CheckpointOptions {
    /// An earlier checkpoint of the same database: files that it has are linked to it, where that is
    /// possible, and marked as not new.
    pub base: Option<PathBuf>,
    /// Copy files of the database, in place of linking them. Files of the base are still linked.
    pub copy: bool,
    /// Set to true by anybody, the checkpoint ends with [`Error::Stopped`], within a moment, and leaves nothing.
    pub stop: Arc<AtomicBool>,
}

/// What a checkpoint holds, and how it came about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// The checkpoint's id.
    pub id: u64,
    /// The number of the last operation in it.
    pub seq: Seq,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sorted files that the base has too.
    pub in_base: u64,
    /// Their bytes.
    pub bytes_in_base: u64,
    /// Sorted files that were copied, because that was asked for or links were not possible.
    pub copied: u64,
    /// Their bytes.
    pub bytes_copied: u64,
    /// Bytes of the log in it.
    pub log_bytes: u64,
    /// How long it took.
    pub took: Duration,
}

/// The versions of one moment, and what of the log makes them whole.
struct Pinned<'a> {
    views: Vec<Arc<View>>,
    /// The first number of the log that is needed.
    from: Seq,
    /// The number of the note.
    seq: Seq,
    _hold: crate::holds::Hold<'a>,
}

impl Store {
    /// Makes a checkpoint in the directory `dir`, which must not exist or be empty, while others write:
    /// all operations up to one number, and none beyond. Sorted files are linked where `dir` is on the
    /// same file system, else copied. Nothing has the name `dir` until all of it is durable.
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
    /// // What monday has of sorted files is not copied again.
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
    /// [`Error::TargetExists`], [`Error::InsideDatabase`], [`Error::NotACheckpoint`] and
    /// [`Error::ForeignBase`] for the base, [`Error::InUse`] if another makes it, [`Error::NoSpace`],
    /// [`Error::Stopped`], and what writing says. Nothing has the name `dir` then, and the store goes on.
    pub fn checkpoint(&self, dir: &Path, options: &CheckpointOptions) -> Result<CheckpointReport> {
        let inner = &*self.inner;
        inner.writable()?;
        let started = inner.env.clock.now();
        let base = options.base.as_deref().map(|path| Base::read(inner, path)).transpose()?;
        // A log that had damage has gaps, which a copy has not.
        self.discard_damage()?;
        let mut building = Building::begin(&inner.env, dir, inner.options.disk_reserve(), options.stop.clone())?;
        building.reserve_beside(&inner.path);
        let id = inner.env.rng.next_u64();
        let made = inner.pin().and_then(|pinned| inner.fill(&building, id, pinned, base.as_ref(), options.copy));
        match inner.ended(made) {
            Ok(mut report) => {
                building.finish()?;
                report.took = inner.env.clock.now().saturating_sub(started);
                Ok(report)
            }
            Err(error) => {
                building.abandon();
                Err(no_space(error))
            }
        }
    }
}

/// [`Error::Stopped`] if somebody has asked for it.
pub(crate) fn unless_stopped(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
}

/// A full disk under its own name.
pub(crate) fn no_space(error: Error) -> Error {
    match error {
        Error::Storage(cause) if cause.is_no_space() => Error::NoSpace(Box::new(Error::Storage(cause))),
        error => error,
    }
}

impl Inner {
    fn pin(&self) -> Result<Pinned<'_>> {
        let hold = self.holds.hold();
        loop {
            // What is ingested is not in the log, but what is noted about it is: the views must not lack any of it.
            let ingested = self.holds.ingested();
            let (views, from, seq) = self.pin_views()?;
            if self.holds.ingested() == ingested {
                return Ok(Pinned { views, from, seq, _hold: hold });
            }
        }
    }

    /// The views of one moment, the first number of the log that is needed, and the number of a note above all of it.
    fn pin_views(&self) -> Result<(Vec<Arc<View>>, Seq, Seq)> {
        // First the visible number: what is above it may be on its way into a memtable that still looks
        // empty. The log still has everything from its oldest segment on, and nothing older is needed.
        let visible = self.visibility.visible();
        let views = self.views();
        let unflushed = views.iter().filter_map(|view| view.oldest_unflushed()).min().unwrap_or(Seq::MAX);
        let from = unflushed.min(visible + 1).max(self.wal.oldest_seq());
        let flushed = views.iter().enumerate().map(|(at, view)| (at as u32, view.flushed_seq()));
        let note = encode_flushed(from, flushed);
        // Its number is above all that the views hold, and everything below is applied when it is visible.
        let seq = self.commit(Work::Note(note), Durability::Sync)?;
        Ok((views, from, seq))
    }

    fn fill(
        &self,
        building: &Building<'_>,
        id: u64,
        pinned: Pinned<'_>,
        base: Option<&Base>,
        copy: bool,
    ) -> Result<CheckpointReport> {
        let mut filling = Filling {
            inner: self,
            building,
            base,
            copy,
            listing: Listing {
                id,
                database_id: self.superblock.database_id,
                seq: pinned.seq,
                partitions: self.superblock.partitions,
                base: base.map(|base| base.listing.id),
                files: Vec::new(),
            },
            report: CheckpointReport { id, seq: pinned.seq, ..CheckpointReport::default() },
        };
        // The log first: the views hold the files, and while files are copied the log is free again.
        filling.log(&pinned)?;
        let Pinned { views, _hold, .. } = pinned;
        drop(_hold);
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

struct Filling<'a> {
    inner: &'a Inner,
    building: &'a Building<'a>,
    base: Option<&'a Base>,
    copy: bool,
    listing: Listing,
    report: CheckpointReport,
}

impl Filling<'_> {
    fn partition(&mut self, index: u32, view: &View) -> Result<()> {
        let inner = self.inner;
        let name = format!("p{index:03}");
        let (from, to) = (inner.path.join(&name), self.building.directory(&name)?);
        let version = view.edit(inner.shared.file_number_bound());
        let mut numbers: Vec<_> = version.added.iter().map(|file| &file.meta).collect();
        numbers.sort_by_key(|meta| meta.number);
        for meta in numbers {
            // Another may have the directory then, and remove files.
            inner.open_for_reads()?;
            unless_stopped(&self.building.stop)?;
            let path = format!("{name}/{:08}.sst", meta.number);
            let checksum = FileChecksum::Footer(meta.footer_checksum);
            let mut file = ListedFile { path, bytes: meta.bytes, checksum, in_base: false };
            file.in_base = self.place(&file, &alluvium_lsm::image::sst_path(&from, meta.number))?;
            self.listing.files.push(file);
        }
        // This makes the links durable too: it syncs the directory when the manifest has its name.
        let manifest = alluvium_lsm::image::write_manifest(&inner.env, &to, self.listing.id, index, &version)?;
        self.list_content(&name, &manifest)?;
        Ok(())
    }

    /// Puts a sorted file in its place; true if the base has it.
    fn place(&mut self, file: &ListedFile, original: &Path) -> Result<bool> {
        let (to, report) = (self.building.dir.join(&file.path), &mut self.report);
        let in_base = match self.base {
            Some(base) => base.path_of(&self.inner.env, file)?,
            None => None,
        };
        let linked = match &in_base {
            Some(path) => self.inner.env.fs.hard_link(path, &to).is_ok(),
            None => false,
        };
        if !linked && self.building.place(original, &to, !self.copy)? == Placed::Copied {
            report.copied += 1;
            report.bytes_copied += file.bytes;
        }
        if in_base.is_some() {
            report.in_base += 1;
            report.bytes_in_base += file.bytes;
        }
        Ok(in_base.is_some())
    }

    /// Copies what is needed of the log.
    fn log(&mut self, pinned: &Pinned<'_>) -> Result<()> {
        let inner = self.inner;
        let dir = self.building.directory(LOG_DIR)?;
        // Not what is reserved behind the end of the log: a segment of the copy is no longer than what it gets.
        let used = inner.wal.bytes_used();
        self.building.need(used)?;
        let segment = inner.options.log_segment_bytes().min(used);
        let mut copy = LogCopy::new(&inner.env, &dir, self.listing.id, segment, Some(pinned.seq));
        inner.wal.read_back(pinned.from, pinned.seq, &mut |record| copy.take(record))?;
        copy.finish()?;
        for (_, path) in alluvium_wal::list_segments(&inner.env, &dir)? {
            self.report.log_bytes += self.list_content(LOG_DIR, &path)?;
        }
        Ok(())
    }

    /// Lists a file with the checksum of its content; says how many bytes it has.
    fn list_content(&mut self, dir: &str, path: &Path) -> Result<u64> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (bytes, sum) = content_checksum(&self.inner.env, path, &self.building.stop)?;
        let checksum = FileChecksum::Content(sum);
        self.listing.files.push(ListedFile { path: format!("{dir}/{name}"), bytes, checksum, in_base: false });
        Ok(bytes)
    }
}

/// The length of a file, and the XXH3-64 of its bytes.
pub(crate) fn content_checksum(env: &Env, path: &Path, stop: &AtomicBool) -> Result<(u64, u64)> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let len = file.len()?;
    let mut hasher = alluvium_codec::Hasher64::default();
    let mut piece = vec![0; (1 << 20).min(len as usize)];
    let mut at = 0;
    while at < len {
        unless_stopped(stop)?;
        let piece = &mut piece[..(1 << 20).min((len - at) as usize)];
        file.read_exact_at(piece, at)?;
        hasher.add(piece);
        at += piece.len() as u64;
    }
    Ok((len, hasher.finish()))
}

/// The checkpoint that was named as base.
struct Base {
    dir: PathBuf,
    listing: Listing,
    files: HashMap<String, (u64, FileChecksum)>,
}

impl Base {
    fn read(inner: &Inner, dir: &Path) -> Result<Self> {
        let listing = Listing::read(&inner.env, dir)?;
        if listing.database_id != inner.superblock.database_id {
            return Err(Error::ForeignBase { base: dir.to_owned(), database: inner.path.clone() });
        }
        let files = listing.files.iter().map(|file| (file.path.clone(), (file.bytes, file.checksum))).collect();
        Ok(Self { dir: dir.to_owned(), listing, files })
    }

    /// Where the base has this very file, if it has it.
    fn path_of(&self, env: &Env, file: &ListedFile) -> Result<Option<PathBuf>> {
        if self.files.get(&file.path) != Some(&(file.bytes, file.checksum)) {
            return Ok(None);
        }
        let path = self.dir.join(&file.path);
        // One that was lost or cut since is made anew.
        let whole = env.fs.exists(&path)? && env.fs.open(&path, OpenMode::Read)?.len()? == file.bytes;
        Ok(whole.then_some(path))
    }
}

/// Refuses a directory within a database: it would be removed with it, or taken for a part of it.
fn refuse_inside(env: &Env, dir: &Path) -> Result<()> {
    for above in dir.ancestors().skip(1) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if env.fs.exists(&above.join(superblock::NAME))? || env.fs.exists(&above.join(listing::NAME))? {
            return Err(Error::InsideDatabase { dir: dir.to_owned(), above: above.to_owned() });
        }
    }
    Ok(())
}
