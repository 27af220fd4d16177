//! Unpacking a block: the header is parsed and every length is checked once, so that later accesses
//! need no parsing and cannot leave the block.

use super::{Block, Columns, Line, MAX_ENTRIES, PADDING, Restart, Small};
use alluvium_codec::entry::{Kind, MAX_SEQ};
use alluvium_codec::{DecodeError, Result, varint};

/// The contents of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Entries.
    Entries,
    /// Index entries and a filter.
    Partition,
}

impl Block {
    /// Decodes `bytes`: the content and [`PADDING`] zero bytes.
    ///
    /// # Errors
    /// [`DecodeError`] if no builder packs this content.
    pub(crate) fn decode(bytes: Vec<u8>, shape: Shape) -> Result<Self> {
        let content_len = bytes.len().checked_sub(PADDING).ok_or(DecodeError::Truncated)?;
        if content_len > (u32::MAX / 2) as usize {
            return Err(DecodeError::Invalid("a block over 2 GiB"));
        }
        let entries_end = match shape {
            Shape::Entries => content_len,
            Shape::Partition => filter_start(&bytes[..content_len])?,
        };
        let mut input = &bytes[..entries_end];
        let entries = varint::get_u64(&mut input)?;
        if entries == 0 || entries > MAX_ENTRIES as u64 {
            return Err(DecodeError::Invalid("a number of entries"));
        }
        let (&log, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
        if log > 10 {
            return Err(DecodeError::Invalid("a restart interval"));
        }
        input = rest;
        let prefix_len = varint::get_bytes(&mut input)?.len();
        let prefix_end = entries_end - input.len();
        let (mut columns, widths) = Columns::decode(&mut input)?;
        columns.at = (entries_end - input.len()) as u32;
        let at = columns.at as usize + entries as usize * usize::from(widths);
        if at > entries_end {
            return Err(DecodeError::Truncated);
        }
        let mut block = Self {
            bytes: bytes.into(),
            restarts: Box::default(),
            columns,
            entries: entries as u32,
            prefix_len: prefix_len as u32,
            filter_at: if shape == Shape::Partition { entries_end as u32 } else { u32::MAX },
            // At most 21 bytes precede the prefix.
            prefix_at: (prefix_end - prefix_len) as u8,
            restart_log: log,
        };
        block.restarts = block.restart_points(at, entries_end)?;
        Ok(block)
    }

    /// Adds up the lengths, and checks that they fill `at..end` exactly and that every field is in
    /// its range.
    fn restart_points(&self, at: usize, end: usize) -> Result<Box<[Restart]>> {
        let entries = self.len();
        let interval_mask = (1usize << self.restart_log) - 1;
        let mut restarts = Vec::with_capacity(entries.div_ceil(interval_mask + 1));
        let (mut keys, mut values) = (0u64, 0u64);
        let mut key_len = 0u64;
        let limit = (end - at) as u64;
        for index in 0..entries {
            let shared = self.shared(index) as u64;
            if index & interval_mask == 0 {
                restarts.push(Restart { key: keys as u32, value: values as u32 });
                key_len = 0;
            }
            let suffix_len = self.suffix_len(index) as u64;
            let value_len = self.value_len(index) as u64;
            if shared > key_len || suffix_len > limit || value_len > limit {
                return Err(DecodeError::Invalid("the lengths of an entry"));
            }
            key_len = shared + suffix_len;
            keys += suffix_len;
            values += value_len;
            if keys + values > limit {
                return Err(DecodeError::Truncated);
            }
        }
        if keys + values != limit {
            return Err(DecodeError::Invalid("more bytes than entries"));
        }
        self.check_kinds()?;
        self.check_seqs()?;
        let (keys_at, values_at) = (at as u32, at as u32 + keys as u32);
        for restart in &mut restarts {
            restart.key += keys_at;
            restart.value += values_at;
        }
        Ok(restarts.into())
    }

    fn check_kinds(&self) -> Result<()> {
        let known = |kind: usize| u8::try_from(kind).ok().and_then(Kind::from_byte).is_some();
        let kinds = self.columns.kind;
        let good = match kinds.constant() {
            Some(kind) => known(kind as usize),
            None => (0..self.len()).all(|index| known(self.small(kinds, index))),
        };
        if good { Ok(()) } else { Err(DecodeError::Invalid("an unknown kind of entry")) }
    }

    /// Checks all sequence numbers. The ends of the line bound them, except in a few blocks, where
    /// each number is checked.
    fn check_seqs(&self) -> Result<()> {
        let Columns { seq_base: base, seq_step: step, seq_width: width, .. } = self.columns;
        let in_range = Line { base, step, width }.is_within(self.len(), MAX_SEQ);
        if in_range || (0..self.len()).all(|index| self.seq_of(index) <= MAX_SEQ) {
            return Ok(());
        }
        Err(DecodeError::Invalid("the number of an entry"))
    }
}

impl Columns {
    /// Takes the headers from the front of `input`. Returns the columns and the sum of their
    /// widths.
    fn decode(input: &mut &[u8]) -> Result<(Self, u8)> {
        let mut before = 0;
        let mut next = |input: &mut &[u8]| -> Result<(Line, u8)> {
            let line = Line::get_header(input)?;
            let at = before;
            before += line.width;
            Ok((line, at))
        };
        let small = |(line, before): (Line, u8)| Small::pack(line, before);
        let suffix_len = small(next(input)?)?;
        let value_len = small(next(input)?)?;
        let kind = small(next(input)?)?;
        let (seq, seq_before) = next(input)?;
        let shared = small(next(input)?)?;
        let columns = Self {
            seq_base: seq.base,
            seq_step: seq.step,
            at: 0,
            suffix_len,
            value_len,
            kind,
            shared,
            seq_width: seq.width,
            seq_before,
        };
        Ok((columns, before))
    }
}

/// The offset of the filter of a partition: the filter's length is in the last four bytes.
fn filter_start(content: &[u8]) -> Result<usize> {
    let (rest, len) = content.split_last_chunk::<4>().ok_or(DecodeError::Truncated)?;
    rest.len().checked_sub(u32::from_le_bytes(*len) as usize).ok_or(DecodeError::Truncated)
}
