//! Writes by filter.

use super::Collection;
use crate::bulk_write::{BulkWrite, WriteModel};
use crate::delete::Delete;
use crate::filter_write::FilterRequest;
use crate::find_one_and_modify::FindOneAndModify;
use crate::update::Update;
use alluvium_document::{DocumentFor, IntoDocument};

impl<T> Collection<T> {
    /// Updates the first matching document, and returns it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let jobs = db.collection("jobs");
    /// jobs.insert_many([r#"{"_id": 1, "state": "new", "urgent": 1}"#, r#"{"_id": 2, "state": "new", "urgent": 9}"#])?;
    /// let take = jobs.find_one_and_update(r#"{"state": "new"}"#, r#"{"$set": {"state": "taken"}}"#);
    /// let job = take.sort(r#"{"urgent": -1}"#).projection(r#"{"state": 1}"#).run()?;
    /// assert_eq!(job.unwrap().to_string(), r#"{"_id":2,"state":"new"}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find_one_and_update(&self, filter: impl IntoDocument, update: impl IntoDocument) -> FindOneAndModify<T> {
        FindOneAndModify::new(FilterRequest::new(&self.target, filter).updating(update.into_value()))
    }

    /// Replaces the first matching document, and returns it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let before = pets.find_one_and_replace(r#"{"age": 3}"#, r#"{"age": 4}"#).run()?;
    /// assert_eq!(before.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find_one_and_replace(
        &self,
        filter: impl IntoDocument,
        document: impl DocumentFor<T>,
    ) -> FindOneAndModify<T> {
        FindOneAndModify::new(FilterRequest::new(&self.target, filter).replacing(document.into_fields()))
    }

    /// Deletes the first matching document, and returns it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert!(pets.find_one_and_delete(r#"{"age": 3}"#).run()?.is_some());
    /// assert!(pets.find_one_and_delete(r#"{"age": 3}"#).run()?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find_one_and_delete(&self, filter: impl IntoDocument) -> FindOneAndModify<T> {
        FindOneAndModify::new(FilterRequest::new(&self.target, filter))
    }

    /// Updates the first matching document with operators: `{"$set": …}`, `{"$inc": …}` and so on.
    /// [`Collection::modify`] and [`Collection::update_blind`] change a document by `_id`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog", "age": 3}"#)?;
    /// let result = pets.update_one(r#"{"kind": "dog"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// assert_eq!((result.matched_count, result.modified_count), (1, 1));
    /// let result = pets.update_one(r#"{"_id": "tom"}"#, r#"{"$set": {"kind": "cat"}}"#).upsert(true).run()?;
    /// assert_eq!(result.upserted_id, Some("tom".into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn update_one(&self, filter: impl IntoDocument, update: impl IntoDocument) -> Update {
        Update { write: FilterRequest::new(&self.target, filter).updating(update.into_value()), many: false }
    }

    /// Updates all documents that match at the time of the call, each in its own batch.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// let result = pets.update_many(r#"{"kind": "dog"}"#, r#"{"$set": {"barks": true}}"#).run()?;
    /// assert_eq!(result.modified_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn update_many(&self, filter: impl IntoDocument, update: impl IntoDocument) -> Update {
        Update { write: FilterRequest::new(&self.target, filter).updating(update.into_value()), many: true }
    }

    /// Replaces the first matching document; its `_id` does not change. [`Collection::put`] and
    /// [`Collection::replace_if`] replace a document by `_id`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog", "age": 3}"#)?;
    /// pets.replace_one(r#"{"kind": "dog"}"#, r#"{"kind": "wolf"}"#).run()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","kind":"wolf"}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn replace_one(&self, filter: impl IntoDocument, document: impl DocumentFor<T>) -> Update {
        Update { write: FilterRequest::new(&self.target, filter).replacing(document.into_fields()), many: false }
    }

    /// Deletes the first matching document. [`Collection::delete`] deletes by `_id`, without reading the document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "dog"}"#])?;
    /// assert_eq!(pets.delete_one(r#"{"kind": "dog"}"#).run()?.deleted_count, 1);
    /// assert_eq!(pets.count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn delete_one(&self, filter: impl IntoDocument) -> Delete {
        Delete { write: FilterRequest::new(&self.target, filter), many: false }
    }

    /// Deletes all documents that match at the time of the call, each in its own batch.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.delete_many(r#"{"kind": "dog"}"#).run()?.deleted_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn delete_many(&self, filter: impl IntoDocument) -> Delete {
        Delete { write: FilterRequest::new(&self.target, filter), many: true }
    }

    /// Many writes in one call: inserts, updates and deletes by filter, each with its own outcome. If several writes
    /// must be atomic together, use a [`crate::WriteBatch`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::WriteModel;
    /// let pets = db.collection("pets");
    /// let writes = [
    ///     WriteModel::insert_one(r#"{"_id": "rex", "age": 3}"#),
    ///     pets.update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).into(),
    ///     pets.delete_many(r#"{"age": {"$lt": 3}}"#).into(),
    /// ];
    /// let result = pets.bulk_write(writes).ordered(false).run()?;
    /// assert_eq!((result.inserted_count, result.modified_count, result.deleted_count), (1, 1, 0));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn bulk_write(&self, writes: impl IntoIterator<Item = WriteModel>) -> BulkWrite {
        BulkWrite { target: self.target.clone(), models: writes.into_iter().collect(), ordered: true }
    }
}
