//! Updates and replacements by filter.

use crate::filter_write::FilterRequest;
use alluvium_collections::error::Result;
use alluvium_collections::find::{Explanation, Hint};
use alluvium_collections::results::UpdateResult;
use alluvium_document::IntoDocument;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An update by filter that was not made yet: made by [`crate::Collection::update_one`] and its like.
#[derive(Clone)]
#[must_use = "nothing is updated until `run`"]
pub struct Update {
    pub(crate) write: FilterRequest,
    pub(crate) many: bool,
}

impl Update {
    /// Whether a document is inserted if none matches: what the filter demands, and what the update sets.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let result = pets.update_one(r#"{"_id": "new"}"#, r#"{"$set": {"age": 0}}"#).upsert(true).run()?;
    /// assert!(result.upserted_id.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn upsert(mut self, upsert: bool) -> Self {
        self.write.upsert = upsert;
        self
    }

    /// Which elements `$[name]` in the update stands for: `[{"name.score": {"$gte": 5}}]`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.put("rex", r#"{"weights": [3, 40, 5]}"#)?;
    /// let update = pets.update_one(r#"{"_id": "rex"}"#, r#"{"$set": {"weights.$[wrong]": 4}}"#);
    /// update.array_filters([r#"{"wrong": {"$gt": 30}}"#]).run()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","weights":[3,4,5]}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn array_filters<D: IntoDocument>(mut self, filters: impl IntoIterator<Item = D>) -> Self {
        self.write.array_filters(filters);
        self
    }

    /// Which of several documents is the first. For one document only.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.update_one("{}", r#"{"$set": {"oldest": true}}"#).sort(r#"{"age": -1}"#).run()?;
    /// assert_eq!(pets.get("ada")?.unwrap().to_string(), r#"{"_id":"ada","age":12,"oldest":true}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn sort(mut self, sort: impl IntoDocument) -> Self {
        self.write.request.sort = Some(sort.into_map());
        self
    }

    /// Finds the documents by this index: its name or its keys.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// let result = pets.update_many(r#"{"age": {"$gt": 5}}"#, r#"{"$inc": {"age": 1}}"#).hint("age_1").run()?;
    /// assert_eq!(result.modified_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn hint(mut self, index: impl Into<Hint>) -> Self {
        self.write.hint(index);
        self
    }

    /// Ends with [`crate::Error::MaxTimeExpired`] once it has taken this long, counted from `run`: while it searches, or
    /// between two documents. Those that were updated stay so. Zero is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let result = pets.update_many(r#"{"age": {"$gt": 5}}"#, r#"{"$inc": {"age": 1}}"#).max_time(std::time::Duration::from_secs(5)).run()?;
    /// assert_eq!(result.modified_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.write.max_time(time);
        self
    }

    /// Set to true by anybody, `stop` ends the update with [`crate::Error::Stopped`] while it searches, or between two
    /// documents. Those that were updated stay so; if there are any, [`crate::Error::WriteMany`] says how many.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // which another thread may set
    /// let update = pets.update_many(r#"{"age": {"$gt": 5}}"#, r#"{"$inc": {"age": 1}}"#).stop_when(stop.clone());
    /// assert_eq!(update.run()?.modified_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.write.stop_when(stop);
        self
    }

    /// Makes the update.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let result = pets.update_many(r#"{"age": {"$gt": 5}}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// assert_eq!(result.modified_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Update`], [`crate::Error::Filter`], [`crate::Error::Plan`] for a hint;
    /// [`crate::ErrorKind::DuplicateKey`]; as for any read and write. Documents that
    /// were updated before the error stay so; if there are any, [`crate::Error::WriteMany`] says how many.
    pub fn run(self) -> Result<UpdateResult> {
        let many = self.many;
        let (result, _) = self.write.job(None, |job| match many {
            true => job.all(),
            false => Ok(job.one()?.into()),
        })?;
        Ok(result)
    }

    /// Finds the documents, changes nothing, and tells how they are found and what that took.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let explanation = pets.update_many(r#"{"age": {"$gt": 5}}"#, r#"{"$inc": {"age": 1}}"#).explain()?;
    /// assert_eq!(explanation.documents_examined, 3);
    /// assert_eq!(pets.get("tom")?.unwrap().to_string(), r#"{"_id":"tom","age":7}"#, "nothing is written");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Update::run`].
    pub fn explain(self) -> Result<Explanation> {
        let one = !self.many;
        Ok(self.write.job(None, |job| job.explain(one))?.0)
    }
}
