//! Filling the cache with a file before anybody asks, and emptying it of a file that is no more.

use crate::Reader;
use crate::block::{Block, Shape};
use crate::reader::Source;
use crate::stored::{Handle, Role};
use env::Result;
use std::sync::Arc;

/// A partition and its data blocks are read with one call; where they have more bytes, data blocks are left out.
const MAX_REGION_READ: u64 = 4 << 20;

impl Reader {
    /// Brings index partitions and, with `data`, data blocks into memory, from the beginning of the file until `room`
    /// says that there is none for more.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn warm(&self, data: bool, room: &dyn Fn() -> bool) -> Result<()> {
        for index in (0..self.partitions()).take_while(|_| room()) {
            self.warm_region(index, data)?;
        }
        Ok(())
    }

    fn warm_region(&self, index: usize, data: bool) -> Result<()> {
        let (at, start) = (self.top.partition(index), self.top.region_start(index));
        let len = at.end().saturating_sub(start);
        let mut bytes = Vec::new();
        if data && len <= MAX_REGION_READ {
            bytes.resize(len as usize, 0);
            self.file.read_exact_at(&mut bytes, start)?;
        }
        let source = self.source().with_bytes(&bytes, start);
        let held = self.held.get(index).clone();
        let partition = match held {
            Some(partition) => partition,
            None => {
                let partition = Arc::new(self.read_from(&source, at, Role::Partition, Shape::Partition)?);
                self.keep_partition(index, &partition);
                partition
            }
        };
        let blocks = if bytes.is_empty() { 0 } else { partition.len() };
        for block in 0..blocks {
            let at = self.data_handle(index, &partition, block)?;
            let block = self.read_from(&source, at, Role::Data, Shape::Entries)?;
            self.cache.insert(self.meta.number, at.offset, &Arc::new(block));
        }
        Ok(())
    }

    fn read_from(&self, source: &Source<'_>, at: Handle, role: Role, shape: Shape) -> Result<Block> {
        let content = source.read(at, role, self.dictionary.as_deref())?;
        self.decode(content, shape, at)
    }

    /// Takes the file's blocks out of the cache, as far as the index partitions that are in memory tell where they
    /// stand: for a file that nobody will read again. Reads nothing.
    pub fn forget(&self) {
        for index in 0..self.partitions() {
            let at = self.top.partition(index);
            let held = self.held.take(index);
            let cached = self.cache.remove(self.meta.number, at.offset);
            let Some(partition) = held.or(cached) else { continue };
            for block in 0..partition.len() {
                if let Ok(at) = self.data_handle(index, &partition, block) {
                    let _gone = self.cache.remove(self.meta.number, at.offset);
                }
            }
        }
    }
}
