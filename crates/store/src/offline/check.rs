//! Checks a checkpoint against its listing.

use crate::error::{Error, Result, check_stop};
use crate::files::listing::{FileChecksum, ListedFile, Listing, content_checksum};
use crate::files::{self, LOCK_NAME, LOG_DIR, partition_dir};
use alluvium_env::Env;
use alluvium_lsm::VersionEdit;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The result of checking a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct CheckedCheckpoint {
    /// The listing of the checkpoint.
    pub listing: Listing,
    /// The damage found; empty if the checkpoint is undamaged.
    pub damage: Vec<Error>,
}

/// Checks every file of the checkpoint in `dir` against the listing and against the manifests of the checkpoint. With
/// `blocks`, also reads every block of the sorted files; otherwise only their footers. Writes nothing.
///
/// # Errors
/// [`Error::NotACheckpoint`], the error of a damaged listing, and any error that prevents the check.
pub fn check_checkpoint(env: &Env, dir: &Path, blocks: bool) -> Result<CheckedCheckpoint> {
    check_checkpoint_unless(env, dir, blocks, &AtomicBool::new(false))
}

/// As [`check_checkpoint`], but ends within about a second after `stop` is set.
///
/// # Errors
/// As [`check_checkpoint`]; [`Error::Stopped`] if it was stopped.
pub fn check_checkpoint_unless(env: &Env, dir: &Path, blocks: bool, stop: &AtomicBool) -> Result<CheckedCheckpoint> {
    let env = &files::hold(env, dir)?.ok_or_else(|| Error::NotACheckpoint(dir.to_owned()))?;
    check_held(env, dir, blocks, stop)
}

/// As [`check_checkpoint_unless`], for a directory that is already held open.
pub(super) fn check_held(env: &Env, dir: &Path, blocks: bool, stop: &AtomicBool) -> Result<CheckedCheckpoint> {
    let listing = Listing::read(env, dir)?;
    let mut checking = Checking { env, dir, listing: &listing, blocks, stop, damage: Vec::new() };
    checking.names()?;
    checking.contents()?;
    for index in 0..listing.partitions {
        checking.partition(index)?;
    }
    checking.log()?;
    let damage = checking.damage;
    Ok(CheckedCheckpoint { listing, damage })
}

/// The versions of all partitions of a checkpoint, read from its manifests.
pub(super) fn read_versions(env: &Env, dir: &Path, listing: &Listing) -> Result<Vec<VersionEdit>> {
    let read = |index: u32| {
        let partition = dir.join(partition_dir(index));
        let found = alluvium_lsm::image::read_manifest(env, &partition, listing.id, index)?;
        let missing = || alluvium_env::Error::corrupt(&partition, 0, "the partition's manifest is missing");
        found.map(|found| found.version).ok_or_else(|| Error::from(missing()))
    };
    (0..listing.partitions).map(read).collect()
}

struct Checking<'a> {
    env: &'a Env,
    dir: &'a Path,
    listing: &'a Listing,
    blocks: bool,
    stop: &'a AtomicBool,
    damage: Vec<Error>,
}

impl Checking<'_> {
    fn report(&mut self, path: &Path, offset: u64, what: impl Into<String>) {
        self.damage.push(alluvium_env::Error::corrupt(path, offset, what).into());
    }

    /// Returns the value, or adds the error to the damage. Returns an error that is no evidence about the files.
    fn found<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error @ Error::Storage(_)) if !error.is_circumstance() => {
                self.damage.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Checks that every file is in the listing.
    fn names(&mut self) -> Result<()> {
        let listed: BTreeSet<&str> = self.listing.files.iter().map(|file| file.path.as_str()).collect();
        let mut dirs = vec![LOG_DIR.to_owned()];
        dirs.extend((0..self.listing.partitions).map(partition_dir));
        for name in dirs {
            let path = self.dir.join(&name);
            if !self.env.fs.exists(&path)? {
                self.report(&path, 0, "the directory is missing");
                continue;
            }
            for entry in self.env.fs.list(&path)? {
                let file = format!("{name}/{}", entry.name);
                if !listed.contains(file.as_str()) && entry.name != LOCK_NAME {
                    self.report(&self.dir.join(file), 0, "the listing of the checkpoint does not name this file");
                }
            }
        }
        Ok(())
    }

    /// Checks the lengths of all files, and the checksums of files whose whole content has one.
    fn contents(&mut self) -> Result<()> {
        let listing = self.listing;
        for file in &listing.files {
            let path = self.dir.join(&file.path);
            if !self.env.fs.exists(&path)? {
                self.report(&path, 0, "the listing of the checkpoint names this file, and it does not exist");
                continue;
            }
            let opened = self.env.fs.open(&path, alluvium_env::OpenMode::Read).and_then(|file| file.len());
            let Some(bytes) = self.found(opened.map_err(Error::from))? else { continue };
            if bytes != file.bytes {
                let what = format!("the file has {bytes} bytes; the listing says {}", file.bytes);
                self.report(&path, bytes.min(file.bytes), what);
            } else if let FileChecksum::Content(sum) = file.checksum
                && let Some((_, found)) = self.found(content_checksum(self.env, &path, self.stop))?
                && found != sum
            {
                self.report(&path, 0, "the checksum of the file differs from that of the listing");
            }
        }
        Ok(())
    }

    /// Checks that the manifest names the listed files, and that these are undamaged.
    fn partition(&mut self, index: u32) -> Result<()> {
        let dir = self.dir.join(partition_dir(index));
        let prefix = format!("{}/", partition_dir(index));
        let sorted = |file: &&ListedFile| matches!(file.checksum, FileChecksum::Footer(_));
        let files = self.listing.files.iter().filter(sorted).filter(|file| file.path.starts_with(&prefix));
        let mut listed: BTreeMap<_, _> = files.map(|file| (self.dir.join(&file.path), file)).collect();
        let found = match self.env.fs.exists(&dir)? {
            true => alluvium_lsm::image::read_manifest(self.env, &dir, self.listing.id, index),
            false => return Ok(()),
        };
        let version = match found {
            Ok(Some(found)) => found.version,
            Ok(None) => {
                self.report(&dir, 0, "the partition's manifest is missing");
                return Ok(());
            }
            Err(error) => {
                self.found::<()>(Err(error.into()))?;
                return Ok(());
            }
        };
        for added in &version.added {
            check_stop(self.stop)?;
            let path = alluvium_lsm::image::sst_path(&dir, added.meta.number);
            let checksum = FileChecksum::Footer(added.meta.footer_checksum);
            match listed.remove(&path) {
                Some(file) if (file.bytes, file.checksum) == (added.meta.bytes, checksum) => {}
                Some(_) => self.report(&path, 0, "the listing and the manifest disagree about this file"),
                None => self.report(&path, 0, "the manifest names this file, and the listing does not"),
            }
            let checked = self.sorted_file(&path, &added.meta);
            self.found(checked.map_err(Error::from))?;
        }
        for path in listed.into_keys() {
            self.report(&path, 0, "the listing names this file, and the manifest does not");
        }
        Ok(())
    }

    fn sorted_file(&self, path: &Path, meta: &alluvium_sst::FileMeta) -> alluvium_env::Result<()> {
        let (cache, dictionaries) = (Arc::new(alluvium_sst::NoCache), alluvium_sst::DictionaryRegistry::new());
        // `contents` has already reported a missing file.
        if !self.env.fs.exists(path)? {
            return Ok(());
        }
        let reader = alluvium_sst::Reader::open(self.env, path, meta, cache, &dictionaries)?;
        if self.blocks {
            reader.verify()?;
        }
        Ok(())
    }

    /// Checks that the log ends at the number of the checkpoint.
    fn log(&mut self) -> Result<()> {
        let dir = self.dir.join(LOG_DIR);
        if !self.env.fs.exists(&dir)? {
            return Ok(());
        }
        match alluvium_wal::read_whole(self.env, &dir, self.listing.id, 0, &mut |_| Ok(())) {
            Ok(last) if last == self.listing.seq => {}
            Ok(last) => {
                let what = format!("the log ends at number {last}; the listing says {}", self.listing.seq);
                self.report(&dir, 0, what);
            }
            Err(error) => drop(self.found::<()>(Err(error.into()))?),
        }
        Ok(())
    }
}
