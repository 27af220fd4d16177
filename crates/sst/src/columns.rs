//! Blocks of small entries, column by column. Keys of the same form are split into parts, and each
//! part is a column.
//!
//! An entry of an index is a sequence of numbers, dates and ids. These hardly compress as bytes. As
//! columns they take only the bits in which they differ. A column may follow an earlier one
//! linearly, for example when the sequence numbers of entries rise with an ascending `_id`. Reading
//! turns columns back into the packed entries of [`crate::block`], so that no layer above depends
//! on them.

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

/// The most bytes of the keys of a block, after front coding.
const MAX_CONTENT: usize = 4 << 20;

/// Marks a column that holds the bits of doubles, instead of a power of ten.
const NUMBER_BITS: u8 = 0xff;

#[cfg(test)]
mod tests;
