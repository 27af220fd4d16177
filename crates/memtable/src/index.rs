//! The hash of a memtable: from keys to their newest versions.
//!
//! Open addressing with linear probing, 8 bytes a slot: half a hash and a place. A look-up costs one cache miss; a
//! table with separate tags would cost two. Growing reads no keys, and nothing is ever removed. The slots are zeros
//! from `calloc`, so that a new table costs only the pages that it uses.

use crate::arena::Place;

/// Places by the hashes of their keys.
#[derive(Default)]
pub(crate) struct Index {
    /// The number of slots is a power of two, or 0. A free slot is 0. A used slot is the hash, and the place plus one.
    slots: Vec<u64>,
    used: usize,
}

/// The result of [`Index::find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The slot of the key, and its place.
    Of(usize, Place),
    /// The free slot for the key.
    Free(usize),
    /// No slot: the table is empty.
    None,
}

const FIRST_SLOTS: usize = 64;

#[inline]
fn pack(hash: u32, place: Place) -> u64 {
    u64::from(hash) << 32 | u64::from(place + 1)
}

impl Index {
    /// The slot of the key with `hash` for whose place `is_it` returns true.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut is_it: impl FnMut(Place) -> bool) -> Slot {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        // The loop ends because at least a quarter of the slots is free.
        while let Some(&slot) = self.slots.get(at) {
            if slot == 0 {
                return Slot::Free(at);
            }
            let place = slot as u32 - 1;
            if (slot >> 32) as u32 == hash && is_it(place) {
                return Slot::Of(at, place);
            }
            at = (at + 1) & mask;
        }
        Slot::None
    }

    /// Makes room for one more key. Invalidates the slots found before.
    #[inline]
    pub(crate) fn reserve(&mut self) {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let len = FIRST_SLOTS.max(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, vec![0; len]);
        // In the order of the old slots, which is nearly the order of the new slots.
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let mut at = (slot >> 32) as usize & (len - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (len - 1);
            }
            self.slots[at] = slot;
        }
    }

    /// Fills a free slot, after [`Index::reserve`].
    #[inline]
    pub(crate) fn fill(&mut self, at: usize, hash: u32, place: Place) {
        self.slots[at] = pack(hash, place);
        self.used += 1;
    }

    /// Replaces the place in a key's slot.
    #[inline]
    pub(crate) fn replace(&mut self, at: usize, hash: u32, place: Place) {
        self.slots[at] = pack(hash, place);
    }

    /// The memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests;
