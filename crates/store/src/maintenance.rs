//! Flushing, settling, compacting and checking on demand, and the end of dropped trees.

use crate::commit::Work;
use crate::store::{Inner, Store};
use crate::{Durability, Error, Result};
use env::sync::Mutex;

impl Store {
    /// Makes every write so far durable. The acknowledgement of a bulk load.
    ///
    /// # Errors
    /// [`Error::Poisoned`] or [`Error::OutcomeUnknown`]: the log failed.
    pub fn sync(&self) -> Result<()> {
        self.inner.writable()?;
        self.inner.sync_log(self.inner.wal.end())
    }

    /// Writes everything in memory to sorted files. Returns when it is there.
    ///
    /// # Errors
    /// What keeps the flush from going on, such as [`Error::NoSpace`].
    pub fn flush(&self) -> Result<()> {
        self.inner.writable()?;
        let all = (0..self.inner.partitions.len() as u32).collect();
        self.inner.commit(Work::Rotate(all), Durability::Bulk)?;
        loop {
            if !self.inner.options.background {
                while self.inner.flush_one()? {}
            }
            if !self.inner.partitions.iter().any(|p| p.view().immutable_count() > 0) {
                return self.inner.release_log();
            }
            self.inner.check_progress()?;
            self.inner.workers.wait_change();
        }
    }

    /// Flushes, and waits until no compaction is due: the state in which figures are taken.
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn settle(&self) -> Result<()> {
        self.flush()?;
        let inner = &self.inner;
        loop {
            if !inner.options.background {
                while inner.run_one(2)? {}
                return Ok(());
            }
            if inner.partitions.iter().all(|p| !p.compaction_due()) && inner.workers.busy() == 0 {
                return Ok(());
            }
            inner.check_progress()?;
            inner.workers.signal();
            inner.workers.wait_change();
        }
    }

    /// Merges every partition into one sorted run and gives back all space that can be.
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn compact(&self) -> Result<()> {
        self.settle()?;
        for partition in &self.inner.partitions {
            partition.compact_all()?;
        }
        Ok(())
    }

    /// Does pending background work on this thread until there is none. For stores opened with
    /// `background: false`.
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn run_pending(&self) -> Result<()> {
        while self.inner.run_one(2)? {}
        Ok(())
    }

    /// Does one piece of pending background work on this thread; false if there was none.
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn run_one_pending(&self) -> Result<bool> {
        self.inner.run_one(2)
    }

    /// Checks every file: every block, order, counts and references. Returns the damage found, one
    /// error for each damaged place.
    ///
    /// # Errors
    /// What keeps the check itself from going on.
    pub fn verify(&self) -> Result<Vec<Error>> {
        self.inner.open_for_reads()?;
        let mut damage = Vec::new();
        for partition in &self.inner.partitions {
            damage.extend(partition.verify().damage.into_iter().map(Error::Storage));
        }
        Ok(damage)
    }
}

impl Inner {
    /// Errors if waiting for background work is in vain.
    fn check_progress(&self) -> Result<()> {
        self.writable()?;
        match &*self.background_error.lock() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Removes the log's segments that nothing needs, also the one that is being written.
    fn release_log(&self) -> Result<()> {
        let needed = self.oldest_needed();
        if needed > self.visibility.visible() {
            for at in 0..self.partitions.len() {
                let seq = self.partitions[at].flushed_seq();
                let note = crate::batch::encode_flushed(at as u32, seq);
                self.commit(Work::Note(note), Durability::Bulk)?;
            }
            // Everything is in sorted files: a new segment lets all the others go.
            self.wal.start_segment()?;
        }
        self.wal.release_below(self.oldest_needed())?;
        Ok(())
    }

    /// Lets the keys of dropped trees go once the drop is durable and no snapshot is older.
    pub(crate) fn purge_dropped(&self) -> Result<()> {
        for (tree, seq) in self.trees.drops_pending() {
            let oldest = self.visibility.live().first().copied().unwrap_or(0);
            if oldest < seq {
                continue;
            }
            self.sync_log(self.wal.end())?;
            self.trees.allow_removal(tree);
            for partition in &self.partitions {
                partition.drop_tree(tree.0)?;
            }
            self.workers.signal();
        }
        Ok(())
    }

    /// Keeps the first failure of background work, or clears it after a success.
    pub(crate) fn note_background(&self, error: Option<Error>) {
        let slot: &Mutex<Option<Error>> = &self.background_error;
        *slot.lock() = error;
    }
}
