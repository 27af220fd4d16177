//! Pairs in memory. They are in the order of arrival until they are sorted.

use crate::options::OnDuplicate;
use alluvium_codec::entry::{MAX_SEQ, Seq};
use alluvium_codec::varint;

/// The sort key of a pair, so that most comparisons need not read the pair's bytes.
#[derive(Clone, Copy)]
struct Slot {
    /// The first eight bytes of the key, padded with zeros.
    prefix: u64,
    /// The offset of the pair in the arena's bytes.
    at: u32,
    /// The position of the pair in the arena, in the order of arrival.
    index: u32,
}

/// Pairs up to a limit of bytes.
pub(crate) struct Arena {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    limit: usize,
    /// The position in the input of the arena's first pair.
    first: u64,
    sorted: bool,
}

/// A pair of an arena, or of a run.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// The rank among pairs with the same key, see [`rank`]: the winner is first.
    pub rank: Seq,
}

/// Converts a position in the input into the sequence number of an entry of a run. Entries of one
/// key are sorted by descending number, so that the winner is always first.
pub(crate) fn rank(position: u64, on_duplicate: OnDuplicate) -> Seq {
    match on_duplicate {
        OnDuplicate::Replace => position,
        OnDuplicate::Error | OnDuplicate::Skip => MAX_SEQ - position,
    }
}

/// The position of a rank; the inverse of [`rank`].
pub(crate) fn position(rank: Seq, on_duplicate: OnDuplicate) -> u64 {
    match on_duplicate {
        OnDuplicate::Replace => rank,
        OnDuplicate::Error | OnDuplicate::Skip => MAX_SEQ - rank,
    }
}

impl Arena {
    /// An empty arena for `limit` bytes, bookkeeping included.
    pub fn new(limit: usize) -> Self {
        // This only reserves address space: pages take memory when they are written.
        Self { bytes: Vec::with_capacity(limit), slots: Vec::new(), limit, first: 0, sorted: false }
    }

    /// The bytes that a pair takes.
    pub fn size_of(key: &[u8], value: &[u8]) -> usize {
        let lens = varint::len_u64(key.len() as u64) + varint::len_u64(value.len() as u64);
        lens + key.len() + value.len() + std::mem::size_of::<Slot>()
    }

    /// True if a pair of this size still fits.
    pub fn fits(&self, size: usize) -> bool {
        self.used() + size <= self.limit
    }

    /// Bytes used.
    pub fn used(&self) -> usize {
        self.bytes.len() + self.slots.len() * std::mem::size_of::<Slot>()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a pair, which must fit. `position` must be one more than the position of the last pair.
    pub fn push(&mut self, key: &[u8], value: &[u8], position: u64) {
        if self.slots.is_empty() {
            self.first = position;
            self.sorted = false;
        }
        let (at, index) = (self.bytes.len() as u32, self.slots.len() as u32);
        self.slots.push(Slot { prefix: prefix_of(key), at, index });
        varint::put_u64(&mut self.bytes, key.len() as u64);
        varint::put_u64(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    /// The pair at an index, which counts in sorted order after [`Arena::sort`].
    pub fn pair(&self, at: usize) -> Option<(&[u8], &[u8])> {
        self.slots.get(at).map(|slot| pair_at(&self.bytes, slot.at))
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
    }

    /// Sorts by key; among pairs with the same key, the winner is first.
    pub fn sort(&mut self, on_duplicate: OnDuplicate) {
        let bytes = &self.bytes;
        let later_first = on_duplicate == OnDuplicate::Replace;
        self.slots.sort_unstable_by(|a, b| {
            let keys = || pair_at(bytes, a.at).0.cmp(pair_at(bytes, b.at).0);
            let order = a.prefix.cmp(&b.prefix).then_with(keys);
            order.then(if later_first { b.index.cmp(&a.index) } else { a.index.cmp(&b.index) })
        });
        self.sorted = true;
    }

    /// The pairs, which must have been sorted.
    pub fn pairs(&self, on_duplicate: OnDuplicate) -> impl Iterator<Item = Pair<'_>> {
        debug_assert!(self.sorted || self.slots.is_empty());
        self.slots.iter().map(move |slot| {
            let (key, value) = pair_at(&self.bytes, slot.at);
            Pair { key, value, rank: rank(self.first + u64::from(slot.index), on_duplicate) }
        })
    }
}

fn prefix_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// Decodes the pair at the offset `at`, as [`Arena::push`] has written it.
fn pair_at(bytes: &[u8], at: u32) -> (&[u8], &[u8]) {
    let mut rest = bytes.get(at as usize..).unwrap_or(&[]);
    let key_len = varint::get_u64(&mut rest).unwrap_or(0) as usize;
    let value_len = varint::get_u64(&mut rest).unwrap_or(0) as usize;
    let (key, rest) = rest.split_at_checked(key_len).unwrap_or((&[], &[]));
    (key, rest.get(..value_len).unwrap_or(&[]))
}

#[cfg(test)]
mod tests;
