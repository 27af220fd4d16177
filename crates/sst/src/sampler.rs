//! Samples for the training of a dictionary.

use crate::block::BlockBuilder;
use crate::columns::ColumnEncoder;
use crate::dictionary::Dictionary;
use alluvium_codec::entry::Entry;

/// The most bytes of samples that are kept.
const MAX_BYTES: usize = 2 << 20;

/// A dictionary is not useful if the text of the columns is less than this fraction of the raw
/// bytes.
const LITTLE_TEXT: usize = 16;

/// Collects samples from a stream of entries, and trains a dictionary on them.
///
/// The samples are whole data blocks as a [`crate::Writer`] would pack them, spread evenly over the
/// stream, however long it is. When there are too many samples, every second one is dropped, and
/// from then on only every second block is taken. A dictionary trained on blocks also contains
/// their columns and keys, and makes files of comment-like rows some 1% smaller than a dictionary
/// trained on bare values. If a block can be stored as columns, only its text is a sample, because
/// the rest does not compress. Memory: 2 MiB and a block.
pub struct Sampler {
    block_bytes: usize,
    /// The open block, sampled or not.
    block: BlockBuilder,
    /// Blocks so far.
    blocks: u64,
    /// One in this many blocks is sampled.
    stride: u64,
    samples: Vec<Vec<u8>>,
    bytes: usize,
    columns: ColumnEncoder,
    /// Bytes of keys and values in the sampled blocks, and of their samples.
    seen: usize,
    kept: usize,
}

impl Sampler {
    /// A sampler for files with blocks of this many raw bytes, as in
    /// [`crate::WriterOptions::block_bytes`].
    pub fn new(block_bytes: usize) -> Self {
        Self {
            block_bytes: block_bytes.clamp(512, 64 << 10),
            block: BlockBuilder::new(0),
            blocks: 0,
            stride: 1,
            samples: Vec::new(),
            bytes: 0,
            columns: ColumnEncoder::default(),
            seen: 0,
            kept: 0,
        }
    }

    /// Adds an entry. Entries that get a block of their own are left out.
    #[inline]
    pub fn add(&mut self, entry: Entry<'_>) {
        let size = entry.key.len() + entry.value.len();
        if size >= self.block_bytes {
            return;
        }
        // As in a writer, a block ends where its size is nearest to its target.
        if self.block.raw_len() + size / 2 > self.block_bytes {
            self.end_block();
        }
        self.block.add(entry);
    }

    /// Ends a run of the input: the next entry need not be after the last one.
    pub fn end_of_run(&mut self) {
        self.end_block();
    }

    fn end_block(&mut self) {
        if self.block.is_empty() {
            return;
        }
        self.blocks += 1;
        if !(self.blocks - 1).is_multiple_of(self.stride) {
            self.block.clear();
            return;
        }
        let mut sample = Vec::new();
        self.seen += self.block.key_and_value_bytes();
        match self.columns.encode(&self.block, &mut sample) {
            Some(head) => {
                sample.drain(..head);
                self.block.clear();
            }
            None => self.block.finish(&mut sample),
        }
        self.kept += sample.len();
        if sample.is_empty() {
            return;
        }
        self.bytes += sample.len();
        self.samples.push(sample);
        if self.bytes > MAX_BYTES {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.bytes = self.samples.iter().map(Vec::len).sum();
            self.stride *= 2;
        }
    }

    /// Trains a dictionary of at most `max_bytes`; takes some 0.1 s per MiB of samples. Returns
    /// `None` if there are too few samples, or if too little of the blocks is text.
    pub fn train(mut self, max_bytes: usize) -> Option<Dictionary> {
        self.end_block();
        if self.kept < self.seen / LITTLE_TEXT {
            return None;
        }
        Dictionary::train(&self.samples, max_bytes)
    }
}

#[cfg(test)]
mod tests;
