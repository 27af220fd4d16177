//! Writes slices whose index entries make them too large for one batch in several batches.

use super::target::{CollectionTarget, Rows};
use super::{Load, Mark, Parsed};
use alluvium_collections::error::{Error, Result};
use alluvium_collections::write::WriteTxn;

/// The maximum size of an operation of a batch, or of a mark, without its key and value.
const OVERHEAD_BYTES_MAX: usize = 64;

impl Parsed<'_> {
    /// Splits the slice into its first `at` documents (at least one), with all records before the
    /// next document, and the remaining documents, which form a slice of their own. Neither part
    /// has rows. The first part has the shapes and must be written first.
    fn split(mut self, at: usize) -> (Self, Self) {
        let next = self.lines[at];
        let keys = self.key_ends[at - 1];
        let bad = self.bad.partition_point(|bad| bad.place.offset < next.offset);
        let mut rest = Self {
            rows: Rows::Plain(Vec::new()),
            keys: self.keys.split_off(keys),
            key_ends: self.key_ends.split_off(at),
            lines: self.lines.split_off(at),
            texts: self.texts.as_mut().map(|texts| texts.split_off(at)),
            shapes: Vec::new(),
            bad: self.bad.split_off(bad),
            fatal: self.fatal,
            repaired: self.repaired,
            unread: self.unread.take(),
            // After a fatal line, lines are not counted; therefore the subtraction saturates.
            line_count: self.line_count.saturating_sub(next.line),
            end: self.end,
            end_column: self.end_column,
            bytes: self.end - next.offset,
        };
        rest.key_ends.iter_mut().for_each(|end| *end -= keys);
        rest.lines.iter_mut().for_each(|place| place.line -= next.line);
        for bad in &mut rest.bad {
            bad.place.line -= next.line;
            bad.refused.line -= next.line;
        }
        self.bytes -= rest.bytes;
        (self.fatal, self.line_count, self.end, self.end_column) = (false, next.line, next.offset, next.column);
        (self, rest)
    }
}

impl CollectionTarget<'_> {
    /// An upper bound of the bytes in a batch other than the rows: the shapes of a slice and the
    /// mark.
    pub fn overhead_bytes(&self, parsed: &Parsed<'_>) -> usize {
        let mut definitions = Vec::new();
        parsed.shapes.iter().for_each(|shape| shape.encode(&mut definitions));
        let mark = self.mark_key.as_ref().map_or(0, Vec::len);
        definitions.len() + parsed.shapes.len() * OVERHEAD_BYTES_MAX + mark + OVERHEAD_BYTES_MAX
    }
}

impl<'a> Load<'a> {
    /// Writes the rows of a slice that is too large for one batch in two halves, which may be split
    /// again. Each part writes a mark with the position at which the next part begins.
    pub(super) fn write_parts(
        &self,
        target: &CollectionTarget<'a>,
        parsed: Parsed<'a>,
        rows: WriteTxn<'a>,
        before: Mark,
    ) -> Result<Mark> {
        let count = parsed.key_ends.len();
        if count == 1 {
            let (bytes, limit) = (rows.encoded_bytes() as u64, target.store().max_batch_bytes() as u64);
            let error = Box::new(alluvium_store::Error::BatchTooLarge { bytes, limit }.into());
            let (what, line) = self.place_of(&parsed, 0, before.line);
            return Err(Error::LoadOf { input: self.name.clone(), what, line, error });
        }
        let (first_rows, rest_rows) = rows.split(count / 2)?;
        let (first, rest) = parsed.split(count / 2);
        let between = self.write_rows(target, first, first_rows, before)?;
        self.write_rows(target, rest, rest_rows, between)
    }
}
