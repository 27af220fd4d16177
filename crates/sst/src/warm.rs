//! Filling the cache with a file before anybody asks, and emptying it of a file that is no more.

use crate::Reader;
use crate::block::{Block, Shape};
use crate::reader::Source;
use crate::stored::{Handle, Role};
use env::Result;
use std::sync::Arc;

/// A partition and its data blocks are read with one call; where they have more bytes, they are left alone.
const MAX_REGION_READ: u64 = 4 << 20;

impl Reader {
    /// Brings index partitions and data blocks into memory, from the beginning of the file until `room` says that there
    /// is none for more.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn warm(&self, room: &dyn Fn() -> bool) -> Result<()> {
        for index in (0..self.partitions()).take_while(|_| room()) {
            self.warm_region(index)?;
        }
        Ok(())
    }

    fn warm_region(&self, index: usize) -> Result<()> {
        let (at, start) = (self.top.partition(index), self.top.region_start(index));
        let len = at.end().saturating_sub(start);
        if len > MAX_REGION_READ {
            return Ok(());
        }
        let mut bytes = vec![0; len as usize];
        self.file.read_exact_at(&mut bytes, start)?;
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
        for block in 0..partition.len() {
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
