//! The database: a directory, open.

use crate::batch::WriteBatch;
use crate::collection::Collection;
use crate::logical::LogicalDatabase;
use crate::target::Target;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::space::{self, InputBytes, Space};
use alluvium_collections::verify::VerifyReport;
use alluvium_collections::{expire, indexes, open, sweep, verify};
use alluvium_env::Env;
use alluvium_store::{CheckpointOptions, CheckpointReport, OpenReport, Options, Stats, Store};
use alluvium_transfer::dump::{self, DumpOptions, DumpReport};
use std::path::Path;
use std::sync::atomic::AtomicBool;

mod builder;

pub use builder::Builder;

/// An open database. Cheap to clone; closed when the last clone is dropped, or by
/// [`Database::close`], which also tells whether that went well.
#[derive(Clone)]
pub struct Database {
    pub(crate) engine: EngineHandle,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// For operations of other parts of the library, such as [`crate::dump::Dump::restore`].
impl AsRef<EngineHandle> for Database {
    fn as_ref(&self) -> &EngineHandle {
        &self.engine
    }
}

/// What [`Database::collections`] tells of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionInfo {
    /// Its logical database.
    pub logical: String,
    /// Its name there.
    pub name: String,
}

impl CollectionInfo {
    /// `logical.collection`.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// db.create_collection("shop.orders")?;
    /// assert_eq!(db.collections()[0].full_name(), "shop.orders");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.logical, self.name)
    }
}

impl Database {
    /// Opens the database in the directory `path` with default options, creating it if it does not
    /// exist.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let db = alluvium::Database::open(dir.path().join("my.alluvium"))?;
    /// assert!(db.report().created);
    /// db.close()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Opens a new database in memory, for tests: nothing of it outlives its last handle.
    ///
    /// ```
    /// let db = alluvium::Database::in_memory()?;
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// assert_eq!(db.collection("pets").count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::open`].
    pub fn in_memory() -> Result<Self> {
        let env = Env { fs: Env::in_memory(0).fs, ..Env::os() };
        Self::builder().env(env).open("memory")
    }

    /// Options for opening.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let builder = alluvium::Database::builder().memory(64 << 20).create_if_missing(false);
    /// assert!(builder.open(dir.path().join("nothing")).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn open_with(env: Env, path: &Path, options: Options) -> Result<Self> {
        Ok(Self { engine: open::open(env, path, options)? })
    }

    /// What opening found: whether the last close was clean, what was replayed, what was lost.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// assert!(db.report().created && db.report().dropped.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn report(&self) -> &OpenReport {
        self.engine.store().report()
    }

    /// The directory.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// assert!(db.path().ends_with("db"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn path(&self) -> &Path {
        self.engine.store().path()
    }

    /// Partitions of the database.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// assert_eq!(db.partitions(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn partitions(&self) -> u32 {
        self.engine.store().partitions()
    }

    /// A handle on the collection `logical.collection`, or `main.collection` without a dot. The
    /// collection is created by the first write; a name that is not allowed is refused there.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let orders = db.collection("shop.orders");
    /// orders.insert_one(r#"{"_id": 1, "sum": 20}"#)?;
    /// assert_eq!(db.collections()[0].full_name(), "shop.orders");
    /// # Ok(())
    /// # }
    /// ```
    pub fn collection(&self, name: &str) -> Collection {
        Collection::new(Target::new(&self.engine, FullName::parse(name)))
    }

    /// A handle on a logical database. It exists as long as it has collections.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let shop = db.logical("shop");
    /// shop.create_collection("orders")?;
    /// assert_eq!(shop.list_collection_names(), ["orders"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn logical(&self, name: &str) -> LogicalDatabase {
        LogicalDatabase::new(self.engine.clone(), name)
    }

    /// The names of the logical databases, sorted.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.create_collection("shop.orders")?;
    /// db.create_collection("pets")?;
    /// assert_eq!(db.list_logical_names(), ["main", "shop"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_logical_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.engine.catalog.list().into_iter().map(|n| n.logical).collect();
        names.dedup();
        names
    }

    /// The collections of all logical databases, sorted by name.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.create_collection("pets")?;
    /// let names: Vec<String> = db.collections().iter().map(|info| info.full_name()).collect();
    /// assert_eq!(names, ["main.pets"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn collections(&self) -> Vec<CollectionInfo> {
        let info = |n: FullName| CollectionInfo { logical: n.logical, name: n.collection };
        self.engine.catalog.list().into_iter().map(info).collect()
    }

    /// The collections that there were at a snapshot, sorted by name.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.create_collection("pets")?;
    /// let before = db.snapshot();
    /// db.drop_collection("pets")?;
    /// assert_eq!((db.collections().len(), db.collections_at(&before)?.len()), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What keeps the registry from being read, such as [`crate::ErrorKind::SnapshotTooOld`].
    pub fn collections_at(&self, snapshot: &Snapshot) -> Result<Vec<CollectionInfo>> {
        let info = |n: FullName| CollectionInfo { logical: n.logical, name: n.collection };
        let names = self.engine.catalog.list_at(snapshot)?;
        Ok(names.into_iter().map(info).collect())
    }

    /// Creates an empty collection.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.create_collection("pets")?;
    /// assert!(db.create_collection("pets").is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::CollectionExists`], [`crate::Error::InvalidName`], or as for any write.
    pub fn create_collection(&self, name: &str) -> Result<Collection> {
        let name = FullName::parse(name)?;
        self.engine.catalog.create(&name)?;
        Ok(Collection::new(Target::new(&self.engine, Ok(name))))
    }

    /// Renames a collection, also into another logical database. Handles with the old name do not
    /// follow.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.create_collection("pets")?;
    /// db.rename_collection("pets", "archive.pets")?;
    /// assert_eq!(db.collections()[0].full_name(), "archive.pets");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`], [`crate::Error::CollectionExists`], or as for any write.
    pub fn rename_collection(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (FullName::parse(from)?, FullName::parse(to)?);
        self.engine.catalog.rename(&from, &to)
    }

    /// Drops a collection: readers that come later do not see it; its space is given back in the
    /// background.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.create_collection("pets")?;
    /// db.drop_collection("pets")?;
    /// assert!(db.collections().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`], or as for any write.
    pub fn drop_collection(&self, name: &str) -> Result<()> {
        self.engine.catalog.drop(&FullName::parse(name)?)
    }

    /// An empty write batch: puts, inserts and deletes over any collections, all or nothing.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let (orders, stock) = (db.collection("orders"), db.collection("stock"));
    /// stock.put("ball", r#"{"left": 3}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.insert(&orders, r#"{"_id": 1, "what": "ball"}"#)?;
    /// batch.apply(&stock, "ball", r#"{"$inc": {"left": -1}}"#)?;
    /// batch.commit()?; // Both, or none.
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_batch(&self) -> WriteBatch {
        WriteBatch::new(self.engine.clone())
    }

    /// Takes a snapshot of the latest visible moment.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert!(pets.get("rex")?.is_none() && pets.at(&before).get("rex")?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// Figures of the running database. Costs microseconds.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let stats = db.stats();
    /// println!("{} bytes on disk, {} of them log", stats.disk_bytes, stats.log_bytes);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> Stats {
        self.engine.store().stats()
    }

    /// Makes every write so far durable; the acknowledgement of [`crate::Durability::Bulk`] writes.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets").with_durability(alluvium::Durability::Bulk);
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// db.sync()?; // Now power may fail.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Poisoned`] or [`crate::ErrorKind::OutcomeUnknown`].
    pub fn sync(&self) -> Result<()> {
        Ok(self.engine.store().sync()?)
    }

    /// Writes what is in memory to sorted files.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.flush()?;
    /// assert_eq!(db.stats().partitions.iter().map(|partition| partition.files).sum::<usize>(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoSpace`] and what else keeps it from going on.
    pub fn flush(&self) -> Result<()> {
        Ok(self.engine.store().flush()?)
    }

    /// Flushes, and waits until no compaction is due.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.settle()?;
    /// assert_eq!(db.stats().debt, 0.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`].
    pub fn settle(&self) -> Result<()> {
        Ok(self.engine.store().settle()?)
    }

    /// Merges everything into one sorted run a partition, and gives back all space that can be.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.collection("pets").delete("rex")?;
    /// db.compact()?; // Nothing of rex is left on disk.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`].
    pub fn compact(&self) -> Result<()> {
        self.compact_unless(&AtomicBool::new(false))
    }

    /// As [`Database::compact`], until somebody sets `stop`: it ends within a second or so. What was merged by then
    /// stays merged, and nothing else has changed.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// db.compact_unless(&stop)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`]; [`crate::ErrorKind::Stopped`] if it was stopped.
    pub fn compact_unless(&self, stop: &AtomicBool) -> Result<()> {
        open::compact(&self.engine, stop)
    }

    /// Closes the database, so that it can be opened again at once. Collections, snapshots, cursors and
    /// loads that are left answer [`crate::ErrorKind::Closed`].
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// db.close()?;
    /// assert_eq!(pets.count().unwrap_err().kind(), alluvium::ErrorKind::Closed);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] if the log could not be sealed; acknowledged writes are safe even
    /// then.
    pub fn close(&self) -> Result<()> {
        self.engine.close()
    }

    /// The store below, for tests and tools.
    #[doc(hidden)]
    pub fn store(&self) -> &Store {
        self.engine.store()
    }
}

/// Upkeep: indexes, expiry, checks.
impl Database {
    /// Goes on with all index builds that were interrupted, and waits for them. One that fails does not keep the others
    /// from being built; the first error is returned. A database does that by itself after it is
    /// opened; who cannot wait for it calls this.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.finish_indexes()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`crate::Collection::create_index`].
    pub fn finish_indexes(&self) -> Result<()> {
        indexes::finish_interrupted(&self.engine)
    }

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
        expire::delete_expired(&self.engine)
    }

    /// Removes stale entries of all indexes from the files: entries of documents that were replaced or deleted without being
    /// read. Reads pass over them in any case; this gives their space back. A database does it by itself where they
    /// are many, and [`Database::compact`] does it too. Returns how many are gone.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#)?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.put("rex", r#"{"age": 4}"#)?; // Reads nothing, so the entry of 3 stays.
    /// db.flush()?;
    /// assert_eq!(db.sweep_indexes()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`].
    pub fn sweep_indexes(&self) -> Result<u64> {
        sweep::sweep_all(&self.engine, &AtomicBool::new(false))
    }

    /// Checks everything: every block, reference and count of the files below, as [`alluvium_store::Store::verify`] does, and
    /// then every document of every collection: that its deltas can be folded, that its shape is there, that
    /// all of its values can be decoded, and that it is found by its `_id`; and every index: that each document has its
    /// entries, and that no entry leads anybody astray. Returns the damage found, one error
    /// for each damaged place (of a collection or an index at most a hundred); empty is good.
    ///
    /// A collection is checked as it is at one snapshot, which lives no longer than any: one that takes longer to check
    /// than [`crate::Builder::snapshot_max_age`] ends it.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// for damage in db.verify()? {
    ///     eprintln!("{damage}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What keeps the check itself from going on, such as [`crate::ErrorKind::SnapshotTooOld`].
    pub fn verify(&self) -> Result<Vec<Error>> {
        self.verify_unless(&AtomicBool::new(false))
    }

    /// As [`Database::verify`], until somebody sets `stop`.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// assert!(db.verify_unless(&stop)?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::verify`]; [`crate::ErrorKind::Stopped`] if it was stopped.
    pub fn verify_unless(&self, stop: &AtomicBool) -> Result<Vec<Error>> {
        Ok(self.verify_all(stop)?.damage)
    }

    /// As [`Database::verify`], with what indexes have, until somebody sets `stop`.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// let report = db.verify_all(&stop)?;
    /// assert!(report.damage.is_empty() && report.indexes[0].entries == 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::verify`]; [`crate::ErrorKind::Stopped`] if it was stopped.
    pub fn verify_all(&self, stop: &AtomicBool) -> Result<VerifyReport> {
        verify::verify(&self.engine, stop)
    }
}

/// Checkpoints, dumps, and the space that long operations need.
impl Database {
    /// Makes a checkpoint in the directory `dir`, which must not exist or be empty, while others read and
    /// write: all writes up to one moment, none beyond. Sorted files get a second name there, where `dir`
    /// is on the same file system, and are copied else; of the log, what memory held is copied. Nothing has
    /// the name `dir` until all of it is durable.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// use alluvium::backup::{CheckpointOptions, RestoreOptions, restore};
    ///
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// let (monday, tuesday) = (dir.path().join("monday"), dir.path().join("tuesday"));
    /// db.checkpoint(&monday, &CheckpointOptions::default())?;
    /// db.checkpoint(&tuesday, &CheckpointOptions { base: Some(monday), ..CheckpointOptions::default() })?;
    ///
    /// let again = dir.path().join("again");
    /// restore(&alluvium_env::Env::os(), &tuesday, &again, RestoreOptions::default())?;
    /// assert_eq!(alluvium::Database::open(again)?.collection("pets").count()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if `dir` is taken or within a database, or the base is no checkpoint of this
    /// database; [`crate::ErrorKind::NoSpace`]; [`crate::Error::Stopped`]; what writing says. The database goes on, and nothing has the
    /// name `dir`.
    pub fn checkpoint(&self, dir: impl AsRef<Path>, options: &CheckpointOptions) -> Result<CheckpointReport> {
        Ok(self.engine.store().checkpoint(dir.as_ref(), options)?)
    }

    /// Writes all collections of one moment into the directory `dir`, which must not exist, be empty, or hold what
    /// is left of a dump that was killed: that is removed. `progress` is told of documents and bytes so far.
    ///
    /// ```
    /// use alluvium::dump::{Dump, DumpOptions, RestoreOptions};
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let other = alluvium::Database::open(dir.path().join("other"))?;
    /// # let to = dir.path().join("dump");
    /// db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// db.dump(&to, &DumpOptions::default(), |documents, _| println!("{documents} documents"))?;
    /// let dump = Dump::read(&alluvium_env::Env::os(), &to)?;
    /// dump.restore(&other, &RestoreOptions::default())?;
    /// assert_eq!(other.collection("pets").count()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Dump`] if the directory holds something, or another dump is being written there; [`Error::Export`]
    /// naming a document that cannot be written; what else reading and writing say. Nothing is left of the dump then.
    pub fn dump(&self, dir: &Path, options: &DumpOptions, progress: impl FnMut(u64, u64)) -> Result<DumpReport> {
        dump::dump(&self.engine, dir, options, progress)
    }

    /// What loading so many bytes of input will need: an estimate from how the database's own documents are compressed,
    /// and what [`crate::Builder::disk_reserve`] keeps free. Of `packed` bytes, of files compressed with gzip or
    /// Zstandard, only their number is known, not what is inside. Costs microseconds.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.load_space(1 << 20, 0).check()?; // room for a megabyte of JSON?
    /// # Ok(())
    /// # }
    /// ```
    pub fn load_space(&self, plain_bytes: u64, packed_bytes: u64) -> Space {
        space::load_space(&self.engine, InputBytes { plain: plain_bytes, packed: packed_bytes })
    }

    /// What [`Database::compact`] needs at most: it rewrites one partition after the other and removes the old files of
    /// each when the new ones are there. Costs microseconds.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let space = db.compact_space();
    /// assert!(space.is_enough(), "{} bytes are needed", space.needed_bytes);
    /// db.compact()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact_space(&self) -> Space {
        space::compact_space(&self.engine)
    }

    /// What [`Database::dump`] to `dir` will need without compression: an estimate from the bytes of rows.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.dump_space(&dir.path().join("dump")).check()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn dump_space(&self, dir: &Path) -> Space {
        space::dump_space(&self.engine, dir)
    }
}
