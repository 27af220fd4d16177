//! Restoring a database from a checkpoint.
//!
//! The result is a new database. Its superblock, manifests and log have a new id. Therefore it can be used in addition
//! to the original database, and no incremental checkpoint confuses the two. Its sequence numbers continue after the
//! last number of the checkpoint.

use super::check::{check_held, read_versions};
use crate::checkpoint::building::{Building, Placement};
use crate::checkpoint::log::LogCopy;
use crate::error::{Error, Result, check_stop};
use crate::files::listing::Listing;
use crate::files::superblock::Superblock;
use crate::files::{self, LOG_DIR, partition_dir};
use crate::marks;
use alluvium_codec::entry::Seq;
use alluvium_env::Env;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The greatest length of a segment of the new log, in bytes.
const SEGMENT_BYTES: u64 = 16 << 20;

/// How to restore a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct RestoreOptions {
    /// Copy the sorted files. By default they are linked if possible.
    pub copy: bool,
    /// Before the restore, check only lengths, footers, manifests and log, and not every block of the sorted files.
    pub quick: bool,
    /// Bytes of the disk that copies leave free. Default: 0.
    pub reserve_bytes: u64,
    /// When this is set to true, the restore ends with [`Error::Stopped`] within about a second, and leaves no files.
    pub stop: Arc<AtomicBool>,
}

/// The result of a restore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// The id of the checkpoint.
    pub checkpoint: u64,
    /// The id of the new database.
    pub database_id: u64,
    /// The number of the last operation in the database.
    pub seq: Seq,
    /// The number of sorted files.
    pub files: u64,
    /// Bytes of the sorted files.
    pub bytes: u64,
    /// The number of files that were copied.
    pub copied: u64,
    /// How long it took.
    pub took: Duration,
}

/// Checks the checkpoint in `from` and makes a database from it in `to`, which must not exist or must be empty. The
/// checkpoint is not changed. The directory is renamed to `to` when all of its content is durable.
///
/// # Errors
/// [`Error::NotACheckpoint`], the first damage found in the checkpoint, [`Error::TargetExists`], [`Error::InUse`] if
/// another process restores to the same directory, [`Error::NoSpace`], [`Error::Stopped`], and [`Error::Storage`].
/// After an error there is no `to`.
pub fn restore_checkpoint(env: &Env, from: &Path, to: &Path, options: RestoreOptions) -> Result<RestoreReport> {
    let started = env.clock.now();
    let env = &files::hold(env, from)?.ok_or_else(|| Error::NotACheckpoint(from.to_owned()))?;
    let checked = check_held(env, from, !options.quick, &options.stop)?;
    if let Some(first) = checked.damage.into_iter().next() {
        return Err(first);
    }
    let building = Building::begin(env, to, options.reserve_bytes, options.stop.clone())?;
    let restoring = Restoring { from, listing: &checked.listing, options, building: &building };
    match restoring.fill() {
        Ok(mut report) => {
            building.finish()?;
            report.took = env.clock.now().saturating_sub(started);
            Ok(report)
        }
        Err(error) => {
            building.abandon();
            Err(error.named_if_full())
        }
    }
}

struct Restoring<'a> {
    from: &'a Path,
    listing: &'a Listing,
    options: RestoreOptions,
    building: &'a Building,
}

impl Restoring<'_> {
    fn fill(&self) -> Result<RestoreReport> {
        let (env, listing) = (&self.building.env, self.listing);
        let superblock = Superblock { database_id: env.rng.next_u64(), partitions: listing.partitions };
        let mut report = RestoreReport {
            checkpoint: listing.id,
            database_id: superblock.database_id,
            seq: listing.seq,
            ..RestoreReport::default()
        };
        superblock.begin(env, &self.building.dir)?;
        for (index, version) in (0..).zip(read_versions(env, self.from, listing)?) {
            let name = partition_dir(index);
            let (from, to) = (self.from.join(&name), self.building.directory(&name)?);
            for file in &version.added {
                check_stop(&self.options.stop)?;
                let number = file.meta.number;
                let (from, to) =
                    (alluvium_lsm::image::sst_path(&from, number), alluvium_lsm::image::sst_path(&to, number));
                let placed = self.building.place(&from, &to, !self.options.copy)?;
                report.copied += u64::from(placed == Placement::Copied);
                report.files += 1;
                report.bytes += file.meta.bytes;
            }
            // Writing the manifest also makes the links durable: it syncs the directory after the rename of the
            // manifest.
            alluvium_lsm::image::write_manifest(env, &to, superblock.database_id, index, &version)?;
        }
        self.log(superblock.database_id)?;
        superblock.finish(env, &self.building.dir)?;
        Ok(report)
    }

    fn log(&self, database_id: u64) -> Result<()> {
        let (from, to) = (self.from.join(LOG_DIR), self.building.directory(LOG_DIR)?);
        let env = &self.building.env;
        let bytes = env.fs.list(&from)?.iter().map(|entry| entry.len).sum::<u64>();
        self.building.need(bytes)?;
        let segment = bytes.next_multiple_of(4 << 10).clamp(64 << 10, SEGMENT_BYTES);
        let mut copy = LogCopy::new(env, &to, database_id, segment, None);
        let last = alluvium_wal::read_whole(env, &from, self.listing.id, 0, &mut |record| copy.take(record))?;
        copy.finish()?;
        if bytes > 0 {
            marks::LOG_RESTORED.hit();
        }
        match last == self.listing.seq {
            true => Ok(()),
            false => {
                Err(Error::from(alluvium_env::Error::corrupt(&from, 0, "the log ends before the checkpoint does")))
            }
        }
    }
}
