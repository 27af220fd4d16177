//! Partial updates by `_id`: checked, blind, as upserts, and replacements that look first.

use crate::modify::Write;
use crate::write::{self, Encoded};
use crate::{Collection, Error, IntoDocument, Result};
use alluvium_document::{Document, Value};
use alluvium_query::update::{Context, Update};

/// What an update did, as MongoDB's drivers tell it.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct UpdateResult {
    /// Documents found.
    pub matched_count: u64,
    /// Documents that are not as they were.
    pub modified_count: u64,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Value>,
}

/// Which document [`Collection::get_and_update`] and [`Collection::find_one_and_update`] return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnDocument {
    /// As it was before. The default.
    #[default]
    Before,
    /// As it is afterwards.
    After,
}

/// The version of a document: another one after each write of it, and never the same again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(alluvium_store::Seq);

impl Collection {
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
        self.update_parsed(id.into(), &update)
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
        let (id, update) = (id.into(), Update::parse(&update.into_map()?)?);
        // Looked for again if somebody else was faster, either way.
        loop {
            match self.update_parsed(id.clone(), &update) {
                Err(Error::NoSuchCollection { .. }) => {}
                Ok(result) if result.matched_count == 0 => {}
                result => return result,
            }
            let document = update.for_upsert(id.clone(), self.time_ms())?;
            match self.insert_one(document) {
                Ok(inserted) => {
                    return Ok(UpdateResult { upserted_id: Some(inserted.inserted_id), ..UpdateResult::default() });
                }
                Err(Error::DuplicateKey { .. }) => {}
                Err(error) => return Err(error),
            }
        }
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
        let delta = update.to_delta(&self.context())?;
        let id = id.into();
        let key = write::id_key(&id)?;
        let blind = self.retry_existing(|open| {
            let mut encoded = Encoded::new(self.store(), open, self.name()?);
            if encoded.entries.set().is_touched_by(&update) {
                return Ok(false);
            }
            encoded.batch.delta(open.documents, &key, &delta);
            encoded.commit_blind(self.store(), open, self.durability)?;
            Ok(true)
        })?;
        match if blind { Ok(true) } else { self.apply_checked(id, &update) } {
            Ok(_) => Ok(()),
            // As if it had been blind: what cannot be applied leaves the document as it is.
            Err(Error::Update(_) | Error::UpdateOf { .. }) => Ok(self.store().check_writable()?),
            Err(error) => Err(error),
        }
    }

    /// What a blind update does to a document whose index entries change with it.
    fn apply_checked(&self, id: Value, update: &Update) -> Result<bool> {
        self.rewrite(id, Some(update), |draft| {
            let context = self.context();
            let changed = update.apply(draft, &context)?.changed;
            Ok(to_write(update, &context, changed))
        })
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
        let map = document.into_map()?;
        let found = self.modify(id, |draft| {
            draft.replace(map.clone());
            Ok(true)
        })?;
        let count = u64::from(found);
        Ok(UpdateResult { matched_count: count, modified_count: count, upserted_id: None })
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
        let mut returned = None;
        // The closure may have seen a document that was gone when it was to be written.
        let found = self.rewrite(id.into(), Some(&update), |draft| {
            let context = self.context();
            if which == ReturnDocument::Before {
                returned = Some(Document::from_map(&draft.clone().into_map()?)?);
            }
            let applied = update.apply(draft, &context)?;
            if which == ReturnDocument::After {
                returned = Some(Document::from_map(&draft.clone().into_map()?)?);
            }
            Ok(to_write(&update, &context, applied.changed))
        })?;
        Ok(returned.filter(|_| found))
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
        let id = id.into();
        // Under a snapshot, so that both are of one moment.
        let snapshot = self.database.snapshot();
        let Some(document) = self.at(&snapshot).get(id.clone())? else { return Ok(None) };
        let open = self.open_at(Some(&snapshot))?;
        let seq = self.store().version_at(&snapshot.store, open.documents, &write::id_key(&id)?)?;
        Ok(seq.map(|seq| (document, Version(seq))))
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
        let (id, map) = (id.into(), document.into_map()?);
        let key = write::id_key(&id)?;
        let mut same = false;
        let found = self.modify(id, |draft| {
            // The document is locked: what is visible of it stays so.
            let now = self.store().version(self.open()?.documents, &key)?;
            same = now == Some(version.0);
            if same {
                draft.replace(map.clone());
            }
            Ok(same)
        })?;
        Ok(found && same)
    }

    fn update_parsed(&self, id: Value, update: &Update) -> Result<UpdateResult> {
        let mut changed = false;
        let found = self.rewrite(id, Some(update), |draft| {
            let context = self.context();
            changed = update.apply(draft, &context)?.changed;
            Ok(to_write(update, &context, changed))
        })?;
        let modified_count = u64::from(found && changed);
        Ok(UpdateResult { matched_count: u64::from(found), modified_count, upserted_id: None })
    }

    pub(crate) fn context(&self) -> Context {
        Context { time_ms: self.time_ms(), inserting: false }
    }

    fn time_ms(&self) -> i64 {
        self.database.inner.env.clock.unix_millis()
    }
}

/// What is to be written of a draft that an update was applied to.
pub(crate) fn to_write(update: &Update, context: &Context, changed: bool) -> Write {
    if !changed {
        return Write::Nothing;
    }
    // None of an update that names `_id`, which stays what it is.
    update.to_delta(context).map_or(Write::Row, Write::Either)
}
