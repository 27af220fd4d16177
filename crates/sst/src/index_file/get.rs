//! Point reads by an index file.

use super::{Extent, IndexFile};
use crate::block::Shape;
use crate::reader::Reader;
use crate::stored::Role;
use alluvium_codec::entry::{Kind, Seq};
use alluvium_env::Result;
use std::sync::Arc;

/// The blocks of an extent are read at once, up to this many bytes.
const MAX_EXTENT_READ: u64 = 4 << 20;

impl Reader {
    /// As [`Reader::get`], with an index file of this file instead of the file's own index. Costs
    /// one read of the extent, if the extent is not in the cache.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn get_by(
        &self,
        index: &IndexFile,
        key: &[u8],
        hash: u64,
        seq: Seq,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Seq, Kind)>> {
        match index.find(key, hash, seq)? {
            Some(extent) => self.get_in(&extent, key, seq, value),
            None => Ok(None),
        }
    }

    /// Searches consecutive data blocks for a key, by bisection.
    fn get_in(&self, extent: &Extent, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, Kind)>> {
        if extent.blocks.iter().any(|at| at.end() > self.footer.data_end()) {
            return Err(self.corrupt(0, "an index file names data blocks that this file does not have"));
        }
        let (mut low, mut high) = (0, extent.blocks.len());
        let (mut bytes, mut bytes_at) = (Vec::new(), 0);
        while low < high {
            let middle = (low + high) / 2;
            let at = extent.blocks[middle];
            let block = match self.cache.get(self.meta.number, at.offset) {
                Some(block) => block,
                None => {
                    let (start, end) = (extent.blocks[low].offset, extent.blocks[high - 1].end());
                    if bytes.is_empty() && high - low > 1 && end - start <= MAX_EXTENT_READ {
                        bytes.resize((end - start) as usize, 0);
                        self.file.read_exact_at(&mut bytes, start)?;
                        bytes_at = start;
                    }
                    let source = self.source().with_bytes(&bytes, bytes_at);
                    let content = source.read(at, Role::Data, self.dictionary.as_deref())?;
                    let block = Arc::new(self.decode(content, Shape::Entries, at)?);
                    self.cache.insert(self.meta.number, at.offset, &block);
                    block
                }
            };
            if let Some(found) = block.get(key, seq, value) {
                return Ok(Some(found));
            }
            match block.count_before(key, seq) {
                0 => high = middle,
                before if before == block.len() => low = middle + 1,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}
