//! Long operations on a whole database that can be stopped.

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::limits::Limits;
use alluvium_collections::verify::VerifyReport;
use alluvium_collections::{open, verify};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A compaction of the whole database; returned by [`crate::Database::compact`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// db.compact().run()?;
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
#[must_use = "nothing is compacted until `run`"]
pub struct Compact {
    engine: EngineHandle,
    stop: Arc<AtomicBool>,
}

impl Compact {
    pub(crate) fn new(engine: EngineHandle) -> Self {
        Self { engine, stop: Arc::default() }
    }

    /// Ends the compaction with [`crate::Error::Stopped`] when `stop` is set to true, within one block. Finished
    /// partitions stay merged; the new files of an unfinished partition are removed.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let stop = Arc::new(AtomicBool::new(false));
    /// stop.store(true, Ordering::Relaxed); // another thread may do that
    /// assert_eq!(db.compact().stop_when(stop).run().unwrap_err().kind(), alluvium::ErrorKind::Stopped);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Merges each partition into one sorted run.
    ///
    /// # Errors
    /// As [`crate::Database::flush`]; [`crate::Error::Stopped`].
    pub fn run(self) -> Result<()> {
        open::compact(&self.engine, &self.stop)
    }
}

/// A check of the whole database; returned by [`crate::Database::verify`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// for damage in db.verify().run()?.damage {
///     eprintln!("{damage}");
/// }
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
#[must_use = "nothing is verified until `run`"]
pub struct Verify {
    engine: EngineHandle,
    limits: Limits,
}

impl Verify {
    pub(crate) fn new(engine: EngineHandle) -> Self {
        Self { engine, limits: Limits::default() }
    }

    /// Ends the check with [`crate::Error::Stopped`] when `stop` is set to true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// assert!(db.verify().stop_when(stop.clone()).run()?.damage.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.limits.stop = Some(stop);
        self
    }

    /// Ends the check with [`crate::Error::MaxTimeExpired`] if it takes longer than this. Default: zero, which is no
    /// limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert!(db.verify().max_time(std::time::Duration::from_secs(60)).run()?.damage.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.limits.set_max_time(time);
        self
    }

    /// Runs the check, and returns the damage and statistics of each index.
    ///
    /// # Errors
    /// Errors of reading the files; [`crate::Error::Stopped`], [`crate::Error::MaxTimeExpired`]. Damage is not an error: it is in the
    /// report.
    pub fn run(self) -> Result<VerifyReport> {
        verify::verify(&self.engine, self.limits)
    }
}
