//! Capped collections.

use super::Collection;
use crate::create_collection::CreateCollection;
use alluvium_collections::capped;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::limits::CappedLimits;

impl<T> Collection<T> {
    /// Creates the collection with options. Set them, then call [`CreateCollection::run`]. Without options, the first
    /// write creates it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.collection("pets").create().run()?;
    /// assert_eq!(db.collections().len(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn create(&self) -> CreateCollection {
        CreateCollection::new(self.target.clone())
    }

    /// The limits of a capped collection; `None` if it is not capped.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets")?;
    /// assert_eq!(db.collection("pets").capped()?, None);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`].
    pub fn capped(&self) -> Result<Option<CappedLimits>> {
        Ok(self.target.engine.catalog.require(self.target.name()?)?.capped())
    }

    /// Gives a capped collection other limits. Lower ones delete documents with the next insert.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    ///
    /// let log = db.collection("log");
    /// log.create().capped(CappedLimits { size_bytes: 4096, documents: None }).run()?;
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
        self.target.engine.catalog.change_options(self.target.name()?, |options| options.capped = checked)?;
        Ok(())
    }

    /// Makes the collection capped, and deletes its oldest documents until it is within the limits. The documents are
    /// in the order of their last full writes then. Nothing is copied, and writes to it wait.
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
        CappedLimits::from_options(&limits.to_options())?;
        let writer = self.target.writer()?;
        capped::convert(writer.engine, writer.name, limits, writer.durability)
    }
}
