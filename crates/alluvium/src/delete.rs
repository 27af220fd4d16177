//! Deletes by filter.

use crate::filter_write::FilterRequest;
use alluvium_collections::error::Result;
use alluvium_collections::find::{Explanation, Hint};
use alluvium_collections::results::DeleteResult;
use alluvium_document::IntoDocument;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A delete by filter, not yet run; returned by [`crate::Collection::delete_one`] and
/// [`crate::Collection::delete_many`].
#[derive(Clone)]
#[must_use = "nothing is deleted until `run`"]
pub struct Delete {
    pub(crate) write: FilterRequest,
    pub(crate) many: bool,
}

impl Delete {
    /// Sets the collation, given by MongoDB's options: the filter compares strings by the rules of a language. Default:
    /// strings are compared by their bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let delete = pets.delete_many(r#"{"_id": "REX"}"#).collation(r#"{"locale": "en", "strength": 2}"#);
    /// assert_eq!(delete.run()?.deleted_count, 1);
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
    /// let delete = pets.delete_many(r#"{"$expr": {"$gt": ["$age", "$$years"]}}"#);
    /// assert_eq!(delete.variables(r#"{"years": 5}"#).run()?.deleted_count, 2);
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
    /// let result = pets.delete_many(r#"{"age": {"$gt": 5}}"#).hint("age_1").run()?;
    /// assert_eq!(result.deleted_count, 2);
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
    /// let delete = pets.delete_many(r#"{"age": 7}"#).only_indexes(["kind_1"]);
    /// assert!(!delete.explain()?.to_string().contains("index age_1"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn only_indexes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.write.only_indexes(names);
        self
    }

    /// Ends the delete with [`crate::Error::MaxTimeExpired`] after this time from the call of
    /// `run`: during the search, or between two documents. Documents already deleted remain
    /// deleted. Default: zero, which is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let result = pets.delete_many(r#"{"age": {"$gt": 5}}"#).max_time(std::time::Duration::from_secs(5)).run()?;
    /// assert_eq!(result.deleted_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.write.max_time(time);
        self
    }

    /// Ends the delete with [`crate::Error::Stopped`] when `stop` is set to true: during the
    /// search, or between two documents. Documents already deleted remain deleted;
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
    /// let delete = pets.delete_many(r#"{"age": {"$gt": 5}}"#).stop_when(stop.clone());
    /// assert_eq!(delete.run()?.deleted_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.write.stop_when(stop);
        self
    }

    /// Runs the delete.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let result = pets.delete_many(r#"{"age": {"$gt": 5}}"#).run()?;
    /// assert_eq!(result.deleted_count, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Filter`], [`crate::Error::Plan`] for a hint; as for any read and write.
    /// Documents deleted before an error remain deleted; [`crate::Error::WriteMany`] then reports
    /// their number.
    pub fn run(self) -> Result<DeleteResult> {
        let many = self.many;
        let (deleted_count, _) = self.write.job(None, |job| match many {
            true => Ok(job.all()?.matched_count),
            false => Ok(u64::from(job.one()?.matched)),
        })?;
        Ok(DeleteResult::new(deleted_count))
    }

    /// Finds the documents without deleting them, and returns the plan and the figures of its execution.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let explanation = pets.delete_many(r#"{"age": {"$gt": 5}}"#).explain()?;
    /// assert_eq!(explanation.documents_examined, 3);
    /// assert_eq!(pets.get("tom")?.unwrap().to_string(), r#"{"_id":"tom","age":7}"#, "nothing is written");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Delete::run`].
    pub fn explain(self) -> Result<Explanation> {
        let one = !self.many;
        Ok(self.write.job(None, |job| job.explain(one))?.0)
    }
}
