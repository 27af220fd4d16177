//! The documents of a partition of `$setWindowFields`, in memory or in a file, by their positions.

use super::gather::Held;
use super::host::Host;
use super::run::Run;
use crate::limits::Limits;
use crate::source::Blocks;
use alluvium_document::{Value, encoding};
use alluvium_query::pipeline::{PipelineError, Record};
use std::collections::BTreeMap;

/// The purpose that errors name.
const PURPOSE: &str = "a partition of $setWindowFields";

/// A block ends after the document that reaches one of two limits: the bytes in the file, and a part of the memory for
/// documents, so that several blocks fit into memory.
const BLOCK_BYTES: usize = 32 << 10;
const BLOCKS_IN_MEMORY: usize = 16;

/// The memory for the place of a block.
const PLACE_BYTES: usize = 40;

/// The documents of a partition in order.
pub(super) enum Partitioned<H: Host> {
    /// Documents in memory, with the account of their memory, unless the stage that sorted them counts it.
    Memory(Vec<Record>, Option<Held<H>>),
    File(InFile<H>),
}

impl<H: Host> Partitioned<H> {
    /// A partition without documents. If `counted` is true, other code counts the memory of its documents.
    pub fn new(run: &Run<H>, counted: bool) -> Self {
        Self::Memory(Vec::new(), (!counted).then(|| Held::new(run, PURPOSE)))
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(records, _) => records.len(),
            Self::File(file) => file.len,
        }
    }

    /// Appends a document. Continues in a file if the documents do not fit into memory. `bytes` is the memory of all
    /// documents of the partition that are in memory.
    pub fn push(&mut self, run: &Run<H>, record: Record, bytes: usize) -> Result<(), H::Error> {
        let (records, held) = match self {
            Self::File(file) => return file.push(&run.settings.limits, record),
            Self::Memory(records, held) => (records, held),
        };
        records.push(record);
        let Some(held) = held else { return Ok(()) };
        if held.fits(bytes) {
            return Ok(());
        }
        let memory = held.for_files()?;
        let mut file = InFile::new(run, memory);
        for record in std::mem::take(records) {
            file.push(&run.settings.limits, record)?;
        }
        *self = Self::File(file);
        Ok(())
    }

    /// Must be called after the last document.
    pub fn finish(&mut self, limits: &Limits) -> Result<(), H::Error> {
        match self {
            Self::File(file) => file.write(limits),
            Self::Memory(..) => Ok(()),
        }
    }

    /// The document at a position.
    pub fn document(&mut self, limits: &Limits, at: usize) -> Result<&Record, H::Error> {
        let record = match self {
            Self::Memory(records, _) => records.get(at),
            Self::File(file) => file.document(limits, at)?,
        };
        Ok(record.ok_or_else(PipelineError::damaged_file)?)
    }
}

/// Documents in a file. The documents of the blocks that were used last are in memory.
pub(super) struct InFile<H: Host> {
    blocks: H::Blocks,
    /// The position of the first document of each block.
    starts: Vec<usize>,
    /// The number of documents.
    len: usize,
    /// The block that is not full, and the memory that its documents take.
    last: Vec<u8>,
    last_memory: usize,
    /// Blocks in memory, by their numbers.
    cache: BTreeMap<usize, Cached>,
    /// The memory of the cache and of the places, and its limit, which one large block may exceed.
    bytes: usize,
    bytes_max: usize,
    held: Held<H>,
    /// The number of blocks that were looked up.
    uses: u64,
    /// The number of the block that was looked up last.
    current: usize,
}

/// The documents of a block.
struct Cached {
    records: Vec<Record>,
    bytes: usize,
    /// The number of the last look-up that used the block.
    used: u64,
}

impl<H: Host> InFile<H> {
    fn new(run: &Run<H>, bytes_max: usize) -> Self {
        Self {
            blocks: run.host.blocks(PURPOSE),
            starts: Vec::new(),
            len: 0,
            last: Vec::new(),
            last_memory: 0,
            cache: BTreeMap::new(),
            bytes: 0,
            bytes_max,
            held: Held::in_memory(run, PURPOSE),
            uses: 0,
            current: 0,
        }
    }

    fn push(&mut self, limits: &Limits, record: Record) -> Result<(), H::Error> {
        if self.last.is_empty() {
            self.starts.push(self.len);
            self.bytes += PLACE_BYTES;
            self.held.set(self.bytes)?;
        }
        let record = Record::Map(record.into_map().map_err(PipelineError::from)?);
        self.last_memory += record.bytes();
        if let Record::Map(map) = &record {
            encoding::encode_map(map, &mut self.last);
        }
        self.len += 1;
        let is_full = self.last.len() >= BLOCK_BYTES || self.last_memory >= self.bytes_max / BLOCKS_IN_MEMORY;
        if is_full { self.write(limits) } else { Ok(()) }
    }

    fn write(&mut self, limits: &Limits) -> Result<(), H::Error> {
        if !self.last.is_empty() {
            self.blocks.push(limits, &self.last)?;
            (self.last, self.last_memory) = (Vec::new(), 0);
        }
        Ok(())
    }

    fn document(&mut self, limits: &Limits, at: usize) -> Result<Option<&Record>, H::Error> {
        let is_current = |start: &usize| *start <= at && self.starts.get(self.current + 1).is_none_or(|end| at < *end);
        if !self.starts.get(self.current).is_some_and(is_current) {
            self.current = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
            self.uses += 1;
            match self.cache.get_mut(&self.current) {
                Some(cached) => cached.used = self.uses,
                None => self.load(limits, self.current)?,
            }
        } else if !self.cache.contains_key(&self.current) {
            self.load(limits, self.current)?;
        }
        let start = self.starts.get(self.current).copied().unwrap_or_default();
        Ok(self.cache.get(&self.current).and_then(|cached| cached.records.get(at.checked_sub(start)?)))
    }

    /// Reads a block. It replaces the blocks that were not used for the longest time.
    fn load(&mut self, limits: &Limits, number: usize) -> Result<(), H::Error> {
        let mut block = Vec::new();
        self.blocks.read(limits, number, &mut block)?;
        let (mut rest, mut records, mut bytes) = (&block[..], Vec::new(), 0);
        while !rest.is_empty() {
            let Ok(Value::Map(map)) = encoding::decode(&mut rest) else {
                return Err(PipelineError::damaged_file().into());
            };
            records.push(Record::Map(map));
            bytes += records.last().map_or(0, Record::bytes);
        }
        while self.bytes + bytes > self.bytes_max || !self.held.fits(self.bytes + bytes) {
            let oldest = self.cache.iter().min_by_key(|(_, cached)| cached.used).map(|(number, _)| *number);
            let Some(cached) = oldest.and_then(|oldest| self.cache.remove(&oldest)) else {
                self.held.set(self.bytes + bytes)?;
                break;
            };
            self.bytes -= cached.bytes;
            self.held.shrink(self.bytes);
        }
        self.bytes += bytes;
        self.cache.insert(number, Cached { records, bytes, used: self.uses });
        Ok(())
    }
}
