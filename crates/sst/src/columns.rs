//! Blocks of small entries, column by column: keys of the same form are split into their parts,
//! each part a column.
//!
//! An entry of an index is a sequence of numbers, dates and ids. As bytes they hardly compress; as
//! columns they take the bits in which they differ. A column may follow an earlier one linearly, as
//! the sequence numbers of entries follow an ascending `_id`. Reading turns columns back into the
//! packed entries of [`crate::block`], so that no layer above depends on them.

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

/// Marks a column that holds the bits of doubles, instead of a power of ten.
const NUMBER_BITS: u8 = 0xff;

#[cfg(test)]
mod tests;
