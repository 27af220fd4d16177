//! Questions: which documents, in which order, what of them.
//!
//! A question is planned (`alluvium_query::plan`) and carried out step by step, each document when it is asked for, all at one
//! snapshot (`docs/decisions/0030-carrying-out-plans.md`).

use crate::cursor::Cursor;
use crate::{Collection, IntoDocument, Result, Snapshot};
use alluvium_document::path::FieldPath;
use alluvium_document::{Document, Map, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod explain;
mod limits;
mod moment;
mod planning;
mod question;
mod seen;
mod statistics;
mod step;

pub use explain::Explanation;
pub(crate) use limits::Limits;
pub(crate) use moment::Moment;
pub(crate) use planning::Plans;
pub(crate) use question::{Owned, Question};
pub(crate) use statistics::StatisticsCell;
pub(crate) use step::{Answer, project};

/// The name or the keys of the index that is to be used: `"author_1"` or `{"author": 1}`; `{"$natural": 1}` or `-1` for a
/// scan of all documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint(pub(crate) Value);

impl From<&str> for Hint {
    /// The name of an index; or its keys, if the text begins with a brace.
    fn from(text: &str) -> Self {
        Self(Value::from(text))
    }
}

impl From<&String> for Hint {
    fn from(text: &String) -> Self {
        Self(Value::from(text.as_str()))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self(Value::from(text))
    }
}

impl From<Map> for Hint {
    fn from(keys: Map) -> Self {
        Self(Value::Map(keys))
    }
}

/// What is asked, as it was given.
#[derive(Clone)]
pub(crate) struct Asked {
    pub filter: Result<Map>,
    pub sort: Option<Result<Map>>,
    pub projection: Option<Result<Map>>,
    pub skip: u64,
    pub limit: Option<u64>,
    pub hint: Option<Hint>,
    pub limits: Limits,
    pub allow_disk_use: bool,
    pub seen_bytes_max: usize,
}

impl Asked {
    pub fn new(filter: impl IntoDocument) -> Self {
        Self {
            filter: filter.into_map(),
            sort: None,
            projection: None,
            skip: 0,
            limit: None,
            hint: None,
            limits: Limits::default(),
            allow_disk_use: true,
            seen_bytes_max: usize::MAX,
        }
    }
}

/// A question that was not asked yet: made by [`Collection::find`], narrowed, and then run.
///
/// ```
/// # fn main() -> alluvium::Result<()> {
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let pets = db.collection("pets");
/// pets.insert_many([r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "tom", "age": 7}"#])?;
/// let old = pets.find(r#"{"age": {"$gt": 5}}"#).sort(r#"{"age": -1}"#).projection(r#"{"age": 1}"#).limit(1).run()?;
/// let old: Vec<_> = old.collect::<Result<_, _>>()?;
/// assert_eq!(old[0].to_string(), r#"{"_id":"ada","age":12}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a question is not asked until `run`, `first`, `count`, `distinct` or `explain`"]
pub struct Find {
    collection: Collection,
    at: Option<Snapshot>,
    asked: Asked,
    batch_size: usize,
}

/// How many documents [`Cursor::next_batch`] returns if nothing else is said: as MongoDB's first batch.
pub(crate) const BATCH_SIZE: usize = 101;

impl Find {
    pub(crate) fn new(collection: Collection, at: Option<Snapshot>, filter: impl IntoDocument) -> Self {
        Self { collection, at, asked: Asked::new(filter), batch_size: BATCH_SIZE }
    }

    /// In this order, `{"age": -1, "name": 1}`. Without, documents come as they are found.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let youngest = pets.find("{}").sort(r#"{"age": 1}"#).first()?.unwrap();
    /// assert_eq!(youngest.to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn sort(mut self, sort: impl IntoDocument) -> Self {
        self.asked.sort = Some(sort.into_map());
        self
    }

    /// Passes over so many documents.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let second = pets.find("{}").sort(r#"{"age": 1}"#).skip(1).first()?.unwrap();
    /// assert_eq!(second.to_string(), r#"{"_id":"tom","age":7}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn skip(mut self, documents: u64) -> Self {
        self.asked.skip = documents;
        self
    }

    /// At most so many documents; 0 is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.find("{}").limit(2).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn limit(mut self, documents: u64) -> Self {
        self.asked.limit = Some(documents).filter(|documents| *documents > 0);
        self
    }

    /// Only these fields, `{"name": 1, "_id": 0}`, or all but these, `{"body": 0}`.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let ages = pets.find(r#"{"_id": "rex"}"#).projection(r#"{"age": 1, "_id": 0}"#);
    /// assert_eq!(ages.first()?.unwrap().to_string(), r#"{"age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn projection(mut self, projection: impl IntoDocument) -> Self {
        self.asked.projection = Some(projection.into_map());
        self
    }

    /// By this index, whatever it costs: its name or its keys.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#)?;
    /// assert_eq!(pets.find(r#"{"age": {"$gt": 5}}"#).hint("age_1").count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn hint(mut self, index: impl Into<Hint>) -> Self {
        self.asked.hint = Some(index.into());
        self
    }

    /// How many documents [`Cursor::next_batch`] returns at once; 101 if it is not said.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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

    /// Ends with [`crate::Error::MaxTimeExpired`] once the question has taken this long, counted from `run`; zero is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let found = pets.find("{}").max_time(std::time::Duration::from_secs(5)).run()?;
    /// assert_eq!(found.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.asked.limits.set_max_time(time);
        self
    }

    /// Set to true by anybody, `stop` ends the question with [`crate::Error::Stopped`], also while nothing is found.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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
        self.asked.limits.stop = Some(stop);
        self
    }

    /// Whether a sort that does not fit into memory may use files. It may, if it is not said; else it ends with
    /// MongoDB's error 292.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let sorted = pets.find("{}").sort(r#"{"age": 1}"#).allow_disk_use(false).run()?;
    /// assert_eq!(sorted.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn allow_disk_use(mut self, allow: bool) -> Self {
        self.asked.allow_disk_use = allow;
        self
    }

    /// Remembers no more than so many bytes of keys to return each document once; for tests.
    #[doc(hidden)]
    pub fn remember(mut self, bytes: usize) -> Self {
        self.asked.seen_bytes_max = bytes;
        self
    }

    /// At a snapshot instead of the moment when the question is asked.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.find("{}").at(&before).count()?, 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.at = Some(snapshot.clone());
        self
    }

    /// Asks the question.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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
    /// [`crate::Error::NoSuchCollection`]; [`crate::ErrorKind::SnapshotTooOld`].
    pub fn run(self) -> Result<Cursor> {
        let question = Question::new(self.asked)?;
        let moment = Moment::of(&self.collection, self.at.as_ref())?;
        Ok(Cursor::found(Answer::new(moment, question, false)?, self.batch_size))
    }

    /// The first document.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert!(pets.find(r#"{"age": 7}"#).first()?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn first(mut self) -> Result<Option<Document>> {
        self.asked.limit = Some(1);
        self.run()?.next().transpose()
    }

    /// How many documents there are.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.find(r#"{"age": {"$gt": 5}}"#).count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn count(self) -> Result<u64> {
        self.counting(false)?.count()
    }

    /// Counts, and tells how that is done and what it took. As [`Find::explain`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
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

    fn counting(mut self, timed: bool) -> Result<Answer> {
        // The order changes nothing, but a wrong one is told.
        self.asked.projection = None;
        let mut question = Question::new(self.asked)?;
        question.only_count();
        Answer::new(Moment::of(&self.collection, self.at.as_ref())?, question, timed)
    }

    /// The distinct values at a path, in the order of all values; arrays give their elements.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.insert_one(r#"{"age": 7}"#)?;
    /// assert_eq!(pets.find("{}").distinct("age")?.len(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor; [`crate::Error::Distinct`].
    pub fn distinct(self, path: &str) -> Result<Vec<Value>> {
        let mut distinct = alluvium_query::distinct::Distinct::new(path)?;
        let mut answer = self.differing(distinct.path().clone(), false)?;
        while let Some(document) = answer.next_raw()? {
            distinct.add(&document)?;
        }
        Ok(distinct.into_values().collect())
    }

    /// Looks for the distinct values at a path, and tells how that is done and what it took: `returned` counts what they are
    /// told apart from. As [`Find::explain`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
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

    fn differing(mut self, path: FieldPath, timed: bool) -> Result<Answer> {
        self.asked.projection = None;
        let mut question = Question::new(self.asked)?;
        question.only_values(path);
        Answer::new(Moment::of(&self.collection, self.at.as_ref())?, question, timed)
    }

    /// Asks the question, returns no documents, and tells how they are found and what that took.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// let explained = pets.find(r#"{"kind": "dog"}"#).hint("kind_1").explain()?;
    /// assert_eq!((explained.returned, explained.keys_examined, explained.documents_examined), (1, 1, 1));
    /// println!("{explained}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn explain(self) -> Result<Explanation> {
        let question = Question::new(self.asked)?;
        let moment = Moment::of(&self.collection, self.at.as_ref())?;
        Answer::new(moment, question, true)?.explain()
    }
}

impl Collection {
    /// The documents that match a filter, in MongoDB's language: a question to be narrowed and then run. `{}` matches
    /// all.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "rex", "kind": "dog"}"#, r#"{"_id": "tom", "kind": "cat"}"#])?;
    /// for pet in pets.find(r#"{"kind": {"$in": ["dog", "wolf"]}}"#).run()? {
    ///     assert_eq!(pet?.id(), &alluvium::Value::from("rex"));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find {
        Find::new(self.clone(), None, filter)
    }

    /// The first document that matches.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// assert!(pets.find_one(r#"{"kind": "dog"}"#)?.is_some());
    /// assert!(pets.find_one(r#"{"kind": "cat"}"#)?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<Document>> {
        self.find(filter).first()
    }

    /// How many documents match.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.count_documents(r#"{"kind": "dog"}"#)?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn count_documents(&self, filter: impl IntoDocument) -> Result<u64> {
        self.find(filter).count()
    }

    /// About how many documents the collection has: told from a few blocks of each sorted run, without a scan. Documents
    /// that were rewritten or deleted lately may count.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.estimated_document_count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; as for any read.
    pub fn estimated_document_count(&self) -> Result<u64> {
        Ok(self.stats()?.keys)
    }

    /// The distinct values at a path of the documents that match a filter, in the order of all values.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#, r#"{"kind": "dog"}"#])?;
    /// assert_eq!(pets.distinct("kind", "{}")?, ["cat".into(), "dog".into()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::distinct`].
    pub fn distinct(&self, path: &str, filter: impl IntoDocument) -> Result<Vec<Value>> {
        self.find(filter).distinct(path)
    }
}
