//! Walking a block; the cursor assembles the keys.

use super::Block;
use alluvium_codec::entry::{Kind, Seq};

/// A position in a block. The block is passed to each call and must always be the same one
/// until the next [`Cursor::move_to`].
#[derive(Debug)]
pub(crate) struct Cursor {
    index: usize,
    key: Vec<u8>,
    prefix_len: usize,
    /// The offset of the next entry's part of the key.
    key_at: usize,
    value_at: usize,
    value_len: usize,
    seq: Seq,
    kind: Kind,
}

impl Cursor {
    pub(crate) fn new() -> Self {
        Self { index: 0, key: Vec::new(), prefix_len: 0, key_at: 0, value_at: 0, value_len: 0, seq: 0, kind: Kind::Put }
    }

    /// Moves to entry `index`, which must be below the number of entries.
    pub(crate) fn move_to(&mut self, block: &Block, index: usize) {
        let group = index >> block.restart_log;
        let restart = block.restarts[group];
        self.key.clear();
        self.key.extend_from_slice(block.prefix());
        self.prefix_len = self.key.len();
        self.key_at = restart.key as usize;
        self.value_at = restart.value as usize;
        self.value_len = 0;
        self.index = group << block.restart_log;
        self.take(block);
        while self.index < index {
            self.step(block);
        }
        self.seq = block.seq(self.index);
        self.kind = block.kind(self.index);
    }

    /// Moves to the next entry; false if the block has no more.
    #[inline]
    pub(crate) fn next(&mut self, block: &Block) -> bool {
        if self.index + 1 >= block.len() {
            return false;
        }
        self.step(block);
        self.seq = block.seq(self.index);
        self.kind = block.kind(self.index);
        true
    }

    /// Moves to the previous entry; false if there is no such entry.
    pub(crate) fn prev(&mut self, block: &Block) -> bool {
        let Some(index) = self.index.checked_sub(1) else { return false };
        self.move_to(block, index);
        true
    }

    #[inline]
    fn step(&mut self, block: &Block) {
        self.index += 1;
        self.value_at += self.value_len;
        self.take(block);
    }

    /// Reads the key and the value's length of the entry at `index`, whose key begins at `key_at`.
    #[inline]
    fn take(&mut self, block: &Block) {
        let shared = block.shared(self.index);
        let suffix_len = block.suffix_len(self.index);
        self.key.truncate(self.prefix_len + shared);
        self.key.extend_from_slice(&block.bytes[self.key_at..self.key_at + suffix_len]);
        self.key_at += suffix_len;
        self.value_len = block.value_len(self.index);
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    #[inline]
    pub(crate) fn seq(&self) -> Seq {
        self.seq
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    #[inline]
    pub(crate) fn value<'a>(&self, block: &'a Block) -> &'a [u8] {
        block.bytes.get(self.value_at..self.value_at + self.value_len).unwrap_or(&[])
    }
}
