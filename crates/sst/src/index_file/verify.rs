//! Checking a whole index file against its data.

use super::{Extent, IndexFile, writer};
use crate::block::{Block, Cursor};
use crate::filter;
use crate::reader::Reader;
use crate::source::BlockSource;
use crate::stored::{Handle, Role};
use alluvium_codec::entry::{MAX_SEQ, Seq, compare};
use alluvium_env::Result;
use std::cmp::Ordering;
use std::sync::Arc;

/// The data blocks of a file in order.
struct Blocks<'a> {
    data: &'a Reader,
    partition: Option<Arc<Block>>,
    at: (usize, usize),
}

impl Blocks<'_> {
    /// The location of the next block, and the block.
    fn next(&mut self) -> Result<Option<(Handle, Block)>> {
        let (mut partition_index, mut index) = self.at;
        loop {
            if partition_index >= self.data.partitions() {
                return Ok(None);
            }
            let partition = match &self.partition {
                Some(partition) => partition.clone(),
                None => self.data.partition(partition_index)?,
            };
            if index < partition.len() {
                let handle = self.data.data_handle(partition_index, &partition, index)?;
                self.partition = Some(partition);
                self.at = (partition_index, index + 1);
                return Ok(Some((handle, self.data.read_data_block(handle)?)));
            }
            self.partition = None;
            (partition_index, index) = (partition_index + 1, 0);
        }
    }
}

/// The data that was read so far.
#[derive(Default)]
struct Seen {
    last: Option<(Vec<u8>, Seq)>,
    extents: u64,
    digest: u64,
}

/// An entry of an index partition.
struct IndexEntry<'a> {
    /// The number of the partition.
    at: usize,
    partition: &'a Block,
    index: usize,
}

impl IndexFile {
    /// Reads and checks every block of the index file. Checks that its extents are the data blocks
    /// of `data`, that its bounds separate them, and that its filters have every key. `data` is
    /// assumed to be sound ([`Reader::verify`] checks it).
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] with the first damage found, or
    /// [`alluvium_env::Error::Io`].
    pub fn verify(&self, data: &Reader) -> Result<()> {
        let mut blocks = Blocks { data, partition: None, at: (0, 0) };
        let mut seen = Seen::default();
        for at in 0..self.top.len() {
            let (partition, checksum) = self.read_partition(at)?;
            seen.digest = writer::digest(seen.digest, checksum);
            if self.top.entry(at) != partition.entry(0) {
                return Err(self.wrong(at, "the two levels of the index differ"));
            }
            for index in 0..partition.len() {
                let extent = self.extent(at, &partition, index)?;
                let entry = IndexEntry { at, partition: &partition, index };
                self.verify_extent(&entry, &extent, &mut blocks, &mut seen)?;
            }
        }
        if blocks.next()?.is_some() || seen.extents != self.meta.extents {
            return Err(self.corrupt(self.footer.index.offset, "the index does not cover all data blocks"));
        }
        self.verify_rest(seen.digest)
    }

    /// Reads and checks every block of the index file without its data, which may be damaged.
    ///
    /// # Errors
    /// As [`IndexFile::verify`].
    pub fn verify_blocks(&self) -> Result<()> {
        let mut digest = 0;
        for at in 0..self.top.len() {
            let (partition, checksum) = self.read_partition(at)?;
            digest = writer::digest(digest, checksum);
            if self.top.entry(at) != partition.entry(0) {
                return Err(self.wrong(at, "the two levels of the index differ"));
            }
            (0..partition.len()).try_for_each(|index| self.extent(at, &partition, index).map(drop))?;
        }
        self.verify_rest(digest)
    }

    /// Checks the sections after the partitions. `digest` is the digest of the partitions.
    fn verify_rest(&self, mut digest: u64) -> Result<()> {
        for (at, role) in
            [(self.footer.aux, Role::Aux), (self.footer.properties, Role::Properties), (self.footer.index, Role::Index)]
        {
            let source = BlockSource::new(&*self.file, self.meta.number);
            let (_, checksum) = source.read_with_checksum(at, role, None)?;
            digest = writer::digest(digest, checksum);
        }
        if digest != self.footer.digest {
            return Err(self.corrupt(self.footer.index.end(), "the digest of all blocks does not match"));
        }
        Ok(())
    }

    fn wrong(&self, partition: usize, what: &str) -> alluvium_env::Error {
        self.corrupt(self.partition_handle(partition).offset, what)
    }

    fn verify_extent(
        &self,
        entry: &IndexEntry<'_>,
        extent: &Extent,
        blocks: &mut Blocks<'_>,
        seen: &mut Seen,
    ) -> Result<()> {
        let IndexEntry { at, partition, index } = *entry;
        let (bound, bound_seq) = partition.entry(index);
        if let Some((key, seq)) = &seen.last
            && compare(key, *seq, &bound, bound_seq) != Ordering::Less
        {
            return Err(self.wrong(at, "an entry before the extent's bound in the index"));
        }
        for (number, expected) in extent.blocks.iter().enumerate() {
            let Some((handle, block)) = blocks.next()? else {
                return Err(self.wrong(at, "an extent names data blocks that do not exist"));
            };
            if handle != *expected {
                return Err(self.wrong(at, "the offsets of an extent are not those of data blocks"));
            }
            let mut cursor = Cursor::new();
            cursor.move_to(&block, 0);
            if number == 0 && compare(&bound, bound_seq, cursor.key(), cursor.seq()) == Ordering::Greater {
                return Err(self.wrong(at, "an entry before the extent's bound in the index"));
            }
            loop {
                if !filter::contains(partition.filter(), alluvium_codec::hash64(cursor.key())) {
                    return Err(self.wrong(at, "a key that the filter does not have"));
                }
                seen.last = Some((cursor.key().to_vec(), cursor.seq().min(MAX_SEQ)));
                if !cursor.next(&block) {
                    break;
                }
            }
        }
        seen.extents += 1;
        Ok(())
    }
}
