//! The validator and the options of a collection.

use super::Collection;
use crate::validation::SetValidator;
use alluvium_collections::error::Result;
use alluvium_document::{IntoDocument, Map};
use alluvium_query::validator::Validator;

impl<T> Collection<T> {
    /// Sets the filter, often with `$jsonSchema`, that documents written from now on must match. It replaces an earlier
    /// filter. Set its options, then call [`SetValidator::run`].
    ///
    /// A document that does not match is refused with [`crate::Error::Validation`], which says what is wrong.
    /// Partial updates of a collection with a validator read their document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.set_validator(r#"{"age": {"$gte": 0}}"#).run()?;
    /// pets.insert_one(r#"{"_id": "rex", "age": 3}"#)?;
    /// let error = pets.update_one(r#"{"_id": "rex"}"#, r#"{"$set": {"age": -3}}"#).run().unwrap_err();
    /// assert_eq!(error.code(), Some((121, "DocumentValidationFailure")));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn set_validator(&self, rules: impl IntoDocument) -> SetValidator {
        SetValidator::new(self.target.clone(), rules)
    }

    /// The options under MongoDB's names, as [`crate::CreateCollection::options`] takes them. A collation also includes
    /// the options that its locale implies.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").options(r#"{"validator": {"age": {"$gte": 0}}}"#).run()?;
    /// assert!(pets.options()?.contains("validator"));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`].
    pub fn options(&self) -> Result<Map> {
        let state = self.target.engine.catalog.require(self.target.name()?)?;
        Ok(state.indexes().options.to_map())
    }

    /// The validator, if the collection has one.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`].
    pub fn validator(&self) -> Result<Option<Validator>> {
        let state = self.target.engine.catalog.require(self.target.name()?)?;
        Ok(state.indexes().options.validator.clone())
    }

    /// Sets whether recorded updates, replacements and deletes have the document before the change, as
    /// [`crate::Change::before`]. Concerns later writes; writes that have begun are repeated.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::ChangeScope;
    ///
    /// let pets = db.create_collection("pets").run()?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// db.record_changes(ChangeScope::Everything)?;
    /// pets.keep_before(true)?;
    /// pets.update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// let last = db.changes(&ChangeScope::Everything, None)?.last().expect("a change")?;
    /// assert_eq!(last.before.expect("the document").get("age"), Some(&3.into()));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; as for any write.
    pub fn keep_before(&self, keep: bool) -> Result<()> {
        let (engine, name) = self.target.outside("a change of a collection's options")?;
        engine.catalog.change_options(name, |options| options.keeps_before = keep)?;
        Ok(())
    }

    /// Notes in the recorded changes that the options were set to what they are: MongoDB has an event of each `collMod`.
    /// Without a recording, does nothing.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let changes = pets.watch().expanded(true).run()?;
    /// pets.note_modified()?;
    /// assert_eq!(changes.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; as for any write.
    pub fn note_modified(&self) -> Result<()> {
        let (engine, name) = self.target.outside("a change of a collection's options")?;
        engine.catalog.note_modified(name)
    }

    /// Removes the validator, if there is one.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; as for any write.
    pub fn drop_validator(&self) -> Result<()> {
        let (engine, name) = self.target.outside("a change of a collection's options")?;
        engine.catalog.change_options(name, |options| options.validator = None)?;
        Ok(())
    }
}
