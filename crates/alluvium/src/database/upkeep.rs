//! Maintenance of a database.

use super::Database;
use crate::maintenance::{Compact, Verify};
use alluvium_collections::error::Result;
use alluvium_collections::{expire, indexes, retention, sweep};
use std::sync::atomic::AtomicBool;

/// Maintenance: flushes, compactions, indexes, expiry, checks.
impl Database {
    /// Writes the data in memory to sorted files.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.flush()?;
    /// assert_eq!(db.stats().partitions.iter().map(|partition| partition.files).sum::<usize>(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoSpace`], and other errors of writing.
    pub fn flush(&self) -> Result<()> {
        Ok(self.engine.store().flush()?)
    }

    /// Flushes, and waits until no compaction is due.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.wait_for_compaction()?;
    /// assert_eq!(db.stats().debt, 0.0);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`].
    pub fn wait_for_compaction(&self) -> Result<()> {
        Ok(self.engine.store().wait_for_compaction()?)
    }

    /// Merges each partition into one sorted run, and reclaims all possible space.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.collection("pets").delete("rex")?;
    /// db.compact().run()?; // The old document is gone from the disk.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn compact(&self) -> Compact {
        Compact::new(self.engine.clone())
    }

    /// Continues all interrupted index builds, and waits for them. If one build fails, the others still continue; the
    /// first error is returned. After a database is opened, it continues the builds in the background; this call waits
    /// for them.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.finish_indexes()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::Collection::create_index`].
    pub fn finish_indexes(&self) -> Result<()> {
        indexes::finish_interrupted(&self.engine)
    }

    /// Deletes expired documents. A document is expired if its date, at the path of an index with `expireAfterSeconds`,
    /// is at least that number of seconds in the past. If an array has several dates, the earliest counts. Returns the
    /// number of deleted documents. A database does this automatically every minute.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let sessions = db.collection("sessions");
    /// sessions.create_index(r#"{"seen": 1}"#).expire_after(std::time::Duration::from_secs(3600)).run()?;
    /// sessions.put(1, r#"{"seen": {"$date": "2001-01-01T00:00:00Z"}}"#)?;
    /// sessions.put(2, r#"{"seen": "a string never expires"}"#)?;
    /// assert_eq!(db.delete_expired()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any read and write: the first error, after all indexes and documents were processed.
    /// Documents deleted before remain deleted.
    pub fn delete_expired(&self) -> Result<u64> {
        expire::delete_expired(&self.engine)
    }

    /// Removes the recorded changes that are older than [`crate::Builder::change_retention`], and the oldest beyond its
    /// bytes; ends the recordings that change streams have begun and none has read for that time. Tokens of removed
    /// changes are refused. When the disk is short of space, only the newest quarter of the changes is kept. Returns true
    /// if changes were removed. A database does this automatically every minute.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.record_changes(alluvium::ChangeScope::Everything)?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// assert!(!db.trim_changes()?, "the change is new");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for any read and write.
    pub fn trim_changes(&self) -> Result<bool> {
        Ok(retention::trim_changes(&self.engine)?.is_some())
    }

    /// Removes stale index entries from the files: entries of documents that were replaced or
    /// deleted without being read. Reads skip these entries in any case; removing them reclaims
    /// their space. Returns the number of removed entries. A database does this automatically when
    /// there are many, and so does [`Database::compact`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.put("rex", r#"{"age": 4}"#)?; // Does not read the old document, so its entry for 3 remains.
    /// db.flush()?;
    /// assert_eq!(db.sweep_indexes()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`].
    pub fn sweep_indexes(&self) -> Result<u64> {
        sweep::sweep_all(&self.engine, &AtomicBool::new(false))
    }

    /// Checks everything: every block, reference and count of the files; every document of every
    /// collection (its deltas, its shape, its values, its `_id`); and every index (each document
    /// has its entries, and every entry leads to a matching document). The report has one error for
    /// each damaged item, at most a hundred for each collection or index.
    ///
    /// A collection is checked at one snapshot. If this takes longer than
    /// [`crate::Builder::snapshot_max_age`], the check ends with
    /// [`crate::ErrorKind::SnapshotTooOld`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let report = db.verify().run()?;
    /// assert!(report.damage.is_empty() && report.indexes[0].entries == 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn verify(&self) -> Verify {
        Verify::new(self.engine.clone())
    }
}
