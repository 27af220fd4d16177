//! Updates and replacements by filter.

use crate::filter_write::FilterRequest;
use alluvium_collections::error::Result;
use alluvium_collections::find::{Explanation, Hint};
use alluvium_collections::results::UpdateResult;
use alluvium_document::IntoDocument;
use alluvium_query::update::UpdateError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An update by filter, not yet run; returned by [`crate::Collection::update_one`],
/// [`crate::Collection::update_many`] and [`crate::Collection::replace_one`].
#[derive(Clone)]
#[must_use = "nothing is updated until `run`"]
pub struct Update {
    pub(crate) write: FilterRequest,
    pub(crate) many: bool,
}

impl Update {
    /// If no document matches, inserts a document with the values that the filter demands and the values that the
    /// update sets. Default: false.
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

    /// Defines which array elements `$[name]` in the update selects, as in `[{"name.score": {"$gte": 5}}]`.
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

    /// Sets the order by which the first matching document is chosen. Only a write of one document may have an order:
    /// an update of many documents with an order is refused.
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

    /// Sets the collation, given by MongoDB's options: the filter, the sort, array filters, and operators that compare
    /// values, such as `$addToSet`, compare strings by the rules of a language. Default: strings are compared by their
    /// bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let update = pets.update_one(r#"{"_id": "REX"}"#, r#"{"$inc": {"age": 1}}"#);
    /// assert_eq!(update.collation(r#"{"locale": "en", "strength": 2}"#).run()?.modified_count, 1);
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
    /// let update = pets.update_many("{}", r#"[{"$set": {"age": {"$add": ["$age", "$$years"]}}}]"#);
    /// assert_eq!(update.variables(r#"{"years": 1}"#).run()?.modified_count, 3);
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
    /// let result = pets.update_many(r#"{"age": {"$gt": 5}}"#, r#"{"$inc": {"age": 1}}"#).hint("age_1").run()?;
    /// assert_eq!(result.modified_count, 2);
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
    /// let update = pets.update_many(r#"{"age": 7}"#, r#"{"$inc": {"age": 1}}"#).only_indexes(["kind_1"]);
    /// assert!(!update.explain()?.to_string().contains("index age_1"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn only_indexes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.write.only_indexes(names);
        self
    }

    /// Ends the update with [`crate::Error::MaxTimeExpired`] after this time from the call of
    /// `run`: during the search, or between two documents. Documents already updated remain
    /// updated. Default: zero, which is no limit.
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

    /// Ends the update with [`crate::Error::Stopped`] when `stop` is set to true: during the
    /// search, or between two documents. Documents already updated remain updated;
    /// [`crate::Error::WriteMany`] then reports their number.
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

    /// Refuses an order for an update of all matching documents, as MongoDB does.
    fn check_sort(&self) -> Result<()> {
        if self.many && self.write.request.sort.is_some() {
            let what = "an update of many documents takes no sort: leave it out, or update one document";
            return Err(UpdateError::FailedToParse(what.to_owned()).into());
        }
        Ok(())
    }

    /// Runs the update.
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
    /// [`crate::ErrorKind::DuplicateKey`]; as for any read and write. Documents updated before an
    /// error remain updated; [`crate::Error::WriteMany`] then reports their number.
    pub fn run(self) -> Result<UpdateResult> {
        self.check_sort()?;
        let many = self.many;
        let (result, _) = self.write.job(None, |job| match many {
            true => job.all(),
            false => Ok(job.one()?.into()),
        })?;
        Ok(result)
    }

    /// Finds the documents without changing them, and explains the plan and its execution.
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
        self.check_sort()?;
        let one = !self.many;
        Ok(self.write.job(None, |job| job.explain(one))?.0)
    }
}
