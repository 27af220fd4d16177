//! Index files: a second index of a sorted file, in a file of its own and at a chosen interval.
//!
//! A sorted file's own index has an entry for each data block. An index file has an entry for each
//! *extent*: the consecutive data blocks that hold an interval of entries. With a long interval the
//! index takes little memory, and reads examine more blocks. A sorted file may have several index
//! files, and the reader chooses among them. An index file has filters of its own, and names the
//! sorted file that it belongs to. `docs/format/sst.md` defines the bytes.

mod get;
mod verify;
mod writer;

pub(crate) use writer::IndexFileWriter;

use crate::block::{Block, PADDING, Shape};
use crate::block_cache::BlockCache;
use crate::filter;
use crate::footer::{self, FORMAT_VERSION, Footer, Unreadable};
use crate::meta::FileMeta;
use crate::source::BlockSource;
use crate::stored::{Handle, Role};
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::get_number;
use alluvium_codec::{DecodeError, varint};
use alluvium_env::{Env, Error, File, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;

/// The first bytes of the aux block of an index file.
pub(crate) const TAG: &[u8; 8] = b"alvindex";

/// The bytes at the end of a file that open reads first.
const TAIL_BYTES: u64 = 8 << 10;

/// The metadata of an index file, kept next to the metadata of the sorted file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexFileMeta {
    /// The file's number.
    pub number: u64,
    /// The file's length in bytes.
    pub bytes: u64,
    /// The checksum of the file's footer, which covers the checksums of all blocks.
    pub footer_checksum: u64,
    /// The number of entries of the sorted file that an index entry covers.
    pub interval: u64,
    /// The number of index entries.
    pub extents: u64,
}

impl IndexFileMeta {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for value in [self.number, self.bytes, self.interval, self.extents] {
            varint::put_u64(out, value);
        }
        out.extend_from_slice(&self.footer_checksum.to_le_bytes());
    }

    /// Takes the output of [`IndexFileMeta::encode`] from the front of `input`.
    ///
    /// # Errors
    /// [`DecodeError`] if the input ends within it or a number is out of range.
    pub fn decode(input: &mut &[u8]) -> alluvium_codec::Result<Self> {
        let number = get_number(input, "a file number")?;
        let bytes = get_number(input, "the length of a file")?;
        let interval = get_number(input, "an interval")?;
        let extents = get_number(input, "a number of index entries")?;
        let (checksum, rest) = input.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
        *input = rest;
        Ok(Self { number, bytes, footer_checksum: u64::from_le_bytes(*checksum), interval, extents })
    }
}

/// Returns true if the file is an index file, whatever its name is; its footer and its aux block
/// must be whole.
///
/// # Errors
/// The error of opening the file.
pub fn is_index_file(env: &Env, path: &Path) -> Result<bool> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let file_len = file.len()?;
    let tail_at = file_len.saturating_sub(footer::LEN as u64);
    let mut tail = vec![0; (file_len - tail_at) as usize];
    file.read_exact_at(&mut tail, tail_at)?;
    let number = tail.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let Ok((footer, _)) = Footer::decode(&tail, file_len, number) else { return Ok(false) };
    let aux = BlockSource::new(&*file, number).read(footer.aux, Role::Aux, None);
    Ok(aux.is_ok_and(|aux| aux.starts_with(TAG)))
}

/// Consecutive data blocks.
pub(crate) struct Extent {
    pub(crate) blocks: Vec<Handle>,
}

/// An open index file. All methods may be called from any thread.
pub struct IndexFile {
    file: Arc<dyn File>,
    meta: IndexFileMeta,
    cache: Arc<dyn BlockCache>,
    footer: Footer,
    top: Block,
}

impl IndexFile {
    /// Opens the index file `meta` of the sorted file `data`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `meta` does not describe the file, if the file does not belong to
    /// `data`, or if it is damaged; [`Error::NewerFormat`] if this build is too old for it;
    /// [`Error::Io`].
    pub fn open(
        env: &Env,
        path: &Path,
        meta: &IndexFileMeta,
        data: &FileMeta,
        cache: Arc<dyn BlockCache>,
    ) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let file_len = file.len()?;
        let tail_at = file_len.saturating_sub(TAIL_BYTES);
        let mut tail = vec![0; (file_len - tail_at) as usize];
        file.read_exact_at(&mut tail, tail_at)?;
        let (footer, checksum) = Footer::decode(&tail, file_len, meta.number).map_err(|reason| match reason {
            Unreadable::Damaged(what) => Error::corrupt(path, file_len.saturating_sub(footer::LEN as u64), what),
            Unreadable::Newer(found) => Error::NewerFormat { path: path.to_owned(), found, supported: FORMAT_VERSION },
        })?;
        if footer.bytes != meta.bytes || checksum != meta.footer_checksum {
            return Err(Error::corrupt(path, 0, "this is not the index file that was written with the data"));
        }
        let source = BlockSource::new(&*file, meta.number).with_bytes(&tail, tail_at);
        let mut aux = source.read(footer.aux, Role::Aux, None)?;
        aux.truncate(aux.len() - PADDING);
        if aux != writer::aux(meta.interval, data) {
            return Err(Error::corrupt(path, footer.aux.offset, "an index file of other data"));
        }
        let invalid = |what: &dyn std::fmt::Display| Error::corrupt(path, footer.index.offset, what.to_string());
        let content = source.read(footer.index, Role::Index, None)?;
        let top = Block::decode(content, Shape::Entries).map_err(|error| invalid(&error))?;
        let index = Self { file: file.clone(), meta: meta.clone(), cache, footer, top };
        let mut end = 0;
        for at in 0..index.top.len() {
            let handle = index.partition_handle(at);
            if index.top.direct_value(at).len() != 20 || handle.offset != end || handle.len == 0 {
                return Err(invalid(&"the places of index partitions"));
            }
            end = handle.end();
        }
        if end != footer.data_end() {
            return Err(invalid(&"the places of index partitions"));
        }
        Ok(index)
    }

    /// The metadata of the file.
    pub fn meta(&self) -> &IndexFileMeta {
        &self.meta
    }

    /// The memory that the index itself holds, in bytes: its top level. Partitions are in the block
    /// cache while they are used.
    pub fn pinned_bytes(&self) -> usize {
        std::mem::size_of::<Self>() + self.top.weight()
    }

    /// False if no version of `key` is in the data; uses only the filter. `hash` is
    /// `alluvium_codec::hash64(key)`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`].
    pub fn may_contain(&self, key: &[u8], hash: u64) -> Result<bool> {
        match self.top.floor(key, alluvium_codec::entry::MAX_SEQ) {
            Some(at) => Ok(filter::contains(self.partition(at)?.filter(), hash)),
            None => Ok(false),
        }
    }

    /// The extent that may hold (`key`, `seq`).
    pub(crate) fn find(&self, key: &[u8], hash: u64, seq: Seq) -> Result<Option<Extent>> {
        let Some(at) = self.top.floor(key, seq) else { return Ok(None) };
        let partition = self.partition(at)?;
        if !filter::contains(partition.filter(), hash) {
            return Ok(None);
        }
        match partition.floor(key, seq) {
            Some(index) => self.extent(at, &partition, index).map(Some),
            None => Ok(None),
        }
    }

    /// The location of partition `at`.
    fn partition_handle(&self, at: usize) -> Handle {
        let value = self.top.direct_value(at);
        let offset = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let len = value.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        Handle { offset, len }
    }

    /// The start, in the data, of the region of partition `at`.
    fn region_start(&self, at: usize) -> u64 {
        self.top.direct_value(at).last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Extent `index` of partition `at`.
    fn extent(&self, at: usize, partition: &Block, index: usize) -> Result<Extent> {
        let damaged = || self.corrupt(self.partition_handle(at).offset, "the place of an extent");
        let value = partition.direct_value(index);
        let (offset, mut lens) = value.split_first_chunk().ok_or_else(damaged)?;
        let mut offset =
            self.region_start(at).checked_add(u64::from(u32::from_le_bytes(*offset))).ok_or_else(damaged)?;
        let mut blocks = Vec::with_capacity(1);
        while !lens.is_empty() {
            let mut next = || varint::get_u64(&mut lens).map_err(|_| damaged());
            let len = next()?;
            let gap = if len & 1 == 1 { next()? } else { 0 };
            let offset_now = offset.checked_add(gap).ok_or_else(damaged)?;
            let block = Handle { offset: offset_now, len: u32::try_from(len >> 1).map_err(|_| damaged())? };
            offset = block.end();
            blocks.push(block);
        }
        if blocks.is_empty() { Err(damaged()) } else { Ok(Extent { blocks }) }
    }

    fn corrupt(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::corrupt(self.file.path(), offset, what)
    }

    /// Partition `at`, through the cache.
    fn partition(&self, at: usize) -> Result<Arc<Block>> {
        let handle = self.partition_handle(at);
        if let Some(block) = self.cache.get(self.meta.number, handle.offset) {
            return Ok(block);
        }
        let (block, _) = self.read_partition(at)?;
        let block = Arc::new(block);
        self.cache.insert(self.meta.number, handle.offset, &block);
        Ok(block)
    }

    /// Partition `at` from the file, and its checksum.
    fn read_partition(&self, at: usize) -> Result<(Block, u32)> {
        let handle = self.partition_handle(at);
        let source = BlockSource::new(&*self.file, self.meta.number);
        let (content, checksum) = source.read_with_checksum(handle, Role::Partition, None)?;
        let block =
            Block::decode(content, Shape::Partition).map_err(|error| self.corrupt(handle.offset, error.to_string()))?;
        if filter::is_sound(block.filter()) {
            return Ok((block, checksum));
        }
        Err(self.corrupt(handle.offset, "a filter's length"))
    }
}

#[cfg(test)]
mod tests;
