//! Blocks: sorted entries, packed.

/// A decoded block.
#[derive(Debug)]
pub struct Block {
    bytes: Box<[u8]>,
}

impl Block {
    /// The memory that the block takes, in bytes.
    pub fn weight(&self) -> usize {
        std::mem::size_of::<Self>() + self.bytes.len()
    }
}
