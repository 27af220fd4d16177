//! The properties of a file: its metadata in the manifest, and further values for salvage and
//! tools.

use crate::meta::FileMeta;
use alluvium_codec::limits::get_number;
use alluvium_codec::{DecodeError, Result, varint};

/// The properties of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    /// The metadata in the manifest. `bytes` and `footer_checksum`, which are not known when
    /// properties are written, are taken from the footer.
    pub meta: FileMeta,
    /// The numbers of the files that the compaction read; empty for a flush.
    pub inputs: Vec<u64>,
    /// The numbers of files that had been replaced when this file was written, but may still have
    /// existed.
    pub replaced: Vec<u64>,
    /// The trees: the first four bytes of the keys as big-endian numbers, ascending.
    pub trees: Vec<u32>,
    /// Data blocks.
    pub data_blocks: u64,
    /// Index partitions.
    pub partitions: u64,
    /// Stored bytes of the data blocks, with their trailers.
    pub data_bytes: u64,
    /// Stored bytes of the index partitions, with their trailers.
    pub index_bytes: u64,
    /// The writer's target for the raw size of a data block.
    pub block_bytes: u64,
    /// The writer's filter bits per key.
    pub filter_bits_per_key: u64,
}

impl Properties {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.meta.encode(out);
        for value in self.numbers() {
            varint::put_u64(out, value);
        }
        // No file has the number 0, so 0 separates the two lists if there is a second one.
        let more = [0].iter().chain(&self.replaced).take(if self.replaced.is_empty() { 0 } else { usize::MAX });
        let numbers: Vec<u64> = self.inputs.iter().chain(more).copied().collect();
        varint::put_u64(out, numbers.len() as u64);
        for number in numbers {
            varint::put_u64(out, number);
        }
        varint::put_u64(out, self.trees.len() as u64);
        let mut last = 0;
        for &tree in &self.trees {
            varint::put_u64(out, u64::from(tree.wrapping_sub(last)));
            last = tree;
        }
    }

    fn numbers(&self) -> [u64; 6] {
        [
            self.data_blocks,
            self.partitions,
            self.data_bytes,
            self.index_bytes,
            self.block_bytes,
            self.filter_bits_per_key,
        ]
    }

    pub(crate) fn decode(mut input: &[u8]) -> Result<Self> {
        let input = &mut input;
        let meta = FileMeta::decode(input)?;
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = get_number(input, "a number of blocks or bytes")?;
        }
        let [data_blocks, partitions, data_bytes, index_bytes, block_bytes, filter_bits_per_key] = numbers;
        let mut inputs =
            (0..get_count(input)?).map(|_| get_number(input, "an input's number")).collect::<Result<Vec<_>>>()?;
        let mut replaced = Vec::new();
        if let Some(at) = inputs.iter().position(|&number| number == 0) {
            replaced = inputs.split_off(at + 1);
            inputs.truncate(at);
        }
        let mut trees = Vec::new();
        let mut last = 0u32;
        for _ in 0..get_count(input)? {
            let step = u32::try_from(varint::get_u64(input)?).map_err(|_| DecodeError::Invalid("a tree"))?;
            last = last.checked_add(step).ok_or(DecodeError::Invalid("a tree"))?;
            trees.push(last);
        }
        if !input.is_empty() {
            return Err(DecodeError::Invalid("more bytes than properties"));
        }
        Ok(Self {
            meta,
            inputs,
            replaced,
            trees,
            data_blocks,
            partitions,
            data_bytes,
            index_bytes,
            block_bytes,
            filter_bits_per_key,
        })
    }
}

/// Takes a number of items, each of which takes at least a byte.
fn get_count(input: &mut &[u8]) -> Result<usize> {
    let count = varint::get_u64(input)?;
    usize::try_from(count).ok().filter(|&count| count <= input.len()).ok_or(DecodeError::Truncated)
}

#[cfg(test)]
mod tests;
