//! Writes by filter that return the document.

use crate::filter_write::FilterRequest;
use alluvium_collections::error::Result;
use alluvium_collections::find::{Explanation, Hint};
use alluvium_collections::read::from_document;
use alluvium_collections::results::{FindOneAndModifyResult, ReturnDocument};
use alluvium_document::{Document, FromDocument, IntoDocument};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A write of one document that also returns the document, not yet run; returned by
/// [`crate::Collection::find_one_and_update`], [`crate::Collection::find_one_and_replace`] and
/// [`crate::Collection::find_one_and_delete`].
#[must_use = "nothing happens until `run`"]
pub struct FindOneAndModify<T = Document> {
    write: FilterRequest,
    returned: ReturnDocument,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for FindOneAndModify<T> {
    fn clone(&self) -> Self {
        Self { write: self.write.clone(), returned: self.returned, documents: PhantomData }
    }
}

impl<T> FindOneAndModify<T> {
    pub(crate) fn new(write: FilterRequest) -> Self {
        Self { write, returned: ReturnDocument::Before, documents: PhantomData }
    }

    /// Sets the order, such as `{"age": -1}`, by which the first matching document is chosen.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let oldest = pets.find_one_and_delete("{}").sort(r#"{"age": -1}"#).run()?;
    /// assert_eq!(oldest.unwrap().to_string(), r#"{"_id":"ada","age":12}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn sort(mut self, sort: impl IntoDocument) -> Self {
        self.write.request.sort = Some(sort.into_map());
        self
    }

    /// Sets which fields of the document are returned, as in `{"name": 1}`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).projection(r#"{"age": 1, "_id": 0}"#).run()?;
    /// assert_eq!(before.unwrap().to_string(), r#"{"age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn projection(mut self, projection: impl IntoDocument) -> Self {
        self.write.request.projection = Some(projection.into_map());
        self
    }

    /// Sets whether the document before or after the write is returned. Default: before.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use alluvium::ReturnDocument;
    ///
    /// let after = pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).return_document(ReturnDocument::After).run()?;
    /// assert_eq!(after.unwrap().to_string(), r#"{"_id":"rex","age":4}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn return_document(mut self, which: ReturnDocument) -> Self {
        self.returned = which;
        self
    }

    /// Inserts a document if none matches. Has no effect on deletes. Default: false.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.find_one_and_update(r#"{"_id": "new"}"#, r#"{"$set": {"age": 0}}"#).upsert(true).run()?;
    /// assert!(pets.get("new")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn upsert(mut self, upsert: bool) -> Self {
        self.write.upsert = upsert;
        self
    }

    /// Defines which array elements `$[name]` in the update selects, as in `[{"name.score": {"$gte": 5}}]`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.put("rex", r#"{"weights": [3, 40, 5]}"#)?;
    /// let update = pets.find_one_and_update(r#"{"_id": "rex"}"#, r#"{"$set": {"weights.$[wrong]": 4}}"#);
    /// update.array_filters([r#"{"wrong": {"$gt": 30}}"#]).run()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","weights":[3,4,5]}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn array_filters<D: IntoDocument>(mut self, filters: impl IntoIterator<Item = D>) -> Self {
        self.write.array_filters(filters);
        self
    }

    /// Sets the collation, given by MongoDB's options: the filter, the sort, array filters, and operators that compare
    /// values, such as `$addToSet`, compare strings by the rules of a language. Default: strings are compared by their
    /// bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let deleted = pets.find_one_and_delete(r#"{"_id": "REX"}"#).collation(r#"{"locale": "en", "strength": 2}"#).run()?;
    /// assert_eq!(deleted.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        self.write.collation(options);
        self
    }

    /// Sets variables, which expressions use as `$$name`. The values of the variables are expressions that refer to no
    /// fields.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let write = pets.find_one_and_update(r#"{"_id": "rex"}"#, r#"[{"$set": {"age": "$$years"}}]"#);
    /// write.variables(r#"{"years": 4}"#).run()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":4}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn variables(mut self, variables: impl IntoDocument) -> Self {
        self.write.variables(variables);
        self
    }

    /// Uses this index, given by its name or its keys.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// assert!(pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).hint("age_1").run()?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn hint(mut self, index: impl Into<Hint>) -> Self {
        self.write.hint(index);
        self
    }

    /// Restricts the planner to these indexes, given by name. It can always scan all documents instead.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// let write = pets.find_one_and_update(r#"{"age": 7}"#, r#"{"$inc": {"age": 1}}"#).only_indexes(["kind_1"]);
    /// assert!(!write.explain()?.to_string().contains("index age_1"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn only_indexes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.write.only_indexes(names);
        self
    }

    /// Ends the search with [`crate::Error::MaxTimeExpired`] if it finds no document within this
    /// time from the call of `run`. Default: zero, which is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).max_time(std::time::Duration::from_secs(5)).run()?;
    /// assert!(before.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.write.max_time(time);
        self
    }

    /// Ends the search with [`crate::Error::Stopped`] when `stop` is set to true; nothing is then
    /// written.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // which another thread may set
    /// let before = pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).stop_when(stop.clone()).run()?;
    /// assert!(before.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.write.stop_when(stop);
        self
    }

    /// Refuses the write with [`crate::Error::NotBson`] if BSON cannot hold the document to return, for example because
    /// of a number beyond decimal128. This is for programs that send the document as BSON. Default: false.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.insert_one(r#"{"_id": "rex", "weight": 1e-7000}"#)?;
    /// let write = pets.find_one_and_update(r#"{"_id": "rex"}"#, r#"{"$set": {"age": 4}}"#);
    /// assert!(write.clone().as_bson(true).run().is_err());
    /// assert_eq!(write.run()?.unwrap().to_string(), r#"{"_id":"rex","weight":1E-7000}"#, "nothing had been written");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn as_bson(mut self, as_bson: bool) -> Self {
        self.write.as_bson = as_bson;
        self
    }

    /// Runs the write, and returns the document. `None` if no document matches, or if a document was inserted and the
    /// state before the write is requested.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// assert_eq!(before.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::Update::run`]; [`crate::Error::Sort`], [`crate::Error::Projection`].
    pub fn run(self) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        Ok(self.run_with_outcome()?.document)
    }

    /// Runs the write, and returns the document, whether a document matched, and the `_id` of an inserted document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// let write = pets.find_one_and_update(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).upsert(true);
    /// let first = write.clone().run_with_outcome()?;
    /// assert_eq!((first.document, first.matched, first.upserted_id), (None, false, Some("rex".into())));
    /// let second = write.run_with_outcome()?;
    /// assert_eq!(second.document.unwrap().to_string(), r#"{"_id":"rex","age":1}"#);
    /// assert_eq!((second.matched, second.upserted_id), (true, None));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`FindOneAndModify::run`].
    pub fn run_with_outcome(mut self) -> Result<FindOneAndModifyResult<T>>
    where
        T: FromDocument,
    {
        let deletes = self.write.change.is_none();
        // A delete inserts nothing.
        self.write.upsert &= !deletes;
        let name = self.write.target.name()?.clone();
        let (done, _) = self.write.job(Some(self.returned), |job| job.one())?;
        let document = done.document.map(|document| from_document(&name, document)).transpose()?;
        let changed = done.upserted_id.is_some() || (done.matched && done.changed);
        Ok(FindOneAndModifyResult::new(document, done.matched, done.upserted_id).with_changed(changed))
    }

    /// Finds the document without changing it, and explains the plan and its execution.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.find_one_and_update(r#"{"age": {"$lt": 5}}"#, r#"{"$inc": {"age": 1}}"#).explain()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":3}"#, "nothing is written");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`FindOneAndModify::run`].
    pub fn explain(self) -> Result<Explanation> {
        Ok(self.write.job(None, |job| job.explain(true))?.0)
    }
}
