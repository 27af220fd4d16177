//! Estimates of the disk space that a long operation needs, before it begins.

use crate::engine::Engine;
use crate::error::{Error, Result};
use alluvium_env::{Env, OpenMode};
use alluvium_store::Options;
use std::path::Path;

/// Bytes on disk per 100 bytes of JSON, for a database with too few documents for an estimate of
/// its own.
const USUAL_PERCENT: u64 = 35;
/// Approximate bytes of rows per 100 bytes of the JSON that they were made from.
const ROW_PERCENT: u64 = 60;
/// If the database has at least this number of bytes of rows, their compression is the estimate.
const SAMPLE_BYTES_MIN: u64 = 16 << 20;
/// Bytes on disk per 100 bytes of compressed input.
const PACKED_PERCENT: u64 = 125;

/// The maximum number of bytes of a run or a store per 100 bytes of uncompressed pairs.
const PAIRS_PERCENT: u64 = 105;
/// Approximate maximum of the bytes of a dump per 100 bytes of rows.
const DUMP_PERCENT: u64 = 350;

/// The bytes of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputBytes {
    /// Bytes of plain files.
    pub plain: u64,
    /// Bytes of files that are compressed with gzip or Zstandard.
    pub packed: u64,
}

impl InputBytes {
    /// The input of plain files with `bytes` bytes.
    pub fn plain(bytes: u64) -> Self {
        Self { plain: bytes, packed: 0 }
    }
}

/// The disk space that an operation needs, and the space that is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The bytes needed: an estimate for a load, an upper bound for a compaction.
    pub needed_bytes: u64,
    /// The bytes that are free now; `u64::MAX` if the system does not report them.
    pub available_bytes: u64,
    purpose: &'static str,
}

impl Space {
    /// True if the available space suffices.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert!(db.load_space(1 << 20, 0).is_enough());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_enough(&self) -> bool {
        self.needed_bytes <= self.available_bytes
    }

    /// An error if the available space does not suffice.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.load_space(1 << 20, 0).check()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotEnoughSpace`] with both figures.
    pub fn check(&self) -> Result<()> {
        if self.is_enough() {
            return Ok(());
        }
        let Self { needed_bytes, available_bytes, purpose } = *self;
        Err(Error::NotEnoughSpace { purpose, needed_bytes, available_bytes })
    }
}

/// The space that a load of an input needs.
pub fn load_space(engine: &Engine, input: InputBytes) -> Space {
    let partitions = engine.store().stats().partitions;
    let raw: u64 = partitions.iter().map(|partition| partition.raw_bytes).sum();
    let stored: u64 = partitions.iter().map(|partition| partition.bytes).sum();
    let percent = match raw >= SAMPLE_BYTES_MIN {
        true => share(stored, ROW_PERCENT, raw).clamp(10, 80),
        false => USUAL_PERCENT,
    };
    let needed = load_bytes(input, percent, engine.store().disk_reserve_bytes());
    at(&engine.env, engine.store().path(), "the load", needed)
}

/// The maximum space that a compaction needs.
pub fn compact_space(engine: &Engine) -> Space {
    let stats = engine.store().stats();
    let largest = stats.partitions.iter().map(|partition| partition.bytes).max().unwrap_or(0);
    // A compaction first flushes the memtables.
    let needed = largest.saturating_add(stats.memtable_bytes as u64);
    at(&engine.env, engine.store().path(), "the compaction", needed)
}

/// An estimate of the space that a dump to `dir` needs without compression.
pub fn dump_space(engine: &Engine, dir: &Path) -> Space {
    let stats = engine.store().stats();
    let raw: u64 = stats.partitions.iter().map(|partition| partition.raw_bytes).sum();
    let rows = raw.saturating_add(stats.memtable_bytes as u64);
    at(&engine.env, dir, "the dump", share(rows, DUMP_PERCENT, 100))
}

/// Estimates the space that a build of a read-only store of documents at `path` needs for an input: the store, and runs
/// of the same size if the input exceeds `memory_bytes`.
pub fn for_build_of_documents(env: &Env, path: &Path, input: InputBytes, memory_bytes: u64) -> Space {
    build_space(env, path, USUAL_PERCENT, input, memory_bytes)
}

/// As [`for_build_of_documents`], for pairs of keys and values. The estimate assumes that the pairs do not compress.
pub fn for_build_of_pairs(env: &Env, path: &Path, input: InputBytes, memory_bytes: u64) -> Space {
    build_space(env, path, PAIRS_PERCENT, input, memory_bytes)
}

fn build_space(env: &Env, path: &Path, percent: u64, input: InputBytes, memory_bytes: u64) -> Space {
    let once = share(input.plain, percent, 100).saturating_add(share(input.packed, PACKED_PERCENT, 100));
    let runs = if input.plain.saturating_add(input.packed) > memory_bytes { once } else { 0 };
    at(env, path, "the build", once.saturating_add(runs))
}

/// The approximate maximum that a repair needs: the size of the files of the damaged database.
///
/// # Errors
/// [`crate::error::ErrorKind::Io`] if the damaged database cannot be listed.
pub fn for_repair(env: &Env, from: &Path, to: &Path) -> Result<Space> {
    Ok(at(env, to, "the repair", bytes_below(env, from)?))
}

/// The space that a load into a new database at `path` needs.
pub fn for_new(env: &Env, path: &Path, input: InputBytes, options: &Options) -> Space {
    let reserve = options.disk_reserve_at(env, existing(env, path));
    at(env, path, "the load", load_bytes(input, USUAL_PERCENT, reserve))
}

/// The path, or its nearest existing parent directory.
fn existing<'a>(env: &Env, path: &'a Path) -> &'a Path {
    let existing = path.ancestors().find(|path| env.fs.exists(path).unwrap_or(false));
    // A relative path has the current directory for an ancestor.
    existing.unwrap_or(Path::new("."))
}

/// The free space at `path`, which need not exist.
pub(crate) fn at(env: &Env, path: &Path, purpose: &'static str, needed_bytes: u64) -> Space {
    // If the system does not report the free space, the operation is not refused; a write fails when the disk is full.
    let available_bytes = env.fs.available_bytes(existing(env, path)).unwrap_or(u64::MAX);
    Space { needed_bytes, available_bytes, purpose }
}

/// The bytes of all files below a directory.
fn bytes_below(env: &Env, dir: &Path) -> Result<u64> {
    let mut bytes = 0u64;
    for entry in env.fs.list(dir).map_err(alluvium_store::Error::from)? {
        let path = dir.join(&entry.name);
        bytes = bytes.saturating_add(match entry.is_dir {
            true => bytes_below(env, &path)?,
            // A file that was removed concurrently, or cannot be read, is not copied.
            false => env.fs.open(&path, OpenMode::Read).and_then(|file| file.len()).unwrap_or(0),
        });
    }
    Ok(bytes)
}

/// The bytes on disk of an input, plus the disk reserve.
fn load_bytes(input: InputBytes, percent: u64, reserve: u64) -> u64 {
    share(input.plain, percent, 100).saturating_add(share(input.packed, PACKED_PERCENT, 100)).saturating_add(reserve)
}

/// `bytes * part / whole`.
fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
