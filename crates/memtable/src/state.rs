//! What the lock of a memtable guards: the arena and the hash over it.

use crate::arena::{Arena, NONE, Place, Stored};
use codec::entry::{Entry, Seq};
use hashbrown::HashTable;
use hashbrown::hash_table;

/// All entries, found by key.
#[derive(Default)]
pub(crate) struct State {
    pub arena: Arena,
    newest: HashTable<Slot>,
    /// Entries in the arena, replaced ones too.
    pub pushed: usize,
    replaced: usize,
    /// A prefix that all keys have.
    common: Option<Vec<u8>>,
}

/// The newest version of a key. The hash is kept, so that growing the table reads no keys.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    place: Place,
}

/// The table takes a bucket from the low bits and a tag from the highest seven.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[inline]
fn hash(key: &[u8]) -> u32 {
    (codec::hash64(key) >> 32) as u32
}

impl State {
    /// Adds an entry. One with the same key and number, which nobody should write, is replaced.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry<'_>) {
        self.narrow_common(entry.key);
        self.pushed += 1;
        let hash = hash(entry.key);
        let arena = &mut self.arena;
        let found = self.newest.entry(
            spread(hash),
            |slot| slot.hash == hash && arena.key(slot.place) == entry.key,
            |slot| spread(slot.hash),
        );
        match found {
            hash_table::Entry::Vacant(vacant) => {
                let place = arena.push(entry, NONE);
                vacant.insert(Slot { hash, place });
            }
            hash_table::Entry::Occupied(mut occupied) => {
                let head = occupied.get().place;
                if arena.seq(head) < entry.seq {
                    occupied.get_mut().place = arena.push(entry, head);
                } else if let Some(new_head) = insert_behind(arena, &mut self.replaced, entry, head) {
                    occupied.get_mut().place = new_head;
                }
            }
        }
    }

    #[inline]
    fn narrow_common(&mut self, key: &[u8]) {
        match &mut self.common {
            Some(common) if key.starts_with(common) => {}
            Some(common) => common.truncate(crate::sort::common_prefix(common, key)),
            None => self.common = Some(key.to_vec()),
        }
    }

    /// The length of a prefix that all keys have.
    pub(crate) fn common_len(&self) -> usize {
        self.common.as_ref().map_or(0, Vec::len)
    }

    /// The newest version of `key` not above `seq`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], seq: Seq) -> Option<Stored<'_>> {
        let hash = hash(key);
        let found = self.newest.find(spread(hash), |slot| slot.hash == hash && self.arena.key(slot.place) == key)?;
        let mut at = found.place;
        while at != NONE {
            let stored = self.arena.at(at);
            if stored.seq <= seq {
                return Some(stored);
            }
            at = stored.older;
        }
        None
    }

    /// Entries, without the replaced ones.
    pub(crate) fn len(&self) -> usize {
        self.pushed - self.replaced
    }

    /// The memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.capacity() + self.newest.allocation_size()
    }
}

/// Adds an entry to a chain whose newest version, at `head`, is not older. Returns the new
/// head if it changes.
fn insert_behind(arena: &mut Arena, replaced: &mut usize, entry: Entry<'_>, head: Place) -> Option<Place> {
    let mut before = NONE;
    let mut at = head;
    while at != NONE && arena.seq(at) > entry.seq {
        before = at;
        at = arena.at(at).older;
    }
    if at != NONE && arena.seq(at) == entry.seq {
        arena.set_replaced(at);
        *replaced += 1;
        at = arena.at(at).older;
    }
    let place = arena.push(entry, at);
    if before == NONE {
        return Some(place);
    }
    arena.set_older(before, place);
    None
}
