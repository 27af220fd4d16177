//! Blocks of small entries, column by column: keys that are built alike are split into their parts, each part a column.
//!
//! An entry of an index is some numbers, dates and ids behind each other. As bytes they hardly compress; as columns
//! they take the bits that tell them apart. A column may follow an earlier one in a line, as the numbers of entries
//! follow an `_id` that ascends. Reading turns columns back into the packed entries of [`crate::block`], so that
//! nothing above knows of them.

mod bits;
mod decode;
mod encode;
mod form;
mod integers;
mod numbers;

pub(crate) use decode::{ColumnDecoder, head_len};
pub(crate) use encode::ColumnEncoder;

/// The longest key in columns.
const MAX_KEY: usize = 4 << 10;

/// The most bytes of the keys of a block, front coded.
const MAX_CONTENT: usize = 4 << 20;

/// In place of a power of ten: the column holds the bits of doubles.
const NUMBER_BITS: u8 = 0xff;

#[cfg(test)]
mod tests;
