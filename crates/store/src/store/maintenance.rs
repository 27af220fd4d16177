//! Flushes, compactions and other work that a user requests.

use super::Store;
use crate::error::Result;
use std::sync::atomic::AtomicBool;

impl Store {
    /// Makes every earlier write durable. This is the acknowledgement of a bulk load.
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
    /// [`crate::Error::Poisoned`] or [`crate::Error::OutcomeUnknown`]: the log failed.
    pub fn sync(&self) -> Result<()> {
        self.health.check_writable()?;
        self.syncer.sync_all()
    }

    /// Writes everything in memory to sorted files.
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
    /// The error that prevents the flush, such as [`crate::Error::NoSpace`].
    pub fn flush(&self) -> Result<()> {
        self.health.check_takes_writes()?;
        self.upkeep.flush()
    }

    /// Discards the log that was damaged when the store was opened with [`crate::Options::accept_log_damage`], so that
    /// the next open is not refused. Until this call, the whole log is kept as evidence of the loss. Call it after the
    /// consequences of the loss are written. Without damage it does nothing.
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
    /// As [`Store::flush`]; after an error, a later flush discards the log.
    pub fn discard_damage(&self) -> Result<()> {
        self.upkeep.discard_damage()
    }

    /// Flushes, and waits until no compaction is due. Statistics are comparable in this state.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// store.wait_for_compaction()?;
    /// println!("{} bytes on disk", store.stats().disk_bytes);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn wait_for_compaction(&self) -> Result<()> {
        self.health.check_takes_writes()?;
        self.upkeep.settle(&AtomicBool::new(false)).map(drop)
    }

    /// Merges every partition into one sorted run, and frees all space that can be freed.
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

    /// As [`Store::compact`], until `stop` is set. Then returns false within about a second. Runs that were merged
    /// before that stay merged; nothing else has changed.
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
        self.health.check_takes_writes()?;
        self.upkeep.compact(stop)
    }

    /// Does pending background work on this thread until all of it is done. For stores opened with `background:
    /// false`.
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

    /// Does one piece of pending background work on this thread. Returns false if there was none.
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
        self.health.check_open()?;
        match self.options.read_only {
            true => Ok(false),
            false => self.upkeep.run_one_here(),
        }
    }
}
