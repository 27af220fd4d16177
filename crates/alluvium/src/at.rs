//! A collection at a snapshot.

use crate::aggregate::Aggregate;
use crate::find::Find;
use crate::scan::Scan;
use crate::target::Target;
use alluvium_collections::error::Result;
use alluvium_collections::read::from_document;
use alluvium_collections::snapshot::Snapshot;
use alluvium_document::{Document, FromDocument, IntoDocument, Map, Value};
use std::marker::PhantomData;
use std::sync::atomic::AtomicBool;

/// A read-only view of a collection at a snapshot, with the name that it had then.
pub struct CollectionAt<T = Document> {
    target: Target,
    snapshot: Snapshot,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for CollectionAt<T> {
    fn clone(&self) -> Self {
        Self::new(self.target.clone(), self.snapshot.clone())
    }
}

impl<T> std::fmt::Debug for CollectionAt<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CollectionAt").field(&self.target).field(&self.snapshot).finish()
    }
}

impl<T> CollectionAt<T> {
    pub(crate) fn new(target: Target, snapshot: Snapshot) -> Self {
        Self { target, snapshot, documents: PhantomData }
    }

    /// Same as [`crate::Collection::get`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert!(pets.at(&before).get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`crate::Collection::get`], and [`crate::ErrorKind::SnapshotTooOld`].
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        let document = self.target.reader(Some(&self.snapshot))?.get(&id.into())?;
        document.map(|document| from_document(self.target.name()?, document)).transpose()
    }

    /// Same as [`crate::Collection::get_many`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// let found = pets.at(&before).get_many(["rex", "nobody"])?;
    /// assert!(found[0].is_some() && found[1].is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CollectionAt::get`].
    pub fn get_many<I: Into<Value>>(&self, ids: impl IntoIterator<Item = I>) -> Result<Vec<Option<T>>>
    where
        T: FromDocument,
    {
        let (name, reader) = (self.target.name()?, self.target.reader(Some(&self.snapshot))?);
        let value = |document| from_document(name, document);
        ids.into_iter().map(|id| reader.get(&id.into())?.map(value).transpose()).collect()
    }

    /// Same as [`crate::Collection::get_fields`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// let fields = pets.at(&before).get_fields("rex", &["age"])?.unwrap();
    /// assert_eq!(fields.get("age").and_then(alluvium::Value::as_i64), Some(3));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CollectionAt::get`].
    pub fn get_fields(&self, id: impl Into<Value>, paths: &[&str]) -> Result<Option<Map>> {
        self.target.reader(Some(&self.snapshot))?.get_fields(&id.into(), paths)
    }

    /// Same as [`crate::Collection::scan`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).scan().run()?.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn scan(&self) -> Scan<T> {
        Scan::new(self.target.clone(), Some(self.snapshot.clone()))
    }

    /// Same as [`crate::Collection::aggregate`], at the snapshot. Other collections that the pipeline reads are read at
    /// the snapshot, too.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).aggregate(r#"[{"$skip": 1}]"#).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn aggregate(&self, stages: impl IntoDocument) -> Aggregate {
        Aggregate::new(self.target.clone(), Some(self.snapshot.clone()), stages)
    }

    /// Same as [`crate::Collection::find`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).find(r#"{"age": {"$lt": 10}}"#).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find<T> {
        Find::new(self.target.clone(), Some(self.snapshot.clone()), filter)
    }

    /// Same as [`crate::Collection::find_one`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert!(pets.at(&before).find_one(r#"{"age": 3}"#)?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`crate::Collection::find_one`], and [`crate::ErrorKind::SnapshotTooOld`].
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        self.find(filter).first()
    }

    /// Same as [`crate::Collection::count`], at the snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!((pets.at(&before).count()?, pets.count()?), (3, 2));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CollectionAt::get`].
    pub fn count(&self) -> Result<u64> {
        self.target.reader(Some(&self.snapshot))?.count(&AtomicBool::new(false))
    }
}
