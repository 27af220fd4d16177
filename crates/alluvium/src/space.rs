//! What a long operation will need of the disk, before it begins.

use crate::{Database, Error, Result};

/// What documents of JSON come to on disk, in hundredths of its bytes, where the database has too few of its own to tell.
const USUAL_PERCENT: u64 = 35;
/// A row has about so many hundredths of the bytes of the JSON that it was made of.
const ROW_PERCENT: u64 = 60;
/// So many bytes of rows tell how well a database's documents are compressed.
const TELLING_BYTES: u64 = 16 << 20;
/// Compressed input comes to so many hundredths of its own bytes.
const PACKED_PERCENT: u64 = 125;

/// What an operation needs of the disk, and what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that it will need: an estimate for a load, at most so many for a compaction.
    pub needed_bytes: u64,
    /// Bytes that are free now, or more if the system does not tell.
    pub available_bytes: u64,
    purpose: &'static str,
}

impl Space {
    /// True if there is room.
    pub fn is_enough(&self) -> bool {
        self.needed_bytes <= self.available_bytes
    }

    /// An error if there is no room.
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

impl Database {
    /// What loading so many bytes of input will need: an estimate from how the database's own documents are compressed,
    /// and what [`crate::Builder::disk_reserve`] keeps free. Of `packed` bytes, of files compressed with gzip or
    /// Zstandard, only their number is known, not what is inside. Costs microseconds.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.load_space(1 << 20, 0).check()?; // room for a megabyte of JSON?
    /// # Ok(())
    /// # }
    /// ```
    pub fn load_space(&self, plain_bytes: u64, packed_bytes: u64) -> Space {
        let partitions = self.stats().partitions;
        let raw: u64 = partitions.iter().map(|partition| partition.raw_bytes).sum();
        let stored: u64 = partitions.iter().map(|partition| partition.bytes).sum();
        let percent = match raw >= TELLING_BYTES {
            true => share(stored, ROW_PERCENT, raw).clamp(10, 80),
            false => USUAL_PERCENT,
        };
        let documents = share(plain_bytes, percent, 100).saturating_add(share(packed_bytes, PACKED_PERCENT, 100));
        self.space("the load", documents.saturating_add(self.inner.store.disk_reserve_bytes()))
    }

    /// What [`Database::compact`] needs at most: it rewrites one partition after the other and removes the old files of
    /// each when the new ones are there. Costs microseconds.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let space = db.compact_space();
    /// assert!(space.is_enough(), "{} bytes are needed", space.needed_bytes);
    /// db.compact()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact_space(&self) -> Space {
        let stats = self.stats();
        let largest = stats.partitions.iter().map(|partition| partition.bytes).max().unwrap_or(0);
        // What is in memory is written to files first.
        self.space("the compaction", largest.saturating_add(stats.memtable_bytes as u64))
    }

    fn space(&self, purpose: &'static str, needed_bytes: u64) -> Space {
        // Where the system does not tell, the writes themselves will.
        let available_bytes = self.inner.env.fs.available_bytes(self.path()).unwrap_or(u64::MAX);
        Space { needed_bytes, available_bytes, purpose }
    }
}

/// `bytes * part / whole`.
fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
