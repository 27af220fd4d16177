//! Changes of documents by `_id`: with a function, with an update that does not read, or by replacing a given version.

use super::Collection;
use alluvium_collections::by_id::get_versioned;
use alluvium_collections::error::Result;
use alluvium_collections::read::from_document;
use alluvium_collections::results::Version;
use alluvium_document::{DocumentFor, Draft, FromDocument, IntoDocument, Value};
use alluvium_query::update::Update;

impl<T> Collection<T> {
    /// Reads the document with this `_id`, passes it to `change`, and writes the changed document. No other write to
    /// the document happens in between. `change` returns false to leave the document unchanged. `modify` returns false
    /// if no document has this `_id`.
    ///
    /// Setting new values of existing fields ([`Draft::set`]) decodes no other fields, and is much
    /// cheaper than [`Draft::map`].
    ///
    /// The document is locked while `change` runs. Therefore `change` must not write to the
    /// database, and must not wait for a thread that writes: this could deadlock. Memory is
    /// reserved before the document is locked, when its size is not yet known. If the document
    /// turns out to be much larger than documents that were changed before, `change` is called
    /// again with the latest document, provided that the document still exists.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let found = pets.modify("rex", |draft| {
    ///     draft.map()?.insert("name", "Rex");
    ///     Ok(true) // Write the changed document.
    /// })?;
    /// assert!(found);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`] and [`Collection::put`]. An error of `change` is returned, and
    /// nothing is written.
    pub fn modify(&self, id: impl Into<Value>, change: impl FnMut(&mut Draft) -> Result<bool>) -> Result<bool> {
        self.target.writer()?.modify(&id.into(), change)
    }

    /// Updates the document with this `_id` without reading it: writes a delta of about 20 bytes.
    /// Reads apply the delta to the document, until a compaction stores the result.
    ///
    /// If there is no such document, nothing happens. An update that cannot be applied, such as an `$inc` of a string,
    /// leaves the document unchanged, and is counted in [`crate::Stats::deltas_refused`]. [`Collection::update_one`]
    /// reads the document, and returns what was changed.
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
        let at = self.target.snapshot(None)?;
        let found = get_versioned(&self.target.engine, name, at.as_ref(), &id.into())?;
        found.map(|(document, version)| Ok((from_document(name, document)?, version))).transpose()
    }

    /// Replaces the document with this `_id` if it still has this version. Returns false if the document has another
    /// version or does not exist; the caller should then read it again.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let (_, version) = pets.get_versioned("rex")?.unwrap();
    /// assert!(pets.replace_if("rex", version, r#"{"age": 4}"#)?);
    /// assert!(!pets.replace_if("rex", version, r#"{"age": 5}"#)?); // The version has changed.
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn replace_if(&self, id: impl Into<Value>, version: Version, document: impl DocumentFor<T>) -> Result<bool> {
        self.target.writer()?.replace_if(&id.into(), version, &document.into_fields()?)
    }
}
