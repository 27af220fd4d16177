//! Sorting entries without reading most keys more than once.
//!
//! Comparing two entries costs two cache misses. Therefore each entry is sorted by 16 bytes of its key, stored with its
//! place. Only groups of ties are sorted again: by the 16 bytes after the common prefix of the group (multikey sorting,
//! after Bentley and Sedgewick, "Fast algorithms for sorting and searching strings", 1997), or by number if they are
//! versions of one key.

use crate::arena::{Arena, Place};
use alluvium_codec::entry::{self, Seq};
use std::cmp::Ordering;

/// An entry to sort, with 16 bytes of its key as a number. A shorter key is padded with zeros.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub high: u64,
    pub low: u64,
    pub place: Place,
}

/// Smaller groups of ties are sorted by comparing the entries.
const FEW: usize = 8;
/// Ties that remain after this many rounds are sorted by comparing the entries. This bounds the stack.
const ROUNDS: u32 = 8;

impl Item {
    /// The entry at `place`, whose key is `key`, sorted by the key's bytes after the first `skip`.
    #[inline]
    pub(crate) fn new(key: &[u8], skip: usize, place: Place) -> Self {
        let (high, low) = prefix(key.get(skip..).unwrap_or(&[]));
        Self { high, low, place }
    }

    #[inline]
    fn bits(&self) -> (u64, u64) {
        (self.high, self.low)
    }

    /// The order of two entries that were made with the same `skip`.
    #[inline]
    pub(crate) fn compare(&self, other: &Self, arena: &Arena) -> Ordering {
        match self.bits().cmp(&other.bits()) {
            Ordering::Equal => arena.compare(self.place, other.place),
            unequal => unequal,
        }
    }
}

/// The first 16 bytes as two numbers, padded with zeros.
#[inline]
pub(crate) fn prefix(bytes: &[u8]) -> (u64, u64) {
    if let Some((high, rest)) = bytes.split_first_chunk::<8>()
        && let Some(low) = rest.first_chunk::<8>()
    {
        return (u64::from_be_bytes(*high), u64::from_be_bytes(*low));
    }
    let mut padded = [0; 16];
    let len = bytes.len().min(16);
    padded[..len].copy_from_slice(&bytes[..len]);
    let bits = u128::from_be_bytes(padded);
    ((bits >> 64) as u64, bits as u64)
}

/// The index of the first entry in a sorted run that is not before (`key`, `seq`).
pub(crate) fn lower_bound(arena: &Arena, run: &[Item], key: &[u8], seq: Seq) -> usize {
    let bits = prefix(key);
    run.partition_point(|item| match item.bits().cmp(&bits) {
        Ordering::Equal => entry::compare(arena.key(item.place), arena.seq(item.place), key, seq) == Ordering::Less,
        unequal => unequal == Ordering::Less,
    })
}

/// The length of the common prefix of `a` and `b`.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Sorts items into entry order. All were made with the same `skip`, the length of a common prefix.
pub(crate) fn sort(arena: &Arena, items: &mut [Item]) {
    sort_round(arena, items, ROUNDS);
}

fn sort_round(arena: &Arena, items: &mut [Item], rounds: u32) {
    items.sort_unstable_by_key(Item::bits);
    for group in items.chunk_by_mut(|a, b| a.bits() == b.bits()) {
        if group.len() > 1 {
            settle(arena, group, rounds);
        }
    }
}

/// Sorts a group of ties. Only the places are moved, because the bytes are equal.
fn settle(arena: &Arena, group: &mut [Item], rounds: u32) {
    if group.len() < FEW || rounds == 0 {
        group.sort_unstable_by(|a, b| arena.compare(a.place, b.place));
        return;
    }
    let first = arena.key(group[0].place);
    let mut common = first.len();
    let mut same = true;
    for item in &group[1..] {
        let key = arena.key(item.place);
        common = common_prefix(&first[..common], key);
        same &= common == first.len() && key.len() == common;
    }
    let mut again: Vec<Item> = group.to_vec();
    if same {
        again.iter_mut().for_each(|item| item.high = !arena.seq(item.place));
        again.sort_unstable_by_key(|item| item.high);
    } else {
        again.iter_mut().for_each(|item| *item = Item::new(arena.key(item.place), common, item.place));
        sort_round(arena, &mut again, rounds - 1);
    }
    for (to, from) in group.iter_mut().zip(&again) {
        to.place = from.place;
    }
}

#[cfg(test)]
mod tests;
