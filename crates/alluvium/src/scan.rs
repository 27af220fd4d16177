//! Scans: documents in the order of their `_id`s.

use crate::origin::Origin;
use crate::target::Target;
use alluvium_collections::cursor::{Cursor, ScanRange};
use alluvium_collections::error::Result;
use alluvium_collections::read_only::ReadOnlyDocuments;
use alluvium_collections::snapshot::Snapshot;
use alluvium_document::{Document, Value};
use std::marker::PhantomData;

/// A scan, not yet run; returned by [`crate::Collection::scan`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let numbers = db.collection("numbers");
/// numbers.insert_many((0..10).map(|n| format!(r#"{{"_id": {n}}}"#)))?;
/// let last: Vec<_> = numbers.scan().from(3).reverse().limit(2).run()?.collect::<Result<_, _>>()?;
/// assert_eq!(last[0].to_string(), r#"{"_id":9}"#);
/// # alluvium::Result::Ok(())
/// ```
#[must_use = "a scan does nothing until `run`"]
pub struct Scan<T = Document> {
    origin: Origin,
    range: ScanRange,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for Scan<T> {
    fn clone(&self) -> Self {
        Self { origin: self.origin.clone(), range: self.range.clone(), documents: PhantomData }
    }
}

impl<T> Scan<T> {
    pub(crate) fn new(target: Target, snapshot: Option<Snapshot>) -> Self {
        Self::over(Origin::Collection(target, snapshot))
    }

    pub(crate) fn read_only(store: ReadOnlyDocuments) -> Self {
        Self::over(Origin::ReadOnly(store))
    }

    fn over(origin: Origin) -> Self {
        Self { origin, range: ScanRange::default(), documents: PhantomData }
    }

    /// Sets the lower bound, inclusive, for scans in either direction.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let found: Vec<_> = pets.scan().from("rex").run()?.collect::<Result<_, _>>()?;
    /// assert_eq!(found[0].to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn from(mut self, id: impl Into<Value>) -> Self {
        self.range.from = Some(id.into());
        self
    }

    /// Sets the upper bound, exclusive, for scans in either direction.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.scan().from("ada").to("tom").run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn to(mut self, id: impl Into<Value>) -> Self {
        self.range.to = Some(id.into());
        self
    }

    /// Scans from the highest `_id` to the lowest.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let last = pets.scan().reverse().run()?.next().unwrap()?;
    /// assert_eq!(last.to_string(), r#"{"_id":"tom","age":7}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn reverse(mut self) -> Self {
        self.range.reverse = true;
        self
    }

    /// Returns at most this number of documents; 0 means no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// assert_eq!(pets.scan().limit(2).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn limit(mut self, documents: u64) -> Self {
        self.range.limit = Some(documents).filter(|documents| *documents > 0);
        self
    }

    /// Reads at a snapshot. Default: the latest state when the scan starts. Has no effect on a
    /// read-only store.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.scan().at(&before).run()?.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.origin.set_snapshot(snapshot);
        self
    }

    /// Starts the scan.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// for document in pets.scan().run()? {
    ///     println!("{}", document?);
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::InvalidId`], [`crate::ErrorKind::SnapshotTooOld`].
    pub fn run(self) -> Result<Cursor<T>> {
        Ok(self.origin.scan(self.range)?.typed())
    }
}
