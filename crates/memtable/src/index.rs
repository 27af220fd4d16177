//! The hash of a memtable: from keys to their newest versions.
//!
//! Open addressing with linear probing, 8 bytes a slot: half a hash and a place. A look-up
//! costs one cache miss here where a table with its tags apart costs two, growing reads no
//! keys, and nothing is ever removed. The slots are calloc'ed zeros, so that a new table costs
//! only the pages that it uses.

use crate::arena::Place;

/// Places by the hashes of their keys.
#[derive(Default)]
pub(crate) struct Index {
    /// A power of two of them, or none. 0 is free; else the hash, and the place plus one.
    slots: Vec<u64>,
    used: usize,
}

/// Where [`Index::find`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A key's.
    Of(usize, Place),
    /// A free one, where the key would be.
    Free(usize),
    /// There is none: the table is empty.
    None,
}

const FIRST_SLOTS: usize = 64;

#[inline]
fn pack(hash: u32, place: Place) -> u64 {
    u64::from(hash) << 32 | u64::from(place + 1)
}

impl Index {
    /// The slot of the key with `hash` of which `is_it` says that its place is right.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut is_it: impl FnMut(Place) -> bool) -> Slot {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        // Ends: a quarter of the slots is free.
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

    /// Makes room for one key more. Slots found before are no longer right.
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
        // In the order of the old slots, which is nearly the order of the new ones.
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

    /// Gives a key's slot another place.
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
