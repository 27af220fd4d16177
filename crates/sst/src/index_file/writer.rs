//! Writing an index file together with its sorted file.

use crate::footer::{self, Footer};
use crate::index::{self, IndexBuilder};
use crate::index_file::IndexFileMeta;
use crate::meta::FileMeta;
use crate::options::WriterOptions;
use crate::output::Output;
use crate::stored::{self, Handle, Role};
use alluvium_codec::entry::Seq;
use alluvium_codec::varint;
use alluvium_env::{Env, Result};
use std::path::Path;

/// The aux block: the sorted file and the interval of the index file.
pub(super) fn aux(interval: u64, data: &FileMeta) -> Vec<u8> {
    let mut out = super::TAG.to_vec();
    varint::put_u64(&mut out, interval);
    varint::put_u64(&mut out, data.number);
    varint::put_u64(&mut out, data.bytes);
    out.extend_from_slice(&data.footer_checksum.to_le_bytes());
    out
}

/// Writes one index file. If it is dropped before it is finished, it removes the file.
pub(crate) struct IndexFileWriter {
    output: Output,
    index: IndexBuilder,
    meta: IndexFileMeta,
    /// The open extent: its bound, its start, the lengths of its blocks, and its number of entries.
    bound: (Vec<u8>, Seq),
    offset: u64,
    lens: Vec<u8>,
    entries: u64,
    /// The end of the previous data block, and the number of bytes between it and the open block.
    /// These bytes are an index partition of the data, or nothing.
    end: u64,
    gap: u64,
    raw: Vec<u8>,
}

impl IndexFileWriter {
    pub(crate) fn create(env: &Env, path: &Path, number: u64, interval: u64, options: &WriterOptions) -> Result<Self> {
        Ok(Self {
            output: Output::create(env, path, number)?,
            index: IndexBuilder::new(
                options.index_partition_blocks,
                options.index_partition_bytes,
                options.filter_bits_per_key,
            ),
            meta: IndexFileMeta { number, interval: interval.max(1), ..IndexFileMeta::default() },
            bound: (Vec::new(), 0),
            offset: 0,
            lens: Vec::new(),
            entries: 0,
            end: 0,
            gap: 0,
            raw: Vec::new(),
        })
    }

    /// Adds the key of an entry that is about to be added to the data.
    #[inline]
    pub(crate) fn note_key(&mut self, key: &[u8], is_new: bool) {
        if is_new || self.index.has_no_key() {
            self.index.add_hash(alluvium_codec::hash64(key));
        }
    }

    /// Counts an entry of the open data block; true if the block must end after this entry.
    #[inline]
    pub(crate) fn count_entry(&mut self) -> bool {
        self.entries += 1;
        self.entries >= self.meta.interval
    }

    /// Begins a data block that is about to be written at `offset`.
    pub(crate) fn begin_block(&mut self, bound: (&[u8], Seq), offset: u64) {
        if self.lens.is_empty() {
            self.bound.0.clear();
            self.bound.0.extend_from_slice(bound.0);
            self.bound.1 = bound.1;
            self.offset = offset;
            self.end = offset;
        }
        self.gap = offset - self.end;
    }

    /// Ends the data block, which was written.
    pub(crate) fn end_block(&mut self, block: Handle) -> Result<()> {
        varint::put_u64(&mut self.lens, u64::from(block.len) << 1 | u64::from(self.gap > 0));
        if self.gap > 0 {
            varint::put_u64(&mut self.lens, self.gap);
        }
        self.end = block.end();
        if self.entries >= self.meta.interval {
            self.end_extent(block.end())?;
        }
        Ok(())
    }

    /// Ends the open extent at offset `end` of the data.
    fn end_extent(&mut self, end: u64) -> Result<()> {
        self.index.add_extent((&self.bound.0, self.bound.1), self.offset, &self.lens);
        self.meta.extents += 1;
        self.lens.clear();
        self.entries = 0;
        if self.index.is_full(end) { self.write_partition() } else { Ok(()) }
    }

    fn write_partition(&mut self) -> Result<()> {
        if self.index.top_is_full() {
            return Err(self.output.refusal(index::TOO_MANY_BLOCKS));
        }
        self.raw.clear();
        let region_start = self.index.region_start();
        self.index.finish_partition(&mut self.raw);
        let handle = self.output.put(&self.raw, Role::Partition, None)?;
        self.index.add_partition_with(handle, &region_start.to_le_bytes());
        Ok(())
    }

    /// Writes the rest, and syncs the file (not its directory). `data` is the finished file.
    pub(crate) fn finish(mut self, data: &FileMeta) -> Result<IndexFileMeta> {
        if !self.lens.is_empty() {
            self.end_extent(self.offset)?;
        }
        if !self.index.is_empty() {
            self.write_partition()?;
        }
        let none = Handle { offset: self.output.len(), len: 0 };
        let aux = self.output.put(&aux(self.meta.interval, data), Role::Aux, None)?;
        self.raw.clear();
        self.meta.encode(&mut self.raw);
        let properties = self.output.put(&self.raw, Role::Properties, None)?;
        self.raw.clear();
        self.index.finish(&mut self.raw);
        let index = self.output.put(&self.raw, Role::Index, None)?;
        let footer = Footer {
            number: self.meta.number,
            bytes: index.end() + footer::LEN as u64,
            digest: self.output.digest(),
            dictionary_id: 0,
            dictionary: none,
            aux,
            properties,
            index,
        };
        let (bytes, checksum) = footer.encode();
        self.output.finish(&bytes)?;
        self.meta.bytes = footer.bytes;
        self.meta.footer_checksum = checksum;
        Ok(self.meta)
    }
}

/// Adds the checksum of a block to the digest of a file, for `verify`.
pub(super) fn digest(so_far: u64, checksum: u32) -> u64 {
    stored::digest(so_far, checksum)
}

#[cfg(test)]
mod tests;
