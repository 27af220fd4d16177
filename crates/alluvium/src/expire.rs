//! Expiry: documents whose date in an index with `expireAfterSeconds` has passed are deleted.

use crate::find::Moment;
use crate::index::Index;
use crate::index::scan::IndexScan;
use crate::write::id_key;
use crate::{Collection, Database, Error, Result};
use alluvium_document::{Value, key};
use alluvium_query::index::Order;
use alluvium_store::Bounds;
use hashbrown::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// So many documents are found at one snapshot and then deleted one by one.
const AT_A_TIME: usize = 1000;

impl Database {
    /// Deletes the documents that have expired: those with a date, at the path of an index with `expireAfterSeconds`, that
    /// lies so many seconds or more in the past. Of several dates in an array the first counts. Returns how many. A database
    /// does that by itself every minute.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let sessions = db.collection("sessions");
    /// sessions.create_index_with(r#"{"seen": 1}"#, r#"{"expireAfterSeconds": 3600}"#)?;
    /// sessions.put(1, r#"{"seen": {"$date": "2001-01-01T00:00:00Z"}}"#)?;
    /// sessions.put(2, r#"{"seen": "a text never expires"}"#)?;
    /// assert_eq!(db.delete_expired()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for any read and write: the first error, after all indexes and documents were gone through; what was deleted
    /// stays so.
    pub fn delete_expired(&self) -> Result<u64> {
        let (mut deleted, mut failed) = (0, None);
        for (name, index) in self.inner.catalog.ready_indexes() {
            let Some(after_s) = index.definition.expire_after_s() else { continue };
            let now_ms = self.inner.env.clock.unix_millis();
            let cutoff_ms = now_ms.saturating_sub(i64::from(after_s) * 1000);
            let collection = Collection::new(self.clone(), Ok(name.clone()));
            let (count, result) = self.expire_in(&collection, &index, cutoff_ms);
            deleted += count;
            match result {
                Ok(()) => {}
                // Dropped meanwhile.
                Err(
                    crate::Error::NoSuchCollection { .. } | crate::Error::Store(alluvium_store::Error::NoSuchTree(_)),
                ) => {}
                // Others are no worse for it.
                Err(error) => {
                    let index = index.definition.name();
                    log::warn!(target: "alluvium::index", "documents of {name} do not expire by {index}: {error}");
                    failed = failed.or(Some(error));
                }
            }
        }
        match failed {
            None => Ok(deleted),
            Some(error) => Err(error),
        }
    }

    /// Deletes what has expired by an index: how many, and the first error. A document that cannot be deleted keeps no other
    /// from it.
    fn expire_in(&self, collection: &Collection, index: &Arc<Index>, cutoff_ms: i64) -> (u64, Result<()>) {
        let (mut deleted, mut left) = (0, Left::default());
        let result = self.expire_all(collection, index, cutoff_ms, &mut deleted, &mut left);
        (deleted, left.error.map_or(result, Err))
    }

    fn expire_all(
        &self,
        collection: &Collection,
        index: &Arc<Index>,
        cutoff_ms: i64,
        deleted: &mut u64,
        left: &mut Left,
    ) -> Result<()> {
        loop {
            // As many as bytes, where that is set: few.
            let at_a_time = self.inner.store.options().tuning.gather_bytes.map_or(AT_A_TIME, |b| b.clamp(1, AT_A_TIME));
            let found = self.expired(collection, index, cutoff_ms, at_a_time, left)?;
            let all = found.len() < at_a_time;
            let before = (*deleted, left.keys.len());
            for id in found {
                if self.inner.tasks.stopping() {
                    return Ok(());
                }
                let key = id_key(&id)?;
                // Read again, under its lock: it may have been given more time.
                let removed = collection.remove(id, |document| {
                    // An index that is dropped meanwhile, with its collection perhaps, deletes nothing any more.
                    let known = collection.open()?.indexes();
                    if !known.indexes.iter().any(|known| known.tree == index.tree) {
                        return Ok(false);
                    }
                    let keys = index.stored_keys_of(document)?.keys;
                    let (low, high) = dates(index, cutoff_ms);
                    Ok(keys.iter().any(|key| key.bytes >= low && key.bytes <= high))
                });
                match removed {
                    Ok(removed) => *deleted += u64::from(removed.is_some()),
                    Err(error) => {
                        left.note(error)?;
                        left.keys.insert(key);
                    }
                }
            }
            if all || before == (*deleted, left.keys.len()) {
                return Ok(());
            }
        }
    }

    /// The `_id`s of the first documents that have expired, at most so many, without those that are left.
    fn expired(
        &self,
        collection: &Collection,
        index: &Arc<Index>,
        cutoff_ms: i64,
        most: usize,
        left: &mut Left,
    ) -> Result<Vec<Value>> {
        let snapshot = self.snapshot();
        let open = collection.open()?;
        let (low, mut high) = dates(index, cutoff_ms);
        // Beyond the key of any `_id`.
        high.push(0xff);
        let bounds = Bounds { lower: Bound::Included(low), upper: Bound::Excluded(high), reverse: false };
        let moment = Moment::new(collection, open, snapshot)?;
        let mut scan = IndexScan::new(moment, index.clone(), bounds)?;
        let mut found = Vec::new();
        loop {
            let document = match scan.next_document() {
                Ok(Some(document)) => document,
                Ok(None) => break,
                Err(error) => {
                    left.note(error)?;
                    continue;
                }
            };
            if !found.contains(document.id()) && !left.holds(document.id())? {
                found.push(document.id().clone());
            }
            if found.len() == most {
                break;
            }
        }
        Ok(found)
    }
}

/// Documents that have expired and cannot be deleted.
#[derive(Default)]
struct Left {
    /// The keys of their `_id`s.
    keys: HashSet<Vec<u8>>,
    /// Why the first one cannot.
    error: Option<Error>,
}

impl Left {
    /// Takes note of an error that concerns one document. Any other is given back.
    fn note(&mut self, error: Error) -> Result<()> {
        let of_one = match &error {
            Error::DamagedDocument { .. } | Error::InvalidDocument(_) | Error::Index(_) | Error::IndexOf { .. } => true,
            Error::Store(error) => matches!(error, alluvium_store::Error::BatchTooLarge { .. }),
            _ => false,
        };
        if !of_one {
            return Err(error);
        }
        self.error.get_or_insert(error);
        Ok(())
    }

    fn holds(&self, id: &Value) -> Result<bool> {
        Ok(!self.keys.is_empty() && self.keys.contains(&id_key(id)?))
    }
}

/// The least and the greatest index key of dates up to the cutoff.
fn dates(index: &Index, cutoff_ms: i64) -> (Vec<u8>, Vec<u8>) {
    let of = |ms: i64| {
        let mut bytes = Vec::new();
        key::encode(&Value::DateTime(ms), &mut bytes);
        bytes
    };
    let (first, last) = (of(i64::MIN), of(cutoff_ms));
    match index.definition.parts().first().map(|part| part.order) {
        Some(Order::Descending) => {
            let inverted = |bytes: Vec<u8>| bytes.into_iter().map(|byte| !byte).collect();
            (inverted(last), inverted(first))
        }
        _ => (first, last),
    }
}
