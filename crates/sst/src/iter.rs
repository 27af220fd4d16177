//! Iterating over a file.

use crate::block::{Block, Cursor, Shape};
use crate::reader::Reader;
use crate::stored::{Handle, Role};
use alluvium_codec::entry::{EntryIter, Kind, MAX_SEQ, Seq};
use alluvium_env::Result;
use std::sync::Arc;

/// The most bytes that are read ahead at once.
const AHEAD_BYTES: u64 = 256 << 10;

/// The length of the first read-ahead of a short scan; it doubles with each further read.
const FIRST_AHEAD_BYTES: u64 = 16 << 10;

/// The number of blocks that a scan with a filled cache reads one by one before it reads ahead.
const PATIENCE: u32 = 2;

/// An iterator over all entries of a file, all versions and tombstones included.
///
/// Holds the current data block and index partition itself. With `fill_cache`, blocks are read
/// through the cache, and several are read at once only after some were read in order. Without it,
/// nothing is added to the cache, and 256 KiB are read at once from the start; blocks that are
/// cached already are still used. After an error the iterator is not valid.
pub struct SstIter {
    reader: Arc<Reader>,
    fill_cache: bool,
    partition: Option<(usize, Arc<Block>)>,
    /// The data block and its index in the partition.
    data: Option<(usize, Arc<Block>)>,
    cursor: Cursor,
    valid: bool,
    ahead: Ahead,
}

/// Bytes of the file that were read ahead.
#[derive(Default)]
struct Ahead {
    bytes: Vec<u8>,
    offset: u64,
    /// The end of the last block that was read, where the next block may begin.
    last_end: u64,
    /// The number of blocks that were read in order.
    in_order: u32,
}

impl Reader {
    /// Returns an iterator, not positioned. `fill_cache` is for reads that are worth caching.
    /// Without it, nothing is added to the cache, and several blocks are read ahead at once.
    pub fn iter(self: &Arc<Self>, fill_cache: bool) -> SstIter {
        SstIter::new(self.clone(), fill_cache)
    }
}

impl SstIter {
    pub(crate) fn new(reader: Arc<Reader>, fill_cache: bool) -> Self {
        Self {
            reader,
            fill_cache,
            partition: None,
            data: None,
            cursor: Cursor::new(),
            valid: false,
            ahead: Ahead::default(),
        }
    }

    /// Makes partition `index` the current one.
    fn load_partition(&mut self, index: usize) -> Result<Arc<Block>> {
        if let Some((current, block)) = &self.partition
            && *current == index
        {
            return Ok(block.clone());
        }
        let top = &self.reader.top;
        let (at, region_start) = (top.partition(index), top.region_start(index));
        if index > 0 && self.ahead.last_end == top.partition(index - 1).offset {
            // The scan was at the previous data block: only the partition is in between.
            self.ahead.last_end = region_start;
        }
        if let Some(block) = &*self.reader.held.get(index) {
            self.reader.cache.note_held();
            return Ok(self.enter_partition(index, block.clone()));
        }
        // A scan also needs the data blocks, which precede their partition.
        let from = if self.ahead.last_end == region_start { region_start } else { at.offset };
        let block = self.load(at, Some(index), from)?;
        Ok(self.enter_partition(index, block))
    }

    fn enter_partition(&mut self, index: usize, block: Arc<Block>) -> Arc<Block> {
        self.partition = Some((index, block.clone()));
        self.data = None;
        block
    }

    /// Makes a data block the current one.
    fn load_data(&mut self, partition_index: usize, index: usize) -> Result<Arc<Block>> {
        let partition = self.load_partition(partition_index)?;
        if let Some((current, block)) = &self.data
            && *current == index
        {
            return Ok(block.clone());
        }
        let at = self.reader.data_handle(partition_index, &partition, index)?;
        let block = self.load(at, None, at.offset)?;
        self.data = Some((index, block.clone()));
        Ok(block)
    }

    /// Reads a data block, or the index partition `partition`, from the cache, from the read-ahead
    /// buffer or from the file. A read from the file may include the bytes from `from` on.
    fn load(&mut self, at: Handle, partition: Option<usize>, from: u64) -> Result<Arc<Block>> {
        let (role, shape) = match partition {
            Some(_) => (Role::Partition, Shape::Partition),
            None => (Role::Data, Shape::Entries),
        };
        let in_order = from == self.ahead.last_end;
        if role == Role::Data {
            self.ahead.last_end = at.end();
        }
        let reader = &self.reader;
        if let Some(block) = reader.cache.get(reader.meta.number, at.offset) {
            return Ok(block);
        }
        if !self.ahead.has(at) {
            self.read_ahead(at, role, from, in_order)?;
        }
        if role == Role::Data {
            self.ahead.in_order = if in_order { self.ahead.in_order + 1 } else { 0 };
        }
        let reader = &self.reader;
        let source = reader.source().with_bytes(&self.ahead.bytes, self.ahead.offset);
        let content = source.read(at, role, reader.dictionary.as_deref())?;
        let block = Arc::new(reader.decode(content, shape, at)?);
        match partition {
            _ if !self.fill_cache => {}
            Some(index) => reader.keep_partition(index, &block),
            None => reader.cache.insert(reader.meta.number, at.offset, &block),
        }
        Ok(block)
    }

    /// Fills the buffer from `from` on, if the scan is likely to continue and the buffer then holds
    /// the block at `at`.
    fn read_ahead(&mut self, at: Handle, role: Role, from: u64, in_order: bool) -> Result<()> {
        let wanted = match self.fill_cache {
            // A seek has read the partition: its data blocks are elsewhere.
            false if role == Role::Partition && !in_order => 0,
            false => AHEAD_BYTES,
            true if !in_order || self.ahead.in_order < PATIENCE => 0,
            true => (FIRST_AHEAD_BYTES << (self.ahead.in_order - PATIENCE).min(4)).min(AHEAD_BYTES),
        };
        let end = (from + wanted).min(self.reader.footer.data_end());
        if at.end() > end {
            return Ok(());
        }
        // The buffer is taken out, so that after an error the old bytes are not mistaken for the
        // new ones.
        let mut bytes = std::mem::take(&mut self.ahead.bytes);
        bytes.resize((end - from) as usize, 0);
        self.reader.file.read_exact_at(&mut bytes, from)?;
        self.ahead.bytes = bytes;
        self.ahead.offset = from;
        Ok(())
    }

    /// Moves to entry `entry` of a data block.
    fn settle(&mut self, block: &Block, entry: usize) {
        self.cursor.move_to(block, entry);
        self.valid = true;
    }

    /// Moves to the first entry of the next data block.
    fn next_block(&mut self) -> Result<()> {
        self.valid = false;
        let (Some((partition_index, partition)), Some((index, _))) = (&self.partition, &self.data) else {
            return Ok(());
        };
        let (mut partition_index, mut index) = (*partition_index, *index + 1);
        if index >= partition.len() {
            (partition_index, index) = (partition_index + 1, 0);
        }
        if partition_index >= self.reader.top.len() {
            return Ok(());
        }
        let block = self.load_data(partition_index, index)?;
        self.settle(&block, 0);
        Ok(())
    }

    /// Moves to the last entry of the previous data block.
    fn prev_block(&mut self) -> Result<()> {
        self.valid = false;
        let (Some((partition_index, _)), Some((index, _))) = (&self.partition, &self.data) else {
            return Ok(());
        };
        let (partition_index, index) = match (*partition_index, *index) {
            (0, 0) => return Ok(()),
            (partition_index, 0) => {
                let before = partition_index - 1;
                (before, self.load_partition(before)?.len() - 1)
            }
            (partition_index, index) => (partition_index, index - 1),
        };
        let block = self.load_data(partition_index, index)?;
        self.settle(&block, block.len() - 1);
        Ok(())
    }

    /// Loads the data block that may hold (`key`, `seq`); `None` if that position is before all
    /// entries.
    fn find_block(&mut self, key: &[u8], seq: Seq) -> Result<Option<Arc<Block>>> {
        self.valid = false;
        let Some(partition_index) = self.reader.top.find(key, seq) else { return Ok(None) };
        let partition = self.load_partition(partition_index)?;
        // The first bounds of a partition are equal on both levels, so such a block always exists.
        let index = partition.floor(key, seq).unwrap_or(0);
        self.load_data(partition_index, index).map(Some)
    }
}

impl Ahead {
    /// True if the whole block is in the buffer.
    fn has(&self, at: Handle) -> bool {
        at.offset >= self.offset && at.end() <= self.offset + self.bytes.len() as u64
    }
}

impl EntryIter for SstIter {
    type Error = alluvium_env::Error;

    fn seek_first(&mut self) -> Result<()> {
        self.valid = false;
        let block = self.load_data(0, 0)?;
        self.settle(&block, 0);
        Ok(())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.valid = false;
        let partition_index = self.reader.top.len() - 1;
        let index = self.load_partition(partition_index)?.len() - 1;
        let block = self.load_data(partition_index, index)?;
        self.settle(&block, block.len() - 1);
        Ok(())
    }

    fn seek(&mut self, key: &[u8], seq: Seq) -> Result<()> {
        let Some(block) = self.find_block(key, seq)? else { return self.seek_first() };
        let found = block.lower_bound(key, seq);
        if found.index < block.len() {
            self.settle(&block, found.index);
            return Ok(());
        }
        self.next_block()
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let Some(block) = self.find_block(key, MAX_SEQ)? else { return Ok(()) };
        // Sequence numbers end at MAX_SEQ, so the first entry at or after (key, MAX_SEQ) is the
        // key's first.
        match block.lower_bound(key, MAX_SEQ).index.checked_sub(1) {
            Some(entry) => {
                self.settle(&block, entry);
                Ok(())
            }
            None => self.prev_block(),
        }
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        match &self.data {
            Some((_, block)) if self.cursor.next(block) => Ok(()),
            _ => self.next_block(),
        }
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        match &self.data {
            Some((_, block)) if self.cursor.prev(block) => Ok(()),
            _ => self.prev_block(),
        }
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        if self.valid { self.cursor.key() } else { &[] }
    }

    #[inline]
    fn seq(&self) -> Seq {
        if self.valid { self.cursor.seq() } else { 0 }
    }

    #[inline]
    fn kind(&self) -> Kind {
        self.cursor.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match &self.data {
            Some((_, block)) if self.valid => self.cursor.value(block),
            _ => &[],
        }
    }
}
