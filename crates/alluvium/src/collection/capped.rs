//! Capped collections.

use super::Collection;
use crate::copy_to_capped::CopyToCapped;
use alluvium_collections::capped;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::limits::{CappedLimits, Limits};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

impl<T> Collection<T> {
    /// The limits of a capped collection; `None` if it is not capped.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets").run()?;
    /// assert_eq!(db.collection("pets").capped()?, None);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`].
    pub fn capped(&self) -> Result<Option<CappedLimits>> {
        Ok(self.target.engine.catalog.require(self.target.name()?)?.capped())
    }

    /// True if the collection was created with [`crate::CreateCollection::natural_order`], so that its documents keep
    /// the order of insertion.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").natural_order(true).run()?;
    /// assert!(pets.natural_order()?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`].
    pub fn natural_order(&self) -> Result<bool> {
        Ok(self.target.engine.catalog.require(self.target.name()?)?.indexes().options.natural_order)
    }

    /// Changes the limits of a capped collection. If the new limits are lower, the next insert deletes the documents
    /// that exceed them.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    ///
    /// let log = db.create_collection("log").capped(CappedLimits { size_bytes: 4096, documents: None }).run()?;
    /// log.set_capped(CappedLimits { size_bytes: 8192, documents: Some(100) })?;
    /// assert_eq!(log.capped()?.unwrap().documents, Some(100));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; [`crate::Error::InvalidDocument`] if it is not capped; as for any write.
    pub fn set_capped(&self, limits: CappedLimits) -> Result<()> {
        if self.capped()?.is_none() {
            let name = self.target.name()?;
            return Err(Error::InvalidDocument(format!("collection {name} is not capped: convert it first")));
        }
        let checked = CappedLimits::from_options(&limits.to_options())?;
        let (engine, name) = self.target.outside("a change of a collection's options")?;
        engine.catalog.change_options(name, |options| options.capped = checked)?;
        Ok(())
    }

    /// Copies the documents into a new capped collection. Set time limits, then call [`CopyToCapped::run`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    ///
    /// let pets = db.create_collection("pets").run()?;
    /// pets.copy_to_capped(&db.collection("log"), CappedLimits { size_bytes: 4096, documents: None }).run()?;
    /// assert!(db.collection("log").capped()?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn copy_to_capped(&self, to: &Self, limits: CappedLimits) -> CopyToCapped {
        CopyToCapped::new(self.target.clone(), to.target.clone(), limits)
    }

    /// Makes the collection capped, and deletes its oldest documents until it is within the limits. The documents are
    /// then ordered by their last full writes. No document is copied. Writes to the collection wait for the conversion.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    ///
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "rex"}"#, r#"{"_id": "mia"}"#, r#"{"_id": "ada"}"#])?;
    /// pets.convert_to_capped(CappedLimits { size_bytes: 4096, documents: Some(2) })?;
    /// let kept: Vec<String> = pets.find("{}").run()?.map(|pet| Ok(pet?.to_string())).collect::<alluvium::Result<_>>()?;
    /// assert_eq!(kept, [r#"{"_id":"mia"}"#, r#"{"_id":"ada"}"#]);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; [`crate::Error::InvalidDocument`] for a limit of 0 bytes; as for any write.
    pub fn convert_to_capped(&self, limits: CappedLimits) -> Result<()> {
        self.convert_to_capped_within(limits, Duration::ZERO, Arc::default())
    }

    /// Same as [`Collection::convert_to_capped`], with a time limit, where zero means no limit. If the time expires, or
    /// `stop` is set to true, before the order of the documents is complete, the collection is unchanged.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    /// use std::time::Duration;
    ///
    /// let pets = db.create_collection("pets").run()?;
    /// let stop = std::sync::Arc::default(); // another thread may set it
    /// let limits = CappedLimits { size_bytes: 4096, documents: None };
    /// pets.convert_to_capped_within(limits, Duration::from_secs(60), stop)?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::convert_to_capped`]; [`crate::Error::Stopped`], [`crate::Error::MaxTimeExpired`].
    pub fn convert_to_capped_within(
        &self,
        limits: CappedLimits,
        max_time: Duration,
        stop: Arc<AtomicBool>,
    ) -> Result<()> {
        CappedLimits::from_options(&limits.to_options())?;
        self.target.outside("a conversion of a collection")?;
        let writer = self.target.writer()?;
        let mut within = Limits::default();
        within.set_max_time(max_time);
        within.stop = Some(stop);
        capped::convert(writer.engine, writer.name, limits, writer.durability, within)
    }
}
