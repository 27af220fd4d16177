//! Reading a file.

use crate::block::{Block, Shape};
use crate::block_cache::BlockCache;
use crate::dictionary::{Dictionary, DictionaryRegistry};
use crate::filter;
use crate::footer::{self, FORMAT_VERSION, Footer, Unreadable};
use crate::held::Held;
use crate::index::{self, TopIndex};
use crate::meta::FileMeta;
use crate::properties::Properties;
use crate::source::BlockSource;
use crate::stored::{Handle, Role};
use alluvium_codec::entry::{Kind, MAX_SEQ, Seq};
use alluvium_env::{Env, Error, File, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;

/// The bytes at the end of a file that open reads first. They hold the footer, and in most files
/// also the top-level index.
const TAIL_BYTES: u64 = 8 << 10;

/// An open file. Shared as `Arc<Reader>`; all methods may be called from any thread.
pub struct Reader {
    pub(crate) file: Arc<dyn File>,
    pub(crate) meta: FileMeta,
    pub(crate) cache: Arc<dyn BlockCache>,
    pub(crate) footer: Footer,
    pub(crate) top: TopIndex,
    pub(crate) dictionary: Option<Arc<Dictionary>>,
    pub(crate) held: Arc<Held>,
}

impl Reader {
    /// Opens a file that the manifest describes as `meta`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `meta` does not describe the file, or if it is damaged;
    /// [`Error::NewerFormat`] if this build is too old for it; [`Error::Io`].
    pub fn open(
        env: &Env,
        path: &Path,
        meta: &FileMeta,
        cache: Arc<dyn BlockCache>,
        dictionaries: &DictionaryRegistry,
    ) -> Result<Self> {
        let (reader, checksum) = Self::open_footer(env, path, meta.number, cache, dictionaries)?;
        let footer = &reader.footer;
        if footer.bytes != meta.bytes || checksum != meta.footer_checksum || footer.dictionary_id != meta.dictionary_id
        {
            return Err(Error::corrupt(path, 0, "this is not the file that the manifest names"));
        }
        Ok(Self { meta: meta.clone(), ..reader })
    }

    /// Opens a file that no manifest describes, for salvage. Only its number is known, from its
    /// name; all other metadata is read from the file.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_unlisted(
        env: &Env,
        path: &Path,
        number: u64,
        cache: Arc<dyn BlockCache>,
        dictionaries: &DictionaryRegistry,
    ) -> Result<Self> {
        let (reader, checksum) = Self::open_footer(env, path, number, cache, dictionaries)?;
        let mut meta = reader.properties()?.meta;
        meta.footer_checksum = checksum;
        Ok(Self { meta, ..reader })
    }

    /// Opens a file with this number. `meta` has only the values that the footer contains.
    fn open_footer(
        env: &Env,
        path: &Path,
        number: u64,
        cache: Arc<dyn BlockCache>,
        dictionaries: &DictionaryRegistry,
    ) -> Result<(Self, u64)> {
        let file = env.fs.open(path, OpenMode::Read)?;
        let file_len = file.len()?;
        let tail_at = file_len.saturating_sub(TAIL_BYTES);
        let mut tail = vec![0; (file_len - tail_at) as usize];
        file.read_exact_at(&mut tail, tail_at)?;
        let (footer, checksum) = Footer::decode(&tail, file_len, number).map_err(|reason| match reason {
            Unreadable::Damaged(what) => Error::corrupt(path, file_len.saturating_sub(footer::LEN as u64), what),
            Unreadable::Newer(found) => Error::NewerFormat { path: path.to_owned(), found, supported: FORMAT_VERSION },
        })?;
        let source = BlockSource::new(&*file, number).with_bytes(&tail, tail_at);
        let content = source.read(footer.index, Role::Index, None)?;
        let top = TopIndex::decode(content, footer.data_end())
            .map_err(|error| Error::corrupt(path, footer.index.offset, error.to_string()))?;
        let dictionary = match footer.dictionary_id {
            0 => None,
            id => Some(match dictionaries.get(id) {
                Some(dictionary) => dictionary,
                None => dictionaries.intern(source.read_dictionary(&footer)?),
            }),
        };
        let meta = FileMeta { number, bytes: footer.bytes, ..FileMeta::default() };
        let held = Held::new(top.len(), cache.holder().cloned());
        Ok((Self { file, meta, cache, footer, top, dictionary, held }, checksum))
    }

    /// Finds the newest version of `key` not above `seq`. Returns its number and kind, and replaces
    /// `value` by its value. `hash` is `alluvium_codec::hash64(key)`. If there is no such version,
    /// `value` is unchanged.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`].
    pub fn get(&self, key: &[u8], hash: u64, seq: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, Kind)>> {
        if seq < self.meta.min_seq {
            return Ok(None);
        }
        let Some(partition_index) = self.top.find(key, seq) else { return Ok(None) };
        let held = self.held.get(partition_index);
        let loaded;
        let partition = match &*held {
            Some(partition) => {
                self.cache.note_held();
                partition
            }
            None => {
                loaded = self.load_partition(partition_index, true)?;
                &loaded
            }
        };
        if !filter::contains(partition.filter(), hash) {
            return Ok(None);
        }
        let Some(index) = partition.floor(key, seq) else { return Ok(None) };
        let handle = self.data_handle(partition_index, partition, index)?;
        Ok(self.cached_for_get(handle, Role::Data, Shape::Entries)?.get(key, seq, value))
    }

    /// False if no version of `key` is in the file; uses only the filter. `hash` is
    /// `alluvium_codec::hash64(key)`.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn may_contain(&self, key: &[u8], hash: u64) -> Result<bool> {
        match self.top.find(key, MAX_SEQ) {
            Some(index) => Ok(filter::contains(self.partition(index)?.filter(), hash)),
            None => Ok(false),
        }
    }

    /// Returns the answer of the filter about `key`; reads no data block. `hash` is `alluvium_codec::hash64(key)`.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn trace(&self, key: &[u8], hash: u64) -> Result<Trace> {
        let Some(index) = self.top.find(key, MAX_SEQ) else { return Ok(Trace::Absent) };
        let partition = self.partition(index)?;
        Ok(match filter::contains(partition.filter(), hash) {
            false => Trace::Absent,
            true if filter::contains(partition.filter(), filter::mark_of(hash)) => Trace::Rewritten,
            true => Trace::Written,
        })
    }

    /// True if the filter has the mark of a rewritten key for `key`, as for [`Trace::Rewritten`]; reads no data block.
    /// `hash` is `alluvium_codec::hash64(key)`.
    ///
    /// # Errors
    /// As [`Reader::get`].
    #[inline]
    pub fn is_marked(&self, key: &[u8], hash: u64) -> Result<bool> {
        let Some(index) = self.top.find(key, MAX_SEQ) else { return Ok(false) };
        if let Some(partition) = &*self.held.get(index) {
            self.cache.note_held();
            return Ok(filter::contains(partition.filter(), filter::mark_of(hash)));
        }
        Ok(filter::contains(self.load_partition(index, false)?.filter(), filter::mark_of(hash)))
    }

    /// The approximate number of entries from `lower` to below `upper`. The number is exact within
    /// a block; otherwise it is computed from the number of blocks in between and the number of
    /// entries of a block in the middle. Reads this block and the blocks at both ends.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn entries_between(&self, lower: &[u8], upper: &[u8]) -> Result<u64> {
        if lower >= upper {
            return Ok(0);
        }
        // The position of a higher key is never before the position of a lower key, even if bounds and entries are out
        // of order.
        let (from, to) = (self.position(lower)?, self.position(upper)?);
        if (from.partition, from.block) == (to.partition, to.block) {
            return Ok((to.before - from.before) as u64);
        }
        let blocks = match to.partition - from.partition {
            0 => to.block - from.block - 1,
            partitions => (from.blocks - from.block - 1) + (partitions - 1) * from.blocks + to.block,
        };
        // Blocks at the ends also hold other keys, which may be packed quite differently.
        let typical = if blocks == 0 { 0 } else { self.entries_in_the_middle(&from, &to)? };
        Ok((from.entries - from.before + blocks * typical + to.before) as u64)
    }

    /// The number of entries of a block about halfway between two positions in different blocks.
    fn entries_in_the_middle(&self, from: &EntryPosition, to: &EntryPosition) -> Result<usize> {
        let index = (from.partition + to.partition).div_ceil(2);
        let partition = self.partition(index)?;
        let block = match (index == from.partition, index == to.partition) {
            (true, _) => (from.block + to.block) / 2,
            (false, true) => to.block / 2,
            (false, false) => partition.len() / 2,
        };
        let handle = self.data_handle(index, &partition, block)?;
        Ok(self.cached(handle, Role::Data, Shape::Entries)?.len())
    }

    /// The position of the first entry at or above `key`.
    fn position(&self, key: &[u8]) -> Result<EntryPosition> {
        let partition_index = self.top.find(key, MAX_SEQ).unwrap_or(0);
        let partition = self.partition(partition_index)?;
        let index = partition.floor(key, MAX_SEQ).unwrap_or(0);
        let handle = self.data_handle(partition_index, &partition, index)?;
        let block = self.cached(handle, Role::Data, Shape::Entries)?;
        let before = block.count_below(key);
        Ok(EntryPosition {
            partition: partition_index,
            block: index,
            blocks: partition.len(),
            before,
            entries: block.len(),
        })
    }

    /// The memory that the reader itself holds, in bytes: the top-level index and keys. The
    /// dictionary is shared, and counted by its registry.
    pub fn pinned_bytes(&self) -> usize {
        let keys = self.meta.smallest.capacity() + self.meta.largest.capacity();
        size_of::<Self>() + self.top.weight() + self.held.bytes() + keys
    }

    /// The metadata of the file.
    pub fn meta(&self) -> &FileMeta {
        &self.meta
    }

    /// The file's dictionary.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.dictionary.as_ref()
    }

    /// The opaque bytes given to the writer.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn aux(&self) -> Result<Vec<u8>> {
        self.section(self.footer.aux, Role::Aux)
    }

    /// The properties of the file.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn properties(&self) -> Result<Properties> {
        let at = self.footer.properties;
        let content = self.section(at, Role::Properties)?;
        let mut properties =
            Properties::decode(&content).map_err(|error| self.corrupt(at.offset, error.to_string()))?;
        properties.meta.bytes = self.footer.bytes;
        properties.meta.footer_checksum = self.meta.footer_checksum;
        Ok(properties)
    }

    fn section(&self, at: Handle, role: Role) -> Result<Vec<u8>> {
        let mut content = self.source().read(at, role, self.dictionary.as_deref())?;
        content.truncate(content.len() - crate::block::PADDING);
        Ok(content)
    }

    pub(crate) fn source(&self) -> BlockSource<'_> {
        BlockSource::new(&*self.file, self.meta.number)
    }

    pub(crate) fn corrupt(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::corrupt(self.file.path(), offset, what)
    }

    /// Returns index partition `index`, which is held by the file, cached, or read from the file.
    pub(crate) fn partition(&self, index: usize) -> Result<Arc<Block>> {
        match &*self.held.get(index) {
            Some(partition) => {
                self.cache.note_held();
                Ok(partition.clone())
            }
            None => self.load_partition(index, false),
        }
    }

    /// Returns index partition `index` from the cache or from the file. After a read, the file
    /// holds it if the limit allows.
    #[cold]
    fn load_partition(&self, index: usize, for_get: bool) -> Result<Arc<Block>> {
        let at = self.top.partition(index);
        if let Some(block) = self.cache.get(self.meta.number, at.offset) {
            return Ok(block);
        }
        if for_get {
            self.cache.note_read_by_get();
        }
        let content = self.source().read(at, Role::Partition, self.dictionary.as_deref())?;
        let block = Arc::new(self.decode(content, Shape::Partition, at)?);
        self.keep_partition(index, &block);
        Ok(block)
    }

    /// Holds a partition that was read, or adds it to the cache.
    pub(crate) fn keep_partition(&self, index: usize, block: &Arc<Block>) {
        if !self.held.put(index, block) {
            self.cache.insert(self.meta.number, self.top.partition(index).offset, block);
        }
    }

    /// The number of index partitions.
    pub(crate) fn partitions(&self) -> usize {
        self.top.len()
    }

    /// A data block, read without the cache.
    pub(crate) fn read_data_block(&self, at: Handle) -> Result<Block> {
        let content = self.source().read(at, Role::Data, self.dictionary.as_deref())?;
        self.decode(content, Shape::Entries, at)
    }

    /// The location of data block `index` of a partition.
    #[inline]
    pub(crate) fn data_handle(&self, partition_index: usize, partition: &Block, index: usize) -> Result<Handle> {
        let partition_at = self.top.partition(partition_index).offset;
        index::data_block(partition, index, self.top.region_start(partition_index), partition_at)
            .ok_or_else(|| self.corrupt(partition_at, "the places of data blocks"))
    }

    /// Returns a block from the cache, or reads it and adds it to the cache.
    #[inline]
    pub(crate) fn cached(&self, at: Handle, role: Role, shape: Shape) -> Result<Arc<Block>> {
        match self.cache.get(self.meta.number, at.offset) {
            Some(block) => Ok(block),
            None => self.read_into_cache(at, role, shape),
        }
    }

    /// As [`Reader::cached`], for point reads: a block that has to be read is counted.
    fn cached_for_get(&self, at: Handle, role: Role, shape: Shape) -> Result<Arc<Block>> {
        match self.cache.get(self.meta.number, at.offset) {
            Some(block) => Ok(block),
            None => {
                self.cache.note_read_by_get();
                self.read_into_cache(at, role, shape)
            }
        }
    }

    #[cold]
    fn read_into_cache(&self, at: Handle, role: Role, shape: Shape) -> Result<Arc<Block>> {
        let content = self.source().read(at, role, self.dictionary.as_deref())?;
        let block = Arc::new(self.decode(content, shape, at)?);
        self.cache.insert(self.meta.number, at.offset, &block);
        Ok(block)
    }

    /// Decodes the content of a block.
    pub(crate) fn decode(&self, content: Vec<u8>, shape: Shape, at: Handle) -> Result<Block> {
        let block = Block::decode(content, shape).map_err(|error| self.corrupt(at.offset, error.to_string()))?;
        if filter::is_sound(block.filter()) { Ok(block) } else { Err(self.corrupt(at.offset, "a filter's length")) }
    }
}

/// The answer of a file's filter about a key. A filter may claim more versions than the file has,
/// but never fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// The file has no version of the key.
    Absent,
    /// The file may have a version.
    Written,
    /// The file may have a version, and the newest may be a [`Kind::Delta`] or [`Kind::Folded`] entry: the key was
    /// rewritten. Only files that format version 2 of the manifest describes have these marks.
    Rewritten,
}

/// A position among the entries of a file.
struct EntryPosition {
    /// The index partition, the block in it, and its number of blocks.
    partition: usize,
    block: usize,
    blocks: usize,
    /// The number of entries before the position in its block, and the number of all entries of the
    /// block.
    before: usize,
    entries: usize,
}
