//! Removal of a dropped file's blocks from the cache.

use crate::reader::Reader;

impl Reader {
    /// Removes the file's blocks from the cache, as far as the index partitions in memory locate
    /// them. Called for a file that will not be read again. Reads nothing.
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
