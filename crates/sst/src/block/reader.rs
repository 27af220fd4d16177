//! Unpacking a block: the header is parsed and every length is checked once, so that what
//! follows needs no parsing and cannot leave the block.

use super::{Block, Column, Columns, MAX_ENTRIES, PADDING, Restart};
use codec::entry::Kind;
use codec::{DecodeError, Result, varint};

/// What stands in a block.
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
    /// [`DecodeError`] if the content is not what a builder packs.
    pub(crate) fn decode(bytes: Vec<u8>, shape: Shape) -> Result<Self> {
        let content_len = bytes.len().checked_sub(PADDING).ok_or(DecodeError::Truncated)?;
        if content_len > (u32::MAX / 2) as usize {
            return Err(DecodeError::Invalid("a block over 2 GiB"));
        }
        let entries_end = match shape {
            Shape::Entries => content_len,
            Shape::Partition => filter_start(&bytes[..content_len])?,
        };
        let filter_end = if shape == Shape::Partition { content_len - 4 } else { content_len };
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
        let mut columns = Columns::default();
        for column in columns.each() {
            *column = Column::get_header(&mut input)?;
        }
        let mut at = entries_end - input.len();
        for column in columns.each() {
            at = column.place(at, entries as usize)?;
        }
        if at > entries_end {
            return Err(DecodeError::Truncated);
        }
        let mut block = Self {
            entries: entries as u32,
            restart_log: u32::from(log),
            prefix: (prefix_end - prefix_len) as u32..prefix_end as u32,
            columns,
            restarts: Box::default(),
            filter: entries_end as u32..filter_end as u32,
            bytes,
        };
        block.restarts = block.restart_points(at, entries_end)?;
        Ok(block)
    }

    /// Adds up the lengths, checks that they fill `at..end` exactly, and that every field is in
    /// its range.
    fn restart_points(&self, at: usize, end: usize) -> Result<Box<[Restart]>> {
        let entries = self.len();
        let interval_mask = (1usize << self.restart_log) - 1;
        let mut restarts = Vec::with_capacity(entries.div_ceil(interval_mask + 1));
        let (mut keys, mut values) = (0u64, 0u64);
        let mut key_len = 0u64;
        let limit = (end - at) as u64;
        for index in 0..entries {
            let shared = self.columns.shared.get(&self.bytes, index);
            if index & interval_mask == 0 {
                restarts.push(Restart { key: keys as u32, value: values as u32 });
                key_len = 0;
            }
            let suffix_len = self.columns.suffix_len.get(&self.bytes, index);
            let value_len = self.columns.value_len.get(&self.bytes, index);
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
        let (keys_at, values_at) = (at as u32, at as u32 + keys as u32);
        for restart in &mut restarts {
            restart.key += keys_at;
            restart.value += values_at;
        }
        Ok(restarts.into())
    }

    fn check_kinds(&self) -> Result<()> {
        let known = |kind: u64| u8::try_from(kind).ok().and_then(Kind::from_byte).is_some();
        let kinds = self.columns.kind;
        let good = match kinds.constant() {
            Some(kind) => known(kind),
            None => (0..self.len()).all(|index| known(kinds.get(&self.bytes, index))),
        };
        if good { Ok(()) } else { Err(DecodeError::Invalid("an unknown kind of entry")) }
    }
}

impl Columns {
    fn each(&mut self) -> [&mut Column; 5] {
        [&mut self.suffix_len, &mut self.value_len, &mut self.kind, &mut self.seq, &mut self.shared]
    }
}

/// Where the filter of a partition begins: its length is in the last four bytes.
fn filter_start(content: &[u8]) -> Result<usize> {
    let (rest, len) = content.split_last_chunk::<4>().ok_or(DecodeError::Truncated)?;
    rest.len().checked_sub(u32::from_le_bytes(*len) as usize).ok_or(DecodeError::Truncated)
}
