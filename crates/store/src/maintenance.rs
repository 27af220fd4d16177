//! Flushing, settling, compacting and checking on demand, and the end of dropped trees.

use crate::commit::Work;
use crate::marks;
use crate::store::{Inner, Store};
use crate::{Durability, Error, Result};
use alluvium_codec::entry::Seq;
use alluvium_env::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A log of a single segment is not worth a flush, for want of space, up to this many bytes.
const SMALL_LOG: u64 = 128 << 10;
/// What files may keep for snapshots in any case, unless an option says otherwise, in bytes.
const LEAST_SNAPSHOT_DEBT: u64 = 1 << 30;
/// Segments beyond those that the log's limit explains, before open flushes to get rid of them.
const MANY_SEGMENTS: u64 = 32;

impl Store {
    /// Makes every write so far durable. The acknowledgement of a bulk load.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Bulk)?;
    /// store.sync()?; // now it survives power loss
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Poisoned`] or [`Error::OutcomeUnknown`]: the log failed.
    pub fn sync(&self) -> Result<()> {
        self.inner.writable()?;
        self.inner.sync_log(self.inner.wal.end())
    }

    /// Writes everything in memory to sorted files. Returns when it is there.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// store.flush()?;
    /// assert!(store.stats().partitions.iter().any(|partition| partition.files > 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What keeps the flush from going on, such as [`Error::NoSpace`].
    pub fn flush(&self) -> Result<()> {
        self.inner.writable()?;
        self.inner.ended(self.inner.flush())
    }

    /// Lets the log go that was damaged when the store was opened with
    /// [`crate::Options::accept_log_damage`], so that the next open is not refused. Until then all
    /// of it is kept, so that nothing is forgotten of what was lost: called once the consequences
    /// are written. Without damage it does nothing.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// store.discard_damage()?; // nothing was damaged
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`]; the log goes with a later flush then.
    pub fn discard_damage(&self) -> Result<()> {
        let inner = &self.inner;
        inner.discard(|| {
            inner.writable()?;
            inner.ended(inner.flush_all())
        })
    }

    /// Flushes, and waits until no compaction is due: the state in which figures are taken.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// store.settle()?;
    /// println!("{} bytes on disk", store.stats().disk_bytes);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn settle(&self) -> Result<()> {
        self.settle_unless(&AtomicBool::new(false)).map(drop)
    }

    fn settle_unless(&self, stop: &AtomicBool) -> Result<bool> {
        let inner = &self.inner;
        if let Err(error) = self.flush() {
            inner.writable()?;
            // What compaction removes may be what is in the way.
            while !stop.load(Ordering::Relaxed) && inner.ended(inner.reduce(2)).map_err(|_| error.clone())? {}
            self.flush()?;
        }
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if !inner.options.background {
                if self.run_one_pending()? {
                    continue;
                }
                return Ok(true);
            }
            if inner.partitions.iter().all(|p| !p.compaction_due()) && inner.workers.busy() == 0 {
                return Ok(true);
            }
            inner.ended(inner.check_progress())?;
            inner.workers.signal();
            inner.workers.wait_change();
        }
    }

    /// Merges every partition into one sorted run and gives back all space that can be.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// store.compact()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn compact(&self) -> Result<()> {
        self.compact_unless(&AtomicBool::new(false)).map(drop)
    }

    /// As [`Store::compact`], until somebody sets `stop`: false then, within a second or so. What was merged by
    /// then stays merged, and nothing else has changed.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// assert!(store.compact_unless(&stop)?);
    /// # store.close()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn compact_unless(&self, stop: &AtomicBool) -> Result<bool> {
        if !self.settle_unless(stop)? {
            return Ok(false);
        }
        // So that the space of trees dropped a moment ago is given back too.
        self.inner.ended(self.inner.purge_dropped())?;
        for partition in &self.inner.partitions {
            let compacted = partition.compact_all_unless(&|| stop.load(Ordering::Relaxed));
            if !self.inner.ended(compacted.map_err(Error::from))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does pending background work on this thread until there is none. For stores opened with
    /// `background: false`.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let options = Options { background: false, ..Options::default() };
    /// # let store = Store::open(alluvium_env::Env::in_memory(2), std::path::Path::new("db"), options)?;
    /// store.run_pending()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn run_pending(&self) -> Result<()> {
        while self.run_one_pending()? {}
        Ok(())
    }

    /// Does one piece of pending background work on this thread; false if there was none.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// while store.run_one_pending()? {}
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn run_one_pending(&self) -> Result<bool> {
        self.inner.open_for_reads()?;
        self.inner.ended(self.inner.run_one(2))
    }
}

impl Inner {
    /// Lets the damaged log go, with `flush` at its end.
    fn discard(&self, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        self.discard_wanted.store(false, Ordering::SeqCst);
        if !self.damaged.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        // The segment that was made when the store was opened says what was passed over. With a
        // note in it, it gives way to another.
        self.note_flushed(0).and_then(|_| flush()).inspect_err(|_| {
            // Nothing is let go of then; a later flush tries again, and so do the threads.
            self.damaged.store(true, Ordering::SeqCst);
            self.discard_wanted.store(true, Ordering::SeqCst);
        })
    }

    /// Lets the damaged log go if that failed before: what is in memory is sealed, and its flush does the rest.
    pub(crate) fn discard_later(&self) {
        if self.discard_wanted.load(Ordering::SeqCst) {
            let all = (0..self.partitions.len() as u32).collect();
            // It is wanted still then.
            let _later = self.discard(|| self.commit(Work::Rotate(all), Durability::Bulk).map(drop));
        }
    }

    /// Errors if waiting for a flush is in vain, as [`Inner::check_progress`] for all work. A compaction that fails is in no
    /// flush's way, unless it would have made room for it.
    fn check_flushes(&self) -> Result<()> {
        self.writable()?;
        if self.background_error.lock().is_none() {
            return Ok(());
        }
        match self.flush_one().and_then(|flushed| Ok(flushed || self.relieve_log()?)) {
            Ok(_) => Ok(()),
            Err(error) if self.writable().is_err() => Err(error),
            Err(error) => match self.reduce(2) {
                Ok(true) => Ok(()),
                Ok(false) | Err(_) => Err(error),
            },
        }
    }

    /// Errors if waiting for background work is in vain. What a worker has noted may have begun before
    /// there was space again: a try of our own tells.
    fn check_progress(&self) -> Result<()> {
        self.writable()?;
        let failed = self.background_error.lock().is_some();
        if failed { self.run_one(2).map(|_| ()) } else { Ok(()) }
    }

    /// Flushes all that has a number now, and lets the damaged log go if that failed before.
    fn flush(&self) -> Result<()> {
        self.flush_all()?;
        if self.discard_wanted.load(Ordering::SeqCst) {
            // All that was asked for is done; it is wanted still if this fails.
            let _later = self.discard(|| self.flush_all());
        }
        Ok(())
    }

    /// Flushes all that has a number now. What others write meanwhile is not waited for.
    fn flush_all(&self) -> Result<()> {
        // What failed before is tried again.
        self.note_background(None);
        let all = (0..self.partitions.len() as u32).collect();
        let next = self.commit(Work::Rotate(all), Durability::Bulk)?;
        self.workers.signal();
        loop {
            if !self.options.background {
                while self.flush_one()? {}
            }
            let sealed_before = |view: &alluvium_lsm::View| {
                view.immutable_count() > 0 && view.oldest_unflushed().is_some_and(|first| first < next)
            };
            if !self.partitions.iter().any(|p| sealed_before(&p.view())) {
                return self.release_log();
            }
            self.check_flushes()?;
            self.workers.wait_change();
        }
    }

    /// After a segment was refused for want of space: has everything flushed that keeps the log
    /// from giving its own space back, and then gives it back, so that writes go on by themselves
    /// where that is enough. False if there was nothing to do, or others are at it.
    pub(crate) fn relieve_log(&self) -> Result<bool> {
        let worth = |log: &alluvium_wal::Wal| log.can_release_below(u64::MAX) || log.bytes_on_disk() > SMALL_LOG;
        if !self.wal.is_short() || !worth(&self.wal) {
            return Ok(false);
        }
        let full = self.partitions.iter().enumerate().filter(|(_, p)| !p.active().is_empty());
        let full: Vec<u32> = full.map(|(at, _)| at as u32).collect();
        if !full.is_empty() {
            self.commit(Work::Rotate(full), Durability::Bulk)?;
            return Ok(true);
        }
        if self.oldest_needed() > self.visibility.visible() {
            self.release_log()?;
            return Ok(!worth(&self.wal));
        }
        Ok(false)
    }

    /// Removes the log's segments that nothing needs, also the one that is being written.
    fn release_log(&self) -> Result<()> {
        if self.oldest_needed() > self.visibility.visible() {
            // Everything is in sorted files: a new segment, with the notes, lets all the others go.
            self.wal.start_segment()?;
        }
        self.note_flushes()
    }

    /// Lets go of what is not needed of a log that open has found with so many segments; every open
    /// adds one. Before the threads are started.
    pub(crate) fn trim_log(&self, segments: usize) -> Result<()> {
        let usual = self.options.log_limit_bytes() / self.options.log_segment_bytes();
        if segments as u64 > 2 * usual + MANY_SEGMENTS {
            let all = (0..self.partitions.len() as u32).collect();
            self.commit(Work::Rotate(all), Durability::Bulk)?;
            while self.flush_one()? {}
        }
        self.note_flushes()
    }

    /// Lets the keys of dropped trees go once the drop is durable and no snapshot is older.
    pub(crate) fn purge_dropped(&self) -> Result<()> {
        for (tree, seq) in self.trees.drops_pending() {
            let oldest = self.visibility.live().first().copied().unwrap_or(0);
            if oldest < seq {
                marks::DROP_WAITED.hit();
                continue;
            }
            self.sync_log(self.wal.end())?;
            self.trees.forget(tree);
            for partition in &self.partitions {
                partition.drop_tree(tree.0)?;
            }
            self.workers.signal();
        }
        Ok(())
    }

    /// Ends the snapshots that are too old, and the oldest ones while files keep too much for them.
    pub(crate) fn end_snapshots(&self) {
        let old = self.visibility.end_old();
        if old > 0 {
            marks::SNAPSHOT_TOO_OLD.hit();
            crate::events::snapshots_ended(old, "they were older than snapshot_max_age");
        }
        while let Some(oldest) = self.visibility.oldest_seq() {
            if self.snapshot_debt_above(oldest) <= self.snapshot_debt_limit() {
                return;
            }
            let ended = self.visibility.end_up_to(oldest);
            marks::SNAPSHOT_TOO_LARGE.hit();
            crate::events::snapshots_ended(ended, "files kept more than snapshot_max_debt_bytes for them");
        }
    }

    /// About the bytes that files keep only because a snapshot may need them.
    pub(crate) fn snapshot_debt(&self) -> u64 {
        self.visibility.oldest_seq().map_or(0, |oldest| self.snapshot_debt_above(oldest))
    }

    /// The same, if this were the oldest snapshot. Cheap: the partitions keep the figures.
    fn snapshot_debt_above(&self, oldest: Seq) -> u64 {
        let mut bytes: u64 = self.partitions.iter().map(|p| p.kept_bytes(oldest)).sum();
        for (tree, dropped) in self.trees.drops_pending() {
            if dropped > oldest {
                bytes += self.partitions.iter().map(|p| p.tree_bytes(tree.0)).sum::<u64>();
            }
        }
        bytes
    }

    fn snapshot_debt_limit(&self) -> u64 {
        let quarter = || self.partitions.iter().map(|p| p.file_bytes()).sum::<u64>() / 4;
        self.options.snapshot_max_debt_bytes.unwrap_or_else(|| quarter().max(LEAST_SNAPSHOT_DEBT))
    }

    /// Keeps the first failure of background work, or clears it after a success.
    pub(crate) fn note_background(&self, error: Option<Error>) {
        let slot: &Mutex<Option<Error>> = &self.background_error;
        // Tried again at every tick, it may fail as often: the first time is told.
        let first = error.clone().filter(|_| slot.lock().is_none());
        *slot.lock() = error;
        if let Some(error) = first {
            crate::events::background_failed(&error);
        }
    }
}

#[cfg(test)]
mod tests;
