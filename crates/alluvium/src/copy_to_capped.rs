//! Copying a collection into a capped one.

use crate::target::Target;
use alluvium_collections::copying;
use alluvium_collections::error::Result;
use alluvium_collections::limits::{CappedLimits, Limits};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A copy into a new capped collection; returned by [`crate::Collection::copy_to_capped`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// use alluvium::CappedLimits;
///
/// let (pets, log) = (db.collection("pets"), db.collection("log"));
/// pets.insert_many([r#"{"_id": "rex"}"#, r#"{"_id": "mia"}"#])?;
/// pets.copy_to_capped(&log, CappedLimits { size_bytes: 4096, documents: Some(1) }).run()?;
/// assert_eq!(log.count()?, 1);
/// # alluvium::Result::Ok(())
/// ```
#[must_use = "nothing is copied until `run`"]
pub struct CopyToCapped {
    from: Target,
    to: Target,
    capped: CappedLimits,
    limits: Limits,
}

impl CopyToCapped {
    pub(crate) fn new(from: Target, to: Target, capped: CappedLimits) -> Self {
        Self { from, to, capped, limits: Limits::default() }
    }

    /// Ends the copy with [`crate::Error::MaxTimeExpired`] if it takes longer than this. Default: zero, which is no
    /// limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let (pets, log) = (db.create_collection("pets").run()?, db.collection("log"));
    /// # let limits = alluvium::CappedLimits { size_bytes: 4096, documents: None };
    /// pets.copy_to_capped(&log, limits).max_time(std::time::Duration::from_secs(60)).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.limits.set_max_time(time);
        self
    }

    /// Ends the copy with [`crate::Error::Stopped`] when `stop` is set to true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let (pets, log) = (db.create_collection("pets").run()?, db.collection("log"));
    /// # let limits = alluvium::CappedLimits { size_bytes: 4096, documents: None };
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// pets.copy_to_capped(&log, limits).stop_when(stop).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.limits.stop = Some(stop);
        self
    }

    /// Copies the documents of one snapshot. The new collection appears only once it has all of them.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`], [`crate::Error::CollectionExists`]; [`crate::Error::InvalidDocument`] for a
    /// limit of 0 bytes; [`crate::Error::Stopped`], [`crate::Error::MaxTimeExpired`]; as for any read and write.
    pub fn run(self) -> Result<()> {
        CappedLimits::from_options(&self.capped.to_options())?;
        let ((_, from), (_, to)) = (self.from.outside("a copy")?, self.to.outside("a copy")?);
        copying::copy_to_capped(&self.from.engine, from, to, self.capped, self.to.durability, self.limits)
    }
}
