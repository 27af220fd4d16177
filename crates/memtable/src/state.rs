//! The state that the lock of a memtable guards: the arena and the hash over it.

use crate::arena::{Arena, NONE, Place, Stored};
use crate::index::{Index, Slot};
use crate::sort;
use alluvium_codec::entry::{Entry, Seq};

/// All entries, found by key.
#[derive(Default)]
pub(crate) struct State {
    pub arena: Arena,
    newest: Index,
    /// The number of entries in the arena, replaced ones included.
    pub pushed: usize,
    replaced: usize,
    /// The bytes of all keys and values that were added.
    pub raw: u64,
    /// The common prefix of all keys.
    common: Option<Vec<u8>>,
}

#[inline]
fn hash(key: &[u8]) -> u32 {
    (alluvium_codec::hash64(key) >> 32) as u32
}

impl State {
    /// For few entries.
    pub(crate) fn small() -> Self {
        Self { arena: Arena::small(), ..Self::default() }
    }

    /// Adds an entry. It replaces an entry with the same key and number; no writer should create such a pair.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry<'_>) {
        self.narrow_common(entry.key);
        self.pushed += 1;
        self.raw += (entry.key.len() + entry.value.len()) as u64;
        let hash = hash(entry.key);
        self.newest.reserve();
        let arena = &mut self.arena;
        match self.newest.find(hash, |place| arena.key(place) == entry.key) {
            Slot::Free(at) => {
                let place = arena.push(entry, NONE);
                self.newest.fill(at, hash, place);
            }
            Slot::Of(at, head) => {
                if arena.seq(head) < entry.seq {
                    let place = arena.push(entry, head);
                    self.newest.replace(at, hash, place);
                } else if let Some(new_head) = insert_behind(arena, &mut self.replaced, entry, head) {
                    self.newest.replace(at, hash, new_head);
                }
            }
            // Unreachable: `reserve` made room.
            Slot::None => {}
        }
    }

    /// Adds an entry that iterators return and [`State::get`] does not find.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry<'_>) {
        self.narrow_common(entry.key);
        self.pushed += 1;
        self.raw += (entry.key.len() + entry.value.len()) as u64;
        self.arena.push(entry, NONE);
    }

    #[inline]
    fn narrow_common(&mut self, key: &[u8]) {
        match &mut self.common {
            Some(common) if key.starts_with(common) => {}
            Some(common) => common.truncate(sort::common_prefix(common, key)),
            None => self.common = Some(key.to_vec()),
        }
    }

    /// The length of a common prefix of all keys.
    pub(crate) fn common_len(&self) -> usize {
        self.common.as_ref().map_or(0, Vec::len)
    }

    /// The newest version of `key` not above `seq`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], seq: Seq) -> Option<Stored<'_>> {
        let hash = hash(key);
        let Slot::Of(_, mut at) = self.newest.find(hash, |place| self.arena.key(place) == key) else { return None };
        while at != NONE {
            let stored = self.arena.at(at);
            if stored.seq <= seq {
                return Some(stored);
            }
            at = stored.older;
        }
        None
    }

    /// The number of entries, without the replaced ones.
    pub(crate) fn len(&self) -> usize {
        self.pushed - self.replaced
    }

    /// The memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.capacity() + self.newest.bytes()
    }
}

/// Adds an entry to a chain whose newest version, at `head`, has the same number or a newer one. Returns the new head
/// if the head changes.
fn insert_behind(arena: &mut Arena, replaced: &mut usize, entry: Entry<'_>, head: Place) -> Option<Place> {
    let mut before = NONE;
    let mut at = head;
    while at != NONE && arena.seq(at) > entry.seq {
        before = at;
        at = arena.at(at).older;
    }
    let same = Some(at).filter(|at| *at != NONE && arena.seq(*at) == entry.seq);
    if let Some(same) = same {
        at = arena.at(same).older;
    }
    let place = arena.push(entry, at);
    if let Some(same) = same {
        arena.set_replaced(same, place);
        *replaced += 1;
    }
    if before == NONE {
        return Some(place);
    }
    arena.set_older(before, place);
    None
}
