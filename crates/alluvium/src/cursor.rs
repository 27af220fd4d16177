//! Scans: documents in the order of their `_id`s.

use crate::catalog::Open;
use crate::database::Snapshot;
use crate::find::Answer;
use crate::names::FullName;
use crate::read::{decode, fields_of};
use crate::{Collection, ReadOnly, Result, write};
use alluvium_document::{Document, Map, Value};
use alluvium_store::Bounds;
use std::ops::Bound;
use std::sync::Arc;

/// A scan that has not started: which documents, in which direction.
///
/// ```
/// # fn main() -> alluvium::Result<()> {
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let numbers = db.collection("numbers");
/// numbers.insert_many((0..10).map(|n| format!(r#"{{"_id": {n}}}"#)))?;
/// let last: Vec<_> = numbers.scan().from(3).reverse().limit(2).run()?.collect::<Result<_, _>>()?;
/// assert_eq!(last[0].to_string(), r#"{"_id":9}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a scan does nothing until `run`"]
pub struct Scan {
    origin: Origin,
    from: Option<Value>,
    to: Option<Value>,
    reverse: bool,
    limit: Option<u64>,
}

/// What is scanned.
#[derive(Clone)]
enum Origin {
    Collection(Collection, Option<Snapshot>),
    ReadOnly(ReadOnly),
}

impl Scan {
    pub(crate) fn new(collection: Collection, snapshot: Option<Snapshot>) -> Self {
        Self::over(Origin::Collection(collection, snapshot))
    }

    pub(crate) fn read_only(store: ReadOnly) -> Self {
        Self::over(Origin::ReadOnly(store))
    }

    fn over(origin: Origin) -> Self {
        Self { origin, from: None, to: None, reverse: false, limit: None }
    }

    /// From this `_id` on, itself included, in ascending order, also when reversed.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let found: Vec<_> = pets.scan().from("rex").run()?.collect::<Result<_, _>>()?;
    /// assert_eq!(found[0].to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn from(mut self, id: impl Into<Value>) -> Self {
        self.from = Some(id.into());
        self
    }

    /// Up to this `_id`, itself excluded, in ascending order, also when reversed.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.scan().from("ada").to("tom").run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn to(mut self, id: impl Into<Value>) -> Self {
        self.to = Some(id.into());
        self
    }

    /// From the highest `_id` to the lowest.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let last = pets.scan().reverse().run()?.next().unwrap()?;
    /// assert_eq!(last.to_string(), r#"{"_id":"tom","age":7}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// At most so many documents; 0 is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.scan().limit(2).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn limit(mut self, documents: u64) -> Self {
        self.limit = Some(documents).filter(|documents| *documents > 0);
        self
    }

    /// At a snapshot instead of the moment when the scan is run. Of no effect on a read-only store.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.scan().snapshot(&before).run()?.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn snapshot(mut self, snapshot: &Snapshot) -> Self {
        if let Origin::Collection(_, at) = &mut self.origin {
            *at = Some(snapshot.clone());
        }
        self
    }

    /// Starts the scan.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// for document in pets.scan().run()? {
    ///     println!("{}", document?);
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`], [`crate::Error::InvalidId`],
    /// [`crate::ErrorKind::SnapshotTooOld`].
    pub fn run(self) -> Result<Cursor> {
        let (collection, snapshot) = match self.origin {
            Origin::Collection(collection, snapshot) => (collection, snapshot),
            Origin::ReadOnly(store) => {
                let key = |id: Option<Value>| id.map(|id| store.key(&id)).transpose();
                let bounds = alluvium_readonly::Bounds {
                    lower: key(self.from)?.map_or(Bound::Unbounded, Bound::Included),
                    upper: key(self.to)?.map_or(Bound::Unbounded, Bound::Excluded),
                    reverse: self.reverse,
                };
                let (scan, name) = (store.pairs().scan(&bounds), store.full_name().clone());
                let left = self.limit.unwrap_or(u64::MAX);
                return Ok(Cursor { rows: Rows::ReadOnly(scan, store), name, left });
            }
        };
        // First the moment, then the name at it: no drop comes between.
        let snapshot = snapshot.unwrap_or_else(|| collection.database.snapshot());
        let open = collection.open_at(Some(&snapshot))?;
        let key = |id: Option<Value>| id.map(|id| write::id_key(&id)).transpose();
        let bounds = Bounds {
            lower: key(self.from)?.map_or(Bound::Unbounded, Bound::Included),
            upper: key(self.to)?.map_or(Bound::Unbounded, Bound::Excluded),
            reverse: self.reverse,
        };
        let store = &collection.database.inner.store;
        let scan = store.scan(open.documents, bounds, Some(&snapshot.store))?;
        let name = collection.name()?.clone();
        let left = self.limit.unwrap_or(u64::MAX);
        Ok(Cursor { rows: Rows::Collection { scan, open, _collection: collection }, name, left })
    }
}

/// Documents in order. Reads one moment; ends after the first error.
pub struct Cursor {
    rows: Rows,
    name: FullName,
    left: u64,
}

/// Where the rows come from.
enum Rows {
    Collection {
        scan: alluvium_store::Scan,
        open: Arc<Open>,
        /// Keeps the database open.
        _collection: Collection,
    },
    ReadOnly(alluvium_readonly::Scan, ReadOnly),
    /// The answer to a question, and how many documents are a batch.
    Found(Box<Answer>, usize),
}

impl Cursor {
    pub(crate) fn found(answer: Answer, batch_size: usize) -> Self {
        let name = answer.moment().name.clone();
        Self { rows: Rows::Found(Box::new(answer), batch_size), name, left: u64::MAX }
    }

    /// The next documents, as many as the question's batch size says ([`crate::Find::batch_size`]); none at the end.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.find(r#"{"age": {"$gt": 5}}"#).batch_size(10).run()?;
    /// assert_eq!(cursor.next_batch()?.len(), 2);
    /// assert!(cursor.next_batch()?.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As the iterator's items; what came before the error in the batch is lost.
    pub fn next_batch(&mut self) -> Result<Vec<Document>> {
        let size = match &self.rows {
            Rows::Found(_, size) => *size,
            _ => crate::find::BATCH_SIZE,
        };
        self.by_ref().take(size).collect()
    }

    /// The next document's `_id` and some of its fields, as [`Collection::get_fields`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.scan().run()?;
    /// let fields = cursor.next_fields(&["age"])?.unwrap();
    /// assert_eq!(fields.get("age").and_then(alluvium::Value::as_i64), Some(12));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As the iterator's items.
    pub fn next_fields(&mut self, paths: &[&str]) -> Result<Option<Map>> {
        match self.next() {
            Some(document) => fields_of(&document?, paths, &self.name).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn name(&self) -> &FullName {
        &self.name
    }

    fn step(&mut self) -> Result<Option<Document>> {
        match &mut self.rows {
            Rows::Collection { scan, open, .. } => match scan.next()? {
                Some((key, row)) => decode(&open.shapes, &self.name, key, row.to_vec()).map(Some),
                None => Ok(None),
            },
            Rows::ReadOnly(scan, store) => match scan.next()? {
                Some((key, row)) => store.document(key, row.to_vec()).map(Some),
                None => Ok(None),
            },
            Rows::Found(answer, _) => answer.next(),
        }
    }
}

impl Iterator for Cursor {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let item = self.step().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.left = 0;
        }
        item
    }
}
