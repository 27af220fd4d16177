//! The iterator over a memtable.

use crate::arena::{NONE, Place, Stored};
use crate::contents::{Contents, Frozen};
use crate::cursor::Cursor;
use crate::sorted::Sorted;
use crate::table::Memtable;
use alluvium_codec::entry::{EntryIter, Kind, Seq};
use std::sync::Arc;

/// Walks a memtable in entry order, either way.
///
/// On a frozen memtable the iterator takes no lock and copies nothing. On a growing memtable it copies some entries at
/// a time; entries applied after the iterator was created may be missing.
pub struct MemtableIter {
    table: Arc<Memtable>,
    mode: Mode,
}

enum Mode {
    Frozen(Walk),
    Growing(Cursor),
}

/// A position in a frozen memtable.
struct Walk {
    /// The position in the order; at or after the end of the order when not valid.
    at: usize,
    /// The entry at that position, or [`NONE`].
    place: Place,
}

/// How many positions ahead an entry is prefetched.
const AHEAD: usize = 12;

impl Memtable {
    /// Returns an iterator that sees at least the entries applied before this call.
    pub fn iter(self: &Arc<Self>) -> MemtableIter {
        let mode = match self.contents().frozen() {
            Some(_) => Mode::Frozen(Walk { at: usize::MAX, place: NONE }),
            None => Mode::Growing(Cursor::new(self.runs())),
        };
        MemtableIter { table: Arc::clone(self), mode }
    }
}

impl MemtableIter {
    /// True if all entries have lower numbers than `seq`.
    pub fn is_below(&self, seq: Seq) -> bool {
        self.table.last_seq().is_some_and(|last| last < seq)
    }

    /// Releases the copies of entries that the iterator holds. The iterator is not valid until the next seek.
    pub fn release(&mut self) {
        match &mut self.mode {
            Mode::Frozen(walk) => walk.place = NONE,
            Mode::Growing(cursor) => cursor.release(),
        }
    }

    /// Moves to the position that `f` returns if the memtable is frozen, or moves the cursor by `g`.
    #[inline]
    fn navigate(
        &mut self,
        f: impl FnOnce(&Frozen, &Sorted, usize) -> Option<usize>,
        g: impl FnOnce(&mut Cursor, &Contents),
    ) {
        match &mut self.mode {
            Mode::Growing(cursor) => g(cursor, self.table.contents()),
            Mode::Frozen(walk) => {
                let Some(frozen) = self.table.contents().frozen() else { return };
                let order = self.table.frozen_order(frozen);
                walk.at = f(frozen, order, walk.at).unwrap_or(order.places.len());
                walk.place = order.places.get(walk.at).copied().unwrap_or(NONE);
            }
        }
    }

    #[inline]
    fn frozen_entry(&self, walk: &Walk) -> Option<Stored<'_>> {
        let frozen = self.table.contents().frozen().filter(|_| walk.place != NONE)?;
        Some(frozen.state.arena.at(walk.place))
    }
}

impl EntryIter for MemtableIter {
    type Error = alluvium_env::Error;

    fn seek_first(&mut self) -> alluvium_env::Result<()> {
        self.navigate(|_, _, _| Some(0), Cursor::seek_first);
        Ok(())
    }

    fn seek_last(&mut self) -> alluvium_env::Result<()> {
        self.navigate(|_, order, _| order.places.len().checked_sub(1), Cursor::seek_last);
        Ok(())
    }

    fn seek(&mut self, key: &[u8], seq: Seq) -> alluvium_env::Result<()> {
        self.navigate(
            |frozen, order, _| Some(order.lower_bound(&frozen.state.arena, key, seq)),
            |cursor, contents| cursor.seek(contents, key, seq),
        );
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8]) -> alluvium_env::Result<()> {
        self.navigate(
            |frozen, order, _| order.lower_bound(&frozen.state.arena, key, Seq::MAX).checked_sub(1),
            |cursor, contents| cursor.seek_before(contents, key),
        );
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> alluvium_env::Result<()> {
        self.navigate(
            |frozen, order, at| {
                let next = at.saturating_add(1);
                if let Some(&ahead) = order.places.get(next.saturating_add(AHEAD)) {
                    frozen.state.arena.touch(ahead);
                }
                Some(order.places.len().min(next))
            },
            Cursor::next,
        );
        Ok(())
    }

    fn prev(&mut self) -> alluvium_env::Result<()> {
        self.navigate(|_, order, at| if at < order.places.len() { at.checked_sub(1) } else { None }, Cursor::prev);
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        match &self.mode {
            Mode::Frozen(walk) => walk.place != NONE,
            Mode::Growing(cursor) => cursor.valid(),
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match &self.mode {
            Mode::Frozen(walk) => self.frozen_entry(walk).map_or(&[], |e| e.key),
            Mode::Growing(cursor) => cursor.key(),
        }
    }

    #[inline]
    fn seq(&self) -> Seq {
        match &self.mode {
            Mode::Frozen(walk) => self.frozen_entry(walk).map_or(0, |e| e.seq),
            Mode::Growing(cursor) => cursor.seq(),
        }
    }

    #[inline]
    fn kind(&self) -> Kind {
        match &self.mode {
            Mode::Frozen(walk) => self.frozen_entry(walk).and_then(|e| e.kind).unwrap_or(Kind::Put),
            Mode::Growing(cursor) => cursor.kind(),
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match &self.mode {
            Mode::Frozen(walk) => self.frozen_entry(walk).map_or(&[], |e| e.value),
            Mode::Growing(cursor) => cursor.value(),
        }
    }
}
