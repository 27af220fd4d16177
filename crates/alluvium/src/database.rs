//! The database.

use crate::backup::Checkpoint;
use crate::batch::WriteBatch;
use crate::collection::Collection;
use crate::dump::WriteDump;
use crate::logical::LogicalDatabase;
use crate::maintenance::{Compact, Verify};
use crate::target::Target;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::names::FullName;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::space::{self, InputBytes, Space};
use alluvium_collections::{expire, indexes, open, sweep};
use alluvium_env::Env;
use alluvium_store::{OpenReport, Options, Stats, Store};
use std::path::Path;
use std::sync::atomic::AtomicBool;

mod builder;

pub use builder::Builder;

/// An open database. Cheap to clone. It is closed when the last clone is dropped, or by
/// [`Database::close`], which also returns errors.
#[derive(Clone)]
pub struct Database {
    pub(crate) engine: EngineHandle,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// For operations in other modules of the library, such as [`crate::dump::Dump::restore`].
impl AsRef<EngineHandle> for Database {
    fn as_ref(&self) -> &EngineHandle {
        &self.engine
    }
}

/// A collection, as returned by [`Database::collections`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionInfo {
    /// Its logical database.
    pub database: String,
    /// Its name in the logical database.
    pub name: String,
}

impl CollectionInfo {
    /// `logical.collection`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("shop.orders")?;
    /// assert_eq!(db.collections()[0].full_name(), "shop.orders");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }
}

impl Database {
    /// Opens the database in the directory `path` with default options, creating it if it does not
    /// exist.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let db = alluvium::Database::open(dir.path().join("my.alluvium"))?;
    /// assert!(db.report().created);
    /// db.close()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Opens a new database in memory, for tests. It is dropped with its last handle.
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
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// let builder = alluvium::Database::builder().memory(64 << 20).create_if_missing(false);
    /// assert!(builder.open(dir.path().join("nothing")).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn open_with(env: Env, path: &Path, options: Options) -> Result<Self> {
        Ok(Self { engine: open::open(env, path, options)? })
    }

    /// The report of opening: whether the last close was clean, what was replayed, and what was
    /// lost.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert!(db.report().created && db.report().dropped.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn report(&self) -> &OpenReport {
        self.engine.store().report()
    }

    /// The directory.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.path(), std::path::Path::new("memory"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn path(&self) -> &Path {
        self.engine.store().path()
    }

    /// The number of partitions.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.partitions(), 4);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn partitions(&self) -> u32 {
        self.engine.store().partitions()
    }

    /// A handle on the collection `logical.collection`, or `main.collection` if the name has no
    /// dot. The first write creates the collection; it returns an error if the name is not allowed.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let orders = db.collection("shop.orders");
    /// orders.insert_one(r#"{"_id": 1, "sum": 20}"#)?;
    /// assert_eq!(db.collections()[0].full_name(), "shop.orders");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collection(&self, name: &str) -> Collection {
        Collection::new(Target::new(&self.engine, FullName::parse(name)))
    }

    /// As [`Database::collection`], with documents as values of `T`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Pet {
    ///     age: u32,
    /// }
    /// let pets = db.typed_collection::<Pet>("pets");
    /// pets.put("rex", Pet { age: 3 })?;
    /// assert_eq!(pets.find_one(r#"{"age": {"$lt": 5}}"#)?.map(|pet| pet.age), Some(3));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn typed_collection<T>(&self, name: &str) -> Collection<T> {
        Collection::new(Target::new(&self.engine, FullName::parse(name)))
    }

    /// A handle on a logical database, which exists as long as it has collections.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let shop = db.logical_database("shop");
    /// shop.create_collection("orders")?;
    /// assert_eq!(shop.collection_names(), ["orders"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn logical_database(&self, name: &str) -> LogicalDatabase {
        LogicalDatabase::new(self.engine.clone(), name)
    }

    /// The names of the logical databases, sorted.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("shop.orders")?;
    /// db.create_collection("pets")?;
    /// assert_eq!(db.logical_database_names(), ["main", "shop"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn logical_database_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.engine.catalog.list().into_iter().map(|n| n.logical).collect();
        names.dedup();
        names
    }

    /// The collections of all logical databases, sorted by name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets")?;
    /// let names: Vec<String> = db.collections().iter().map(|info| info.full_name()).collect();
    /// assert_eq!(names, ["main.pets"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collections(&self) -> Vec<CollectionInfo> {
        let info = |n: FullName| CollectionInfo { database: n.logical, name: n.collection };
        self.engine.catalog.list().into_iter().map(info).collect()
    }

    /// The collections that existed at a snapshot, sorted by name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets")?;
    /// let before = db.snapshot();
    /// db.drop_collection("pets")?;
    /// assert_eq!((db.collections().len(), db.collections_at(&before)?.len()), (0, 1));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors of reading the catalog, such as [`crate::ErrorKind::SnapshotTooOld`].
    pub fn collections_at(&self, snapshot: &Snapshot) -> Result<Vec<CollectionInfo>> {
        let info = |n: FullName| CollectionInfo { database: n.logical, name: n.collection };
        let names = self.engine.catalog.list_at(snapshot)?;
        Ok(names.into_iter().map(info).collect())
    }

    /// Creates an empty collection.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets")?;
    /// assert!(db.create_collection("pets").is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::CollectionExists`], [`crate::Error::InvalidName`], or as for any write.
    pub fn create_collection(&self, name: &str) -> Result<Collection> {
        let name = FullName::parse(name)?;
        self.engine.catalog.create(&name)?;
        Ok(Collection::new(Target::new(&self.engine, Ok(name))))
    }

    /// Renames a collection, possibly into another logical database. Existing handles keep the old
    /// name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets")?;
    /// db.rename_collection("pets", "archive.pets")?;
    /// assert_eq!(db.collections()[0].full_name(), "archive.pets");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`], [`crate::Error::CollectionExists`], or as for any write.
    pub fn rename_collection(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (FullName::parse(from)?, FullName::parse(to)?);
        self.engine.catalog.rename(&from, &to)
    }

    /// Drops a collection. Reads that begin later do not see it; its space is reclaimed in the
    /// background.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets")?;
    /// db.drop_collection("pets")?;
    /// assert!(db.collections().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`], or as for any write.
    pub fn drop_collection(&self, name: &str) -> Result<()> {
        self.engine.catalog.drop(&FullName::parse(name)?)
    }

    /// An empty write batch: an atomic batch of writes to any collections.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let (orders, stock) = (db.collection("orders"), db.collection("stock"));
    /// stock.put("ball", r#"{"left": 3}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.insert(&orders, r#"{"_id": 1, "what": "ball"}"#)?;
    /// batch.update_blind(&stock, "ball", r#"{"$inc": {"left": -1}}"#)?;
    /// batch.commit()?; // Atomic.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn write_batch(&self) -> WriteBatch {
        WriteBatch::new(self.engine.clone())
    }

    /// A snapshot of the latest visible state.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert!(pets.get("rex")?.is_none() && pets.at(&before).get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// Statistics of the running database. Takes microseconds.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let stats = db.stats();
    /// println!("{} bytes on disk, {} of them log", stats.disk_bytes, stats.log_bytes);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stats(&self) -> Stats {
        self.engine.store().stats()
    }

    /// Makes all earlier writes durable. This is the acknowledgement of [`crate::Durability::Bulk`]
    /// writes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets").with_durability(alluvium::Durability::Bulk);
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// db.sync()?; // Now durable.
    /// # alluvium::Result::Ok(())
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

    /// Closes the database, so that it can be opened again at once. Operations on remaining
    /// collections, snapshots, cursors and loads return [`crate::ErrorKind::Closed`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// db.close()?;
    /// assert_eq!(pets.count().unwrap_err().kind(), alluvium::ErrorKind::Closed);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] if the log could not be sealed. Acknowledged writes are safe even
    /// then.
    pub fn close(&self) -> Result<()> {
        self.engine.close()
    }

    /// The underlying store, for tests and tools.
    #[doc(hidden)]
    pub fn store(&self) -> &Store {
        self.engine.store()
    }
}

/// Maintenance: indexes, expiry, checks.
impl Database {
    /// Continues all interrupted index builds, and waits for them. If one fails, the others are
    /// still built; the first error is returned. A database continues them in the background after
    /// it is opened; call this to wait for them.
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

    /// Deletes expired documents: those whose date, at the path of an index with
    /// `expireAfterSeconds`, is at least that number of seconds in the past. Of several dates in an
    /// array the earliest counts. Returns the number of deleted documents. A database does this
    /// automatically every minute.
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

/// Checkpoints, dumps, and the disk space that long operations need.
impl Database {
    /// A checkpoint in the directory `dir`, which must be empty or not exist, made while reads and
    /// writes continue. It has exactly the operations up to one sequence number. Sorted files are
    /// linked if `dir` is on the same file system, otherwise copied; the part of the log that is
    /// not in sorted files is copied. The name `dir` appears only when all of it is durable. Set
    /// options, then call [`Checkpoint::run`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// let (monday, tuesday) = (dir.path().join("monday"), dir.path().join("tuesday"));
    /// db.checkpoint(&monday).run()?;
    /// db.checkpoint(&tuesday).base(&monday).run()?;
    ///
    /// let again = dir.path().join("again");
    /// alluvium::backup::restore(&tuesday, &again).run()?;
    /// assert_eq!(alluvium::Database::open(again)?.collection("pets").count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn checkpoint(&self, dir: impl AsRef<Path>) -> Checkpoint {
        Checkpoint::new(self.engine.clone(), dir.as_ref())
    }

    /// A dump of all collections at one snapshot into the directory `dir`. It must be empty, not
    /// exist, or hold the rest of a dump that was killed, which is removed. Set options, then call
    /// `run`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let other = alluvium::Database::open(dir.path().join("other"))?;
    /// # let to = dir.path().join("dump");
    /// db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// assert_eq!(db.dump(&to).run()?.documents, 1);
    /// alluvium::dump::read(&to).run()?.restore(&other).run()?;
    /// assert_eq!(other.collection("pets").count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn dump<'a>(&self, dir: impl AsRef<Path>) -> WriteDump<'a> {
        WriteDump::new(self.engine.clone(), dir.as_ref())
    }

    /// The estimated disk space for loading an input, from the compression of the database's own
    /// documents, and the free space that [`crate::Builder::disk_reserve`] demands. `plain_bytes`
    /// is the size of uncompressed input; `packed_bytes` is the size of files compressed with gzip
    /// or Zstandard, whose uncompressed size is unknown. Takes microseconds.
    /// Zstandard, only their number is known, not what is inside. Costs microseconds.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.load_space(1 << 20, 0).check()?; // room for a megabyte of JSON?
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn load_space(&self, plain_bytes: u64, packed_bytes: u64) -> Space {
        space::load_space(&self.engine, InputBytes { plain: plain_bytes, packed: packed_bytes })
    }

    /// The maximum disk space that [`Database::compact`] needs. It rewrites the partitions one
    /// after the other, and removes the old files of each when the new ones are complete. Takes
    /// microseconds.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let space = db.compact_space();
    /// assert!(space.is_enough(), "{} bytes are needed", space.needed_bytes);
    /// db.compact().run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn compact_space(&self) -> Space {
        space::compact_space(&self.engine)
    }

    /// The estimated disk space that [`Database::dump`] to `dir` needs without compression, from
    /// the size of rows.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.dump_space(dir.path().join("dump")).check()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn dump_space(&self, dir: impl AsRef<Path>) -> Space {
        space::dump_space(&self.engine, dir.as_ref())
    }
}
