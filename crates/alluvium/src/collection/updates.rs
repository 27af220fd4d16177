//! Updates by `_id`: checked, blind, as upserts, and replacements that look first.

use super::Collection;
use alluvium_collections::by_id::get_versioned;
use alluvium_collections::error::Result;
use alluvium_collections::results::{ReturnDocument, UpdateResult, Version};
use alluvium_document::IntoDocument;
use alluvium_document::{Document, Draft, Value};
use alluvium_query::update::Update;

impl Collection {
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
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let found = pets.modify("rex", |draft| {
    ///     draft.map()?.insert("name", "Rex");
    ///     Ok(true) // It has changed: write it.
    /// })?;
    /// assert!(found);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`] and [`Collection::put`]; an error of `change` is returned and nothing
    /// is written.
    pub fn modify(&self, id: impl Into<Value>, change: impl FnMut(&mut Draft) -> Result<bool>) -> Result<bool> {
        self.target.writer()?.modify(&id.into(), change)
    }

    /// Applies an update to the document with this `_id`: `{"$set": {"a.b": 1}, "$inc": {"n": 1}}`. Operators, paths and
    /// errors are MongoDB's. Reads the document, and writes it if it changes, with no write of others in between.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let comments = db.collection("comments");
    /// comments.put("c1", r#"{"score": 1}"#)?;
    /// let result = comments.update("c1", r#"{"$inc": {"score": 1}, "$set": {"flair.text": "new"}}"#)?;
    /// assert_eq!((result.matched_count, result.modified_count), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Update`] if the update is wrong or cannot be applied (nothing has changed then); as for any read and
    /// write.
    pub fn update(&self, id: impl Into<Value>, update: impl IntoDocument) -> Result<UpdateResult> {
        let update = Update::parse(&update.into_map()?)?;
        self.target.writer()?.update(&id.into(), &update)
    }

    /// As [`Collection::update`]; where there is no such document, one is inserted with this `_id` and what the update
    /// sets, `$setOnInsert` included.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let counters = db.collection("counters");
    /// counters.upsert("visits", r#"{"$inc": {"n": 1}, "$setOnInsert": {"kind": "page"}}"#)?;
    /// counters.upsert("visits", r#"{"$inc": {"n": 1}}"#)?;
    /// assert_eq!(counters.get("visits")?.unwrap().to_string(), r#"{"_id":"visits","kind":"page","n":2}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::update`].
    pub fn upsert(&self, id: impl Into<Value>, update: impl IntoDocument) -> Result<UpdateResult> {
        let update = Update::parse(&update.into_map()?)?;
        self.target.writer()?.upsert(&id.into(), &update)
    }

    /// Applies an update *blind*: writes it down as a delta of some 20 bytes, and reads nothing. It is folded onto the
    /// document when that is read, and for good when files are merged.
    ///
    /// Where there is no such document it does nothing. Where it cannot be applied (an `$inc` of a text) it leaves the
    /// document as it is, and is counted in [`crate::Stats::deltas_refused`]. Who needs to know asks for
    /// [`Collection::update`].
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let counters = db.collection("counters");
    /// counters.put("visits", r#"{"n": 0}"#)?;
    /// for _ in 0..100 {
    ///     counters.apply("visits", r#"{"$inc": {"n": 1}}"#)?;
    /// }
    /// assert_eq!(counters.get("visits")?.unwrap().to_string(), r#"{"_id":"visits","n":100}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Update`] if the update is wrong by itself; as for any write.
    pub fn apply(&self, id: impl Into<Value>, update: impl IntoDocument) -> Result<()> {
        let update = Update::parse(&update.into_map()?)?;
        self.target.writer()?.update_blind(&id.into(), &update)
    }

    /// Puts another document in the place of the one with this `_id`, if there is one.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(pets.replace("rex", r#"{"kind": "dog"}"#)?.matched_count, 1);
    /// assert_eq!(pets.replace("tom", r#"{"kind": "cat"}"#)?.matched_count, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn replace(&self, id: impl Into<Value>, document: impl IntoDocument) -> Result<UpdateResult> {
        self.target.writer()?.replace(&id.into(), &document.into_map()?)
    }

    /// As [`Collection::update`], and returns the document; `None` if there is none.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// use alluvium::ReturnDocument;
    /// let tickets = db.collection("tickets");
    /// tickets.put("next", r#"{"n": 7}"#)?;
    /// let next = tickets.get_and_update("next", r#"{"$inc": {"n": 1}}"#, ReturnDocument::Before)?;
    /// assert_eq!(next.unwrap().to_string(), r#"{"_id":"next","n":7}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::update`].
    pub fn get_and_update(
        &self,
        id: impl Into<Value>,
        update: impl IntoDocument,
        which: ReturnDocument,
    ) -> Result<Option<Document>> {
        let update = Update::parse(&update.into_map()?)?;
        self.target.writer()?.get_and_update(&id.into(), &update, which)
    }

    /// The document with this `_id` and its version.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let (_, version) = pets.get_versioned("rex")?.unwrap();
    /// assert_eq!(pets.get_versioned("rex")?.unwrap().1, version);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_versioned(&self, id: impl Into<Value>) -> Result<Option<(Document, Version)>> {
        get_versioned(&self.target.engine, self.target.name()?, &id.into())
    }

    /// Puts another document in the place of the one with this `_id` if that is still of this version. False if it is
    /// not, or gone: read it again.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let (_, version) = pets.get_versioned("rex")?.unwrap();
    /// assert!(pets.replace_if("rex", version, r#"{"age": 4}"#)?);
    /// assert!(!pets.replace_if("rex", version, r#"{"age": 5}"#)?); // Somebody was faster.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn replace_if(&self, id: impl Into<Value>, version: Version, document: impl IntoDocument) -> Result<bool> {
        self.target.writer()?.replace_if(&id.into(), version, &document.into_map()?)
    }
}
