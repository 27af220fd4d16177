//! Queries of one collection.

use crate::origin::Origin;
use crate::target::Target;
use alluvium_collections::cursor::Cursor;
use alluvium_collections::error::Result;
use alluvium_collections::find::{BATCH_SIZE, Execution, Explanation, FindRequest, Hint, Query, limited, moment_of};
use alluvium_collections::oplog::OplogTail;
use alluvium_collections::pipeline::PipelineRun;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::tail::Tail;
use alluvium_document::path::FieldPath;
use alluvium_document::{Document, FromDocument, IntoDocument, Value};
use alluvium_query::plan::PlanError;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A query, not yet run; returned by [`crate::Collection::find`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let pets = db.collection("pets");
/// pets.insert_many([r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "tom", "age": 7}"#])?;
/// let old = pets.find(r#"{"age": {"$gt": 5}}"#).sort(r#"{"age": -1}"#).projection(r#"{"age": 1}"#).limit(1).run()?;
/// let old: Vec<_> = old.collect::<Result<_, _>>()?;
/// assert_eq!(old[0].to_string(), r#"{"_id":"ada","age":12}"#);
/// # alluvium::Result::Ok(())
/// ```
#[must_use = "a query does nothing until `run`, `first`, `count`, `distinct` or `explain`"]
pub struct Find<T = Document> {
    origin: Origin,
    /// In a box, because every option moves the builder.
    request: Box<FindRequest>,
    batch_size: usize,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for Find<T> {
    fn clone(&self) -> Self {
        Self {
            origin: self.origin.clone(),
            request: self.request.clone(),
            batch_size: self.batch_size,
            documents: PhantomData,
        }
    }
}

impl<T> Find<T> {
    pub(crate) fn new(target: Target, at: Option<Snapshot>, filter: impl IntoDocument) -> Self {
        Self::over(Origin::Collection(target, at), filter)
    }

    pub(crate) fn over(origin: Origin, filter: impl IntoDocument) -> Self {
        Self { origin, request: Box::new(FindRequest::new(filter)), batch_size: BATCH_SIZE, documents: PhantomData }
    }

    /// Sets the order, such as `{"age": -1, "name": 1}`. Default: the order in which the plan finds the documents.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let youngest = pets.find("{}").sort(r#"{"age": 1}"#).first()?.unwrap();
    /// assert_eq!(youngest.to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn sort(mut self, sort: impl IntoDocument) -> Self {
        self.request.sort = Some(sort.into_map());
        self
    }

    /// Skips this number of documents.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let second = pets.find("{}").sort(r#"{"age": 1}"#).skip(1).first()?.unwrap();
    /// assert_eq!(second.to_string(), r#"{"_id":"tom","age":7}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn skip(mut self, documents: u64) -> Self {
        self.request.skip = documents;
        self
    }

    /// Returns at most this number of documents; 0 means no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.find("{}").limit(2).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn limit(mut self, documents: u64) -> Self {
        self.request.limit = Some(documents).filter(|documents| *documents > 0);
        self
    }

    /// Returns only some fields, as in `{"name": 1, "_id": 0}`, or all fields except some, as in `{"body": 0}`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let ages = pets.find(r#"{"_id": "rex"}"#).projection(r#"{"age": 1, "_id": 0}"#);
    /// assert_eq!(ages.first()?.unwrap().to_string(), r#"{"age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn projection(mut self, projection: impl IntoDocument) -> Self {
        self.request.projection = Some(projection.into_map());
        self
    }

    /// Sets the collation, given by MongoDB's options: the filter, the sort and the search for distinct values compare
    /// strings by the rules of a language. Default: strings are compared by their bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let found = pets.find(r#"{"_id": "REX"}"#).collation(r#"{"locale": "en", "strength": 2}"#).first()?;
    /// assert_eq!(found.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        self.request.collation = Some(options.into_map());
        self
    }

    /// Sets variables, which expressions of the filter and of the projection use as `$$name`. The values of the
    /// variables are expressions that refer to no fields.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let old = pets.find(r#"{"$expr": {"$gt": ["$age", "$$years"]}}"#).variables(r#"{"years": 5}"#);
    /// assert_eq!(old.count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn variables(mut self, variables: impl IntoDocument) -> Self {
        self.request.variables = Some(variables.into_map());
        self
    }

    /// Uses this index, given by its name or its keys, whatever the cost.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// assert_eq!(pets.find(r#"{"age": {"$gt": 5}}"#).hint("age_1").count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn hint(mut self, index: impl Into<Hint>) -> Self {
        self.request.hint = Some(index.into());
        self
    }

    /// Restricts the planner to these indexes, given by name. It can always scan all documents instead.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// let plan = pets.find(r#"{"age": 7}"#).only_indexes(["kind_1"]).explain()?;
    /// assert!(!plan.to_string().contains("index age_1"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn only_indexes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.request.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the number of documents that [`Cursor::next_batch`] returns at once. Default: 101.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.find("{}").batch_size(2).run()?;
    /// assert_eq!(cursor.next_batch()?.len(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn batch_size(mut self, documents: usize) -> Self {
        self.batch_size = documents.max(1);
        self
    }

    /// Ends the query with [`crate::Error::MaxTimeExpired`] after this time from the call of `run`.
    /// Default: zero, which is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let found = pets.find("{}").max_time(std::time::Duration::from_secs(5)).run()?;
    /// assert_eq!(found.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.request.limits.set_max_time(time);
        self
    }

    /// Ends the query with [`crate::Error::Stopped`] when `stop` is set to true, even while it
    /// finds no documents.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // which another thread may set
    /// assert_eq!(pets.find(r#"{"age": {"$gt": 5}}"#).stop_when(stop.clone()).count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.request.limits.stop = Some(stop);
        self
    }

    /// Allows a sort that does not fit into memory to use files. If false, such a query ends with
    /// MongoDB's error 292. Default: true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let sorted = pets.find("{}").sort(r#"{"age": 1}"#).allow_disk_use(false).run()?;
    /// assert_eq!(sorted.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn allow_disk_use(mut self, allow: bool) -> Self {
        self.request.allow_disk_use = allow;
        self
    }

    /// Limits the memory, in bytes, for the keys that are kept to return each document only once. For tests.
    #[doc(hidden)]
    pub fn remember(mut self, bytes: usize) -> Self {
        self.request.seen_bytes_max = bytes;
        self
    }

    /// Reads at a snapshot. Default: the latest state when the query starts.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.find("{}").at(&before).count()?, 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.origin.set_snapshot(snapshot);
        self
    }

    /// Runs the query.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// for document in pets.find(r#"{"age": {"$gt": 5}}"#).run()? {
    ///     println!("{}", document?);
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Filter`], [`crate::Error::Sort`], [`crate::Error::Projection`], [`crate::Error::Plan`] for a hint;
    /// [`crate::ErrorKind::SnapshotTooOld`].
    pub fn run(self) -> Result<Cursor<T>> {
        if let Some(oplog) = self.origin.oplog() {
            return Ok(Cursor::piped(oplog.query(*self.request)?, self.batch_size).typed());
        }
        if let Some(cursor) = self.origin.find_only_id(&self.request)? {
            return Ok(cursor.typed());
        }
        let moment = self.origin.moment(&self.request)?;
        let mut query = Query::new(*self.request, moment)?;
        if let Some((engine, name, at)) = self.origin.view()? {
            return Ok(Cursor::piped(PipelineRun::of_query(engine, name, at.as_ref(), query)?, self.batch_size).typed());
        }
        if let Some(cursor) = self.origin.find_by_id(&mut query)? {
            return Ok(cursor.typed());
        }
        Ok(Cursor::found(self.origin.execute(query, false)?, self.batch_size).typed())
    }

    /// Runs the query, and returns the first document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert!(pets.find(r#"{"age": 7}"#).first()?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`Find::run`] and its cursor.
    pub fn first(mut self) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        self.request.limit = Some(1);
        self.run()?.next().transpose()
    }

    /// The number of matching documents.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.find(r#"{"age": {"$gt": 5}}"#).count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`Find::run`] and its cursor.
    pub fn count(self) -> Result<u64> {
        if let Some(mut found) = self.of_view()? {
            let mut count = 0;
            while found.next_document()?.is_some() {
                count += 1;
            }
            return Ok(count);
        }
        self.counting(false)?.count()
    }

    /// Counts the matching documents, and explains the plan and its execution, like [`Find::explain`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// let explained = pets.find(r#"{"kind": "dog"}"#).hint("kind_1").explain_count()?;
    /// // The index alone answers.
    /// assert_eq!((explained.returned, explained.keys_examined, explained.documents_examined), (1, 1, 0));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::count`].
    pub fn explain_count(self) -> Result<Explanation> {
        self.counting(true)?.explain()
    }

    /// The unprojected documents of the query, if its collection is a view or the operation log.
    fn of_view(&self) -> Result<Option<PipelineRun>> {
        let request = FindRequest { projection: None, ..(*self.request).clone() };
        if let Some(oplog) = self.origin.oplog() {
            return oplog.query(request).map(Some);
        }
        let Some((engine, name, at)) = self.origin.view()? else { return Ok(None) };
        let moment = limited(moment_of(engine, name), &request.limits, &engine.env);
        let query = Query::new(request, moment)?;
        PipelineRun::of_query(engine, name, at.as_ref(), query).map(Some)
    }

    fn counting(mut self, timed: bool) -> Result<Execution> {
        // The sort does not change the count, but an invalid sort is an error.
        self.request.projection = None;
        let moment = self.origin.moment(&self.request)?;
        let mut query = Query::new(*self.request, moment)?;
        query.only_count();
        self.origin.execute(query, timed)
    }

    /// The distinct values at a path, sorted across all types. An array contributes its elements.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.insert_one(r#"{"age": 7}"#)?;
    /// assert_eq!(pets.find("{}").distinct("age")?.len(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`Find::run`] and its cursor; [`crate::Error::Distinct`].
    pub fn distinct(self, path: &str) -> Result<Vec<Value>> {
        let distinct = alluvium_query::distinct::Distinct::new(path)?.counted_in(self.origin.memory());
        if let Some(mut found) = self.of_view()? {
            let mut distinct = distinct.collated(found.collation());
            while let Some(document) = found.next_document()? {
                distinct.add(&document)?;
            }
            return Ok(distinct.into_values().collect());
        }
        let mut execution = self.differing(distinct.path().clone(), false)?;
        let mut distinct = distinct.collated(execution.collation());
        while let Some(document) = execution.next_raw()? {
            distinct.add(&document)?;
        }
        Ok(distinct.into_values().collect())
    }

    /// Collects the distinct values at a path, and explains the plan and its execution, like [`Find::explain`].
    /// `returned` is the number of documents or entries from which they were collected.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.find("{}").hint("kind_1").explain_distinct("kind")?.documents_examined, 0);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::distinct`].
    pub fn explain_distinct(self, path: &str) -> Result<Explanation> {
        let distinct = alluvium_query::distinct::Distinct::new(path)?;
        self.differing(distinct.path().clone(), true)?.explain()
    }

    fn differing(mut self, path: FieldPath, timed: bool) -> Result<Execution> {
        self.request.projection = None;
        let moment = self.origin.moment(&self.request)?;
        let mut query = Query::new(*self.request, moment)?;
        query.only_values(path);
        self.origin.execute(query, timed)
    }

    /// A cursor over a capped collection that stays open at the end of the collection, and continues when documents are
    /// added. It reads in the order of insertion. If the collection has no documents, the cursor ends at once.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    /// use std::time::Duration;
    ///
    /// let log = db.create_collection("log").capped(CappedLimits { size_bytes: 4096, documents: None }).run()?;
    /// log.insert_one(r#"{"_id": 1}"#)?;
    /// let mut tail = log.find("{}").tail()?;
    /// assert!(tail.next_document()?.is_some() && tail.next_document()?.is_none());
    /// log.insert_one(r#"{"_id": 2}"#)?;
    /// assert!(tail.wait(Duration::from_secs(1)));
    /// assert_eq!(tail.next_document()?.unwrap().to_string(), r#"{"_id":2}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NotCapped`]; [`crate::Error::Plan`] for a sort or a snapshot; as [`Find::run`].
    pub fn tail(self) -> Result<Tail> {
        let moment = self.origin.moment(&self.request)?;
        let query = Query::new(*self.request, moment)?;
        let Origin::Collection(target, None) = self.origin else {
            let what = "a tailable cursor reads a collection as it is now";
            return Err(PlanError::BadHint(what.to_owned()).into());
        };
        Tail::open(&target.engine, target.name()?, query)
    }

    /// As [`Find::tail`], for a query of the operation log ([`crate::Database::oplog`]). It does not end if it finds nothing.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # struct Numbers;
    /// # impl alluvium::ClusterTimes for Numbers {
    /// #     fn time(&self, number: u64) -> Option<alluvium::Timestamp> {
    /// #         Some(alluvium::Timestamp { time: 1, increment: u32::try_from(number).ok()? })
    /// #     }
    /// # }
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// let mut tail = db.oplog(std::sync::Arc::new(Numbers)).find(r#"{"op": "i"}"#).tail_oplog()?;
    /// assert!(tail.next_document()?.is_none() && !tail.is_dead());
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// assert!(tail.next_document()?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::ChangesNotRecorded`]; [`crate::Error::Plan`] for a sort, and for a query of anything else; as
    /// [`Find::run`].
    pub fn tail_oplog(self) -> Result<OplogTail> {
        match self.origin.oplog() {
            Some(oplog) => oplog.tail(*self.request),
            None => Err(PlanError::BadHint("only the operation log has such cursors".to_owned()).into()),
        }
    }

    /// Runs the query without returning documents, and explains the plan and its execution.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// let explained = pets.find(r#"{"kind": "dog"}"#).hint("kind_1").explain()?;
    /// assert_eq!((explained.returned, explained.keys_examined, explained.documents_examined), (1, 1, 1));
    /// println!("{explained}");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`Find::run`] and its cursor.
    pub fn explain(self) -> Result<Explanation> {
        let moment = self.origin.moment(&self.request)?;
        let query = Query::new(*self.request, moment)?;
        self.origin.execute(query, true)?.explain()
    }
}
