//! Chunks that memtables leave behind for the next ones.
//!
//! The first touch of fresh memory is most of what an insert costs: for a row of 400 bytes some
//! 285 ns of CPU in chunks from the system, 75 ns in chunks that were used before
//! (`examples/memtable_speed.rs`).

use alluvium_env::sync::Mutex;

/// Free chunks of arenas, shared by the memtables of a database. `Send + Sync`.
///
/// Only chunks of [`ChunkPool::CHUNK_BYTES`], which make up nearly all of a large memtable.
pub struct ChunkPool {
    free: Mutex<Vec<Vec<u8>>>,
    limit: usize,
}

impl ChunkPool {
    /// The size of a chunk, in bytes.
    pub const CHUNK_BYTES: usize = crate::arena::LAST_CHUNK;

    /// An empty pool that keeps up to `limit_bytes` of free chunks. The memory budget should
    /// hold them; as much as one memtable takes is enough where flushes keep up.
    pub fn new(limit_bytes: usize) -> Self {
        Self { free: Mutex::new(Vec::new()), limit: limit_bytes / Self::CHUNK_BYTES }
    }

    /// The memory of the free chunks, in bytes.
    pub fn free_bytes(&self) -> usize {
        self.free.lock().len() * Self::CHUNK_BYTES
    }

    /// Gives all free chunks back to the system.
    pub fn clear(&self) {
        let free = std::mem::take(&mut *self.free.lock());
        drop(free);
    }

    /// A free chunk, empty.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        self.free.lock().pop()
    }

    /// Takes those of `chunks` that have the right size, as far as there is room.
    pub(crate) fn give(&self, chunks: impl Iterator<Item = Vec<u8>>) {
        let mut chunks = chunks.filter(|chunk| chunk.capacity() == Self::CHUNK_BYTES);
        let mut free = self.free.lock();
        while free.len() < self.limit
            && let Some(mut chunk) = chunks.next()
        {
            chunk.clear();
            free.push(chunk);
        }
        // What is left goes back to the system without the lock.
        drop(free);
    }
}

#[cfg(test)]
mod tests;
