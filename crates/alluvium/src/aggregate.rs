//! Pipelines over one collection.

use crate::origin::Origin;
use crate::target::Target;
use alluvium_collections::cursor::Cursor;
use alluvium_collections::error::Result;
use alluvium_collections::find::{BATCH_SIZE, Hint};
use alluvium_collections::pipeline::{PipelineExplanation, PipelineRequest, PipelineRun};
use alluvium_collections::read_only::ReadOnlyDocuments;
use alluvium_collections::snapshot::Snapshot;
use alluvium_document::{Document, FromDocument, IntoDocument};
use alluvium_store::Durability;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A pipeline, not yet run; returned by [`crate::Collection::aggregate`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let pets = db.collection("pets");
/// pets.insert_many([r#"{"kind": "dog", "age": 3}"#, r#"{"kind": "cat", "age": 12}"#, r#"{"kind": "dog", "age": 7}"#])?;
/// let by_kind = pets.aggregate(
///     r#"[{"$group": {"_id": "$kind", "count": {"$sum": 1}, "oldest": {"$max": "$age"}}}, {"$sort": {"count": -1}}]"#,
/// );
/// let by_kind: Vec<String> = by_kind.run()?.map(|found| Ok(found?.to_string())).collect::<alluvium::Result<_>>()?;
/// assert_eq!(by_kind, [r#"{"_id":"dog","count":2,"oldest":7}"#, r#"{"_id":"cat","count":1,"oldest":12}"#]);
/// # alluvium::Result::Ok(())
/// ```
#[must_use = "a pipeline does nothing until `run` or `explain`"]
pub struct Aggregate<T = Document> {
    origin: Origin,
    request: PipelineRequest,
    batch_size: usize,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for Aggregate<T> {
    fn clone(&self) -> Self {
        Self {
            origin: self.origin.clone(),
            request: self.request.clone(),
            batch_size: self.batch_size,
            documents: PhantomData,
        }
    }
}

impl Aggregate {
    pub(crate) fn new(target: Target, at: Option<Snapshot>, stages: impl IntoDocument) -> Self {
        let (durability, validates) = (target.durability, target.validates);
        let mut aggregate = Self::over(Origin::Collection(target, at), durability, stages);
        aggregate.request.validates = validates;
        aggregate
    }

    pub(crate) fn read_only(store: ReadOnlyDocuments, stages: impl IntoDocument) -> Self {
        Self::over(Origin::ReadOnly(store), Durability::Periodic, stages)
    }

    pub(crate) fn over(origin: Origin, durability: Durability, stages: impl IntoDocument) -> Self {
        let request = PipelineRequest::new(stages.into_value(), durability);
        Self { origin, request, batch_size: BATCH_SIZE, documents: PhantomData }
    }
}

impl<T> Aggregate<T> {
    /// The same pipeline with results of another type.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// #[derive(serde::Deserialize)]
    /// struct Ages {
    ///     sum: u32,
    /// }
    /// let ages = pets.aggregate(r#"[{"$group": {"_id": null, "sum": {"$sum": "$age"}}}]"#).typed::<Ages>();
    /// assert_eq!(ages.first()?.map(|ages| ages.sum), Some(22));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn typed<U>(self) -> Aggregate<U> {
        let Self { origin, request, batch_size, .. } = self;
        Aggregate { origin, request, batch_size, documents: PhantomData }
    }

    /// Sets variables, which expressions use as `$$name`. The values of the variables are expressions that refer to no
    /// fields.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let old = pets.aggregate(r#"[{"$match": {"$expr": {"$gt": ["$age", "$$years"]}}}]"#);
    /// assert_eq!(old.variables(r#"{"years": 5}"#).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn variables(mut self, variables: impl IntoDocument) -> Self {
        self.request.variables = Some(variables.into_map());
        self
    }

    /// Uses this index, given by its name or its keys, for the documents that the first stages select. With
    /// `{"$natural": 1}` it uses no index. Default: the planner chooses.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// let old = pets.aggregate(r#"[{"$match": {"age": {"$gt": 5}}}, {"$count": "n"}]"#).hint("age_1");
    /// assert_eq!(old.first()?.map(|counted| counted.to_string()), Some(r#"{"n":2}"#.to_owned()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn hint(mut self, index: impl Into<Hint>) -> Self {
        self.request.hint = Some(index.into());
        self
    }

    /// Restricts the planner to these indexes, given by name, for the documents that the first stages select. It can
    /// always scan all documents instead.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// let old = pets.aggregate(r#"[{"$match": {"age": 7}}, {"$count": "n"}]"#).only_indexes(["kind_1"]);
    /// assert!(!old.explain()?.to_string().contains("index age_1"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn only_indexes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.request.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the collation, given by MongoDB's options: filters, expressions, sorts and the keys of groups compare
    /// strings by the rules of a language. Default: strings are compared by their bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let found = pets.aggregate(r#"[{"$match": {"_id": "REX"}}]"#).collation(r#"{"locale": "en", "strength": 2}"#);
    /// assert_eq!(found.run()?.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        self.request.collation = Some(options.into_map());
        self
    }

    /// Allows stages that do not fit into memory to use files. If false, such a pipeline ends with
    /// MongoDB's error 292. Default: true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let sorted = pets.aggregate(r#"[{"$sort": {"age": 1}}]"#).allow_disk_use(false).run()?;
    /// assert_eq!(sorted.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn allow_disk_use(mut self, allow: bool) -> Self {
        self.request.allow_disk_use = allow;
        self
    }

    /// Ends the pipeline with [`crate::Error::MaxTimeExpired`] after this time from the call of `run`.
    /// Default: zero, which is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let limited = pets.aggregate(r#"[{"$skip": 1}]"#).max_time(std::time::Duration::from_secs(5)).run()?;
    /// assert_eq!(limited.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.request.limits.set_max_time(time);
        self
    }

    /// Ends the pipeline with [`crate::Error::Stopped`] when `stop` is set to true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // which another thread may set
    /// assert_eq!(pets.aggregate(r#"[{"$limit": 2}]"#).stop_when(stop.clone()).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.request.limits.stop = Some(stop);
        self
    }

    /// Sets the number of documents that [`Cursor::next_batch`] returns at once. Default: 101.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.aggregate("[]").batch_size(2).run()?;
    /// assert_eq!(cursor.next_batch()?.len(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn batch_size(mut self, documents: usize) -> Self {
        self.batch_size = documents.max(1);
        self
    }

    /// Reads all collections at a snapshot. Default: the latest state when the pipeline starts.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.aggregate("[]").at(&before).run()?.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.origin.set_snapshot(snapshot);
        self
    }

    /// Runs the pipeline. A pipeline that ends with `$out` or `$merge` writes when the cursor is read; the cursor then
    /// returns no documents.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// for document in pets.aggregate(r#"[{"$match": {"age": {"$gt": 5}}}]"#).run()? {
    ///     println!("{}", document?);
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Pipeline`], [`crate::Error::Json`]; [`crate::ErrorKind::SnapshotTooOld`].
    pub fn run(self) -> Result<Cursor<T>> {
        let batch_size = self.batch_size;
        Ok(Cursor::piped(self.begin(false)?, batch_size).typed())
    }

    /// Runs the pipeline, and returns the first document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let counted = pets.aggregate(r#"[{"$match": {"age": {"$lt": 10}}}, {"$count": "young"}]"#).first()?;
    /// assert_eq!(counted.map(|counted| counted.to_string()), Some(r#"{"young":2}"#.to_owned()));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`Aggregate::run`] and its cursor.
    pub fn first(self) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        self.run()?.next().transpose()
    }

    /// Runs the pipeline to its end, and returns its plan, with the number of documents and the time of each stage.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let explained = pets.aggregate(r#"[{"$match": {"_id": "rex"}}, {"$set": {"old": true}}]"#).explain()?;
    /// assert_eq!((explained.returned, explained.stages[0].name), (1, "$set"));
    /// println!("{explained}");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`Aggregate::run`] and its cursor.
    pub fn explain(self) -> Result<PipelineExplanation> {
        self.begin(true)?.explain()
    }

    /// Returns the plan of the pipeline without running it: all counts of the explanation are zero.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_one(r#"{"kind": "dog"}"#)?;
    /// let plan = pets.aggregate(r#"[{"$match": {"kind": "dog"}}, {"$count": "n"}]"#).explain_plan()?;
    /// assert_eq!((plan.stages.len(), plan.returned), (2, 0));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Aggregate::explain`].
    pub fn explain_plan(self) -> Result<PipelineExplanation> {
        self.begin(false)?.explain_plan()
    }

    fn begin(self, timed: bool) -> Result<PipelineRun> {
        self.origin.begin(self.request, timed)
    }
}
