//! Changes by `_id`: by a function, blind, and replacements of one version.

use super::Collection;
use alluvium_collections::by_id::get_versioned;
use alluvium_collections::error::Result;
use alluvium_collections::read::from_document;
use alluvium_collections::results::Version;
use alluvium_document::{DocumentFor, Draft, FromDocument, IntoDocument, Value};
use alluvium_query::update::Update;

impl<T> Collection<T> {
    /// Reads the document with this `_id`, lets `change` change it, and writes it back, with no
    /// write of others in between. `change` returns false to leave it as it is. Returns false if
    /// there is no such document.
    ///
    /// Giving other values to fields that the document has ([`Draft::set`]) decodes nothing else of
    /// it, and is a good deal cheaper than [`Draft::map`].
    ///
    /// The document is locked while `change` runs, so `change` must not write to the database, nor
    /// wait for a thread that does: it could wait for itself. If the document has become much larger
    /// than those changed before it, `change` is called once more, for the document as it is then, if it
    /// is still there: memory is reserved before documents are locked, and its size is known only afterwards.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let found = pets.modify("rex", |draft| {
    ///     draft.map()?.insert("name", "Rex");
    ///     Ok(true) // It has changed: write it.
    /// })?;
    /// assert!(found);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`] and [`Collection::put`]; an error of `change` is returned and nothing
    /// is written.
    pub fn modify(&self, id: impl Into<Value>, change: impl FnMut(&mut Draft) -> Result<bool>) -> Result<bool> {
        self.target.writer()?.modify(&id.into(), change)
    }

    /// Applies an update to the document with this `_id` without reading it: writes a delta of some 20 bytes. Reads apply
    /// the delta to the document; compaction does so for good.
    ///
    /// Without such a document it does nothing. An update that cannot be applied (an `$inc` of a text) leaves the document
    /// unchanged, and is counted in [`crate::Stats::deltas_refused`]. [`Collection::update_one`] reads the document, and
    /// reports what it did.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let counters = db.collection("counters");
    /// counters.put("visits", r#"{"n": 0}"#)?;
    /// for _ in 0..100 {
    ///     counters.update_blind("visits", r#"{"$inc": {"n": 1}}"#)?;
    /// }
    /// assert_eq!(counters.get("visits")?.unwrap().to_string(), r#"{"_id":"visits","n":100}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Update`] if the update is not valid; as for any write.
    pub fn update_blind(&self, id: impl Into<Value>, update: impl IntoDocument) -> Result<()> {
        let update = Update::parse(&update.into_map()?)?;
        self.target.writer()?.update_blind(&id.into(), &update)
    }

    /// The document with this `_id` and its version.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let (_, version) = pets.get_versioned("rex")?.unwrap();
    /// assert_eq!(pets.get_versioned("rex")?.unwrap().1, version);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_versioned(&self, id: impl Into<Value>) -> Result<Option<(T, Version)>>
    where
        T: FromDocument,
    {
        let name = self.target.name()?;
        let found = get_versioned(&self.target.engine, name, &id.into())?;
        found.map(|(document, version)| Ok((from_document(name, document)?, version))).transpose()
    }

    /// Puts another document in the place of the one with this `_id` if that is still of this version. False if it is
    /// not, or gone: read it again.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let (_, version) = pets.get_versioned("rex")?.unwrap();
    /// assert!(pets.replace_if("rex", version, r#"{"age": 4}"#)?);
    /// assert!(!pets.replace_if("rex", version, r#"{"age": 5}"#)?); // Somebody was faster.
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn replace_if(&self, id: impl Into<Value>, version: Version, document: impl DocumentFor<T>) -> Result<bool> {
        self.target.writer()?.replace_if(&id.into(), version, &document.into_fields()?)
    }
}
