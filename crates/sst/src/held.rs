//! Index partitions that files hold themselves, outside the block cache.
//!
//! A point read uses an index partition and a data block. A look-up in the cache costs a hash, a
//! lock and a few cache lines of the table, whereas a partition that its file holds is found by its
//! index. A [`Holder`], which the cache above owns, limits the memory of all held partitions. When
//! the limit is lowered, partitions are released. At the limit, a new partition replaces a
//! partition that was not used for a while, if one is found nearby (second chance: CLOCK, after
//! Corbató 1968). Otherwise the new partition is cached like any block.
//!
//! Locking: the ring of files, a leaf. Readers take no lock.

use crate::block::Block;
use alluvium_env::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use alluvium_env::sync::{ArcSlot, Mutex, Pinned};
use std::sync::{Arc, Weak};

/// The number of slots that are searched for an unused partition.
const LOOK_AT: usize = 16;

/// Limits the memory of the partitions that all files hold.
#[derive(Default)]
pub struct Holder {
    limit: AtomicUsize,
    bytes: AtomicUsize,
    blocks: AtomicUsize,
    ring: Mutex<Ring>,
}

/// The files, and the slot where the next search begins.
#[derive(Default)]
struct Ring {
    files: Vec<Weak<Held>>,
    file: usize,
    slot: usize,
}

/// The partitions that one file holds: a slot for each of its index partitions.
pub(crate) struct Held {
    slots: Box<[Slot]>,
    holder: Option<Arc<Holder>>,
}

#[derive(Default)]
struct Slot {
    block: ArcSlot<Block>,
    /// Set by a look-up; cleared when the search passes the slot.
    used: AtomicBool,
}

impl Holder {
    /// A holder with a limit of `limit` bytes for all files together.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: AtomicUsize::new(limit), ..Self::default() })
    }

    /// The bytes of held partitions.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of held partitions.
    pub fn blocks(&self) -> usize {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Changes the limit; partitions beyond it are released at once.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        if self.bytes() > limit {
            let mut ring = self.ring.lock();
            // Two rounds: the first clears the marks of use, so that the second can release those
            // slots as well.
            let slots: usize = ring.files.iter().filter_map(Weak::upgrade).map(|held| held.slots.len()).sum();
            self.make_room(&mut ring, 2 * (slots + 1));
        }
    }

    /// Releases all partitions.
    pub fn clear(&self) {
        let ring = self.ring.lock();
        for held in ring.files.iter().filter_map(Weak::upgrade) {
            held.slots.iter().for_each(|slot| drop(self.release(slot)));
        }
    }

    /// Reserves `bytes` below the limit.
    fn reserve(&self, bytes: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= limit {
            return true;
        }
        let made = bytes <= limit && self.make_room(&mut self.ring.lock(), LOOK_AT);
        if !made {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        made
    }

    /// Examines up to `steps` slots, and releases partitions that were not used since the last
    /// time, until the held bytes are within the limit.
    fn make_room(&self, ring: &mut Ring, steps: usize) -> bool {
        let fits = || self.bytes() <= self.limit.load(Ordering::Relaxed);
        let mut left = steps;
        while !fits() && left > 0 {
            let Some(held) = ring.current() else { return fits() };
            while let (Some(slot), false, true) = (held.slots.get(ring.slot), fits(), left > 0) {
                if !slot.used.swap(false, Ordering::Relaxed) {
                    drop(self.release(slot));
                }
                ring.slot += 1;
                left -= 1;
            }
        }
        fits()
    }

    fn release(&self, slot: &Slot) -> Option<Arc<Block>> {
        let block = slot.block.take()?;
        self.bytes.fetch_sub(block.weight(), Ordering::Relaxed);
        self.blocks.fetch_sub(1, Ordering::Relaxed);
        Some(block)
    }
}

impl Ring {
    /// The current file; if it no longer exists or has no more slots, the next file that has.
    fn current(&mut self) -> Option<Arc<Held>> {
        loop {
            if self.file >= self.files.len() {
                (self.file, self.slot) = (0, 0);
            }
            match self.files.get(self.file)?.upgrade() {
                Some(held) if self.slot < held.slots.len() => return Some(held),
                Some(_) => (self.file, self.slot) = (self.file + 1, 0),
                None => {
                    self.files.swap_remove(self.file);
                    self.slot = 0;
                }
            }
        }
    }
}

impl Held {
    /// Slots for `partitions` index partitions. Without a holder no partition is held.
    pub(crate) fn new(partitions: usize, holder: Option<Arc<Holder>>) -> Arc<Self> {
        let places = if holder.is_some() { partitions } else { 0 };
        let held = Arc::new(Self { slots: (0..places).map(|_| Slot::default()).collect(), holder });
        if let (Some(holder), true) = (&held.holder, places > 0) {
            let mut ring = holder.ring.lock();
            // Files that no longer exist are removed from the ring when the search passes them, or
            // before the ring would grow.
            if ring.files.len() == ring.files.capacity() {
                ring.files.retain(|file| file.strong_count() > 0);
                (ring.file, ring.slot) = (0, 0);
            }
            ring.files.push(Arc::downgrade(&held));
        }
        held
    }

    /// Partition `index`, if it is held.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Pinned<Block> {
        match self.slots.get(index) {
            Some(slot) => {
                let block = slot.block.load();
                if block.is_some() && !slot.used.load(Ordering::Relaxed) {
                    slot.used.store(true, Ordering::Relaxed);
                }
                block
            }
            None => ArcSlot::nothing(),
        }
    }

    /// Begins to hold partition `index`, if the limit allows it.
    pub(crate) fn put(&self, index: usize, block: &Arc<Block>) -> bool {
        let (Some(slot), Some(holder)) = (self.slots.get(index), &self.holder) else { return false };
        if !holder.reserve(block.weight()) {
            return false;
        }
        // Counted before it is stored: a thread that takes it out immediately subtracts it again.
        holder.blocks.fetch_add(1, Ordering::Relaxed);
        if !slot.block.fill(block) {
            // Another thread was faster.
            holder.bytes.fetch_sub(block.weight(), Ordering::Relaxed);
            holder.blocks.fetch_sub(1, Ordering::Relaxed);
        }
        true
    }

    /// Releases partition `index`.
    pub(crate) fn take(&self, index: usize) -> Option<Arc<Block>> {
        self.holder.as_ref()?.release(self.slots.get(index)?)
    }

    /// The memory of the slots themselves.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.slots)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(holder) = &self.holder {
            self.slots.iter().for_each(|slot| drop(holder.release(slot)));
        }
    }
}

#[cfg(all(test, feature = "loom"))]
mod orders;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
#[cfg(test)]
mod tests;
