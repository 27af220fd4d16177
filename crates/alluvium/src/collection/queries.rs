//! Queries.

use super::Collection;
use crate::aggregate::Aggregate;
use crate::find::Find;
use crate::watch::Watch;
use alluvium_collections::counts;
use alluvium_collections::error::Result;
use alluvium_collections::history::Scope;
use alluvium_collections::limits::Limits;
use alluvium_document::{FromDocument, IntoDocument};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

impl<T> Collection<T> {
    /// A query for the documents that match a filter in MongoDB's language. The filter `{}` matches all documents. Set
    /// its options, then call [`Find::run`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "rex", "kind": "dog"}"#, r#"{"_id": "tom", "kind": "cat"}"#])?;
    /// for pet in pets.find(r#"{"kind": {"$in": ["dog", "wolf"]}}"#).run()? {
    ///     assert_eq!(pet?.id(), &alluvium::Value::from("rex"));
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find<T> {
        Find::new(self.target.clone(), None, filter)
    }

    /// A pipeline over the documents: JSON text of an array of stages, or an array of maps. The results are
    /// documents, or values of another type by [`Aggregate::typed`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#, r#"{"kind": "dog"}"#])?;
    /// let kinds = pets.aggregate(r#"[{"$sortByCount": "$kind"}]"#).run()?;
    /// let kinds: Vec<String> = kinds.map(|kind| Ok(kind?.to_string())).collect::<alluvium::Result<_>>()?;
    /// assert_eq!(kinds, [r#"{"_id":"dog","count":2}"#, r#"{"_id":"cat","count":1}"#]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn aggregate(&self, stages: impl IntoDocument) -> Aggregate {
        Aggregate::new(self.target.clone(), None, stages)
    }

    /// Watches the changes of the collection, as [`crate::Database::watch`]. The collection need not exist yet. The
    /// stream ends when the collection is dropped or renamed.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// let mut changes = pets.watch().run()?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(changes.next().expect("an event")?.get("operationType"), Some(&"insert".into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn watch(&self) -> Watch {
        let scope = self.target.name().map(|name| Scope::Collection(name.clone()));
        Watch::new(&self.target.engine, scope)
    }

    /// The first matching document.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// assert!(pets.find_one(r#"{"kind": "dog"}"#)?.is_some());
    /// assert!(pets.find_one(r#"{"kind": "cat"}"#)?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        self.find(filter).first()
    }

    /// The number of documents. The first call counts them by a scan; later writes maintain the number, so that later
    /// calls read no documents. The number is exact if the documents were written by inserts, updates and deletes that
    /// read them. It is within one percent after blind writes ([`Collection::put`], [`Collection::delete`]) to a
    /// collection of more than 100,000 documents, and for a collection of more than four million documents that was
    /// just opened.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.estimated_count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any read.
    pub fn estimated_count(&self) -> Result<u64> {
        self.estimated_count_within(Duration::ZERO, Arc::default())
    }

    /// Same as [`Collection::estimated_count`], with limits for the case that the documents have to be counted. The
    /// count ends after `max_time`, where zero means no limit, or when `stop` is set to true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use std::time::Duration;
    ///
    /// let stop = std::sync::Arc::default(); // another thread may set it
    /// assert_eq!(db.collection("pets").estimated_count_within(Duration::from_secs(1), stop)?, 0);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::MaxTimeExpired`], [`crate::Error::Stopped`]; as for any read.
    pub fn estimated_count_within(&self, max_time: Duration, stop: Arc<AtomicBool>) -> Result<u64> {
        if self.target.transaction().is_some() {
            // The number that is kept is that of the latest state.
            return self.find(alluvium_document::Map::new()).max_time(max_time).stop_when(stop).count();
        }
        let mut limits = Limits::default();
        limits.set_max_time(max_time);
        limits.stop = Some(stop);
        counts::documents(&self.target.engine, self.target.name()?, limits)
    }
}
