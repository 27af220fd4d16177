//! The database: a directory, open.

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
    pub database: String,
    /// Its name there.
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

    /// What opening found: whether the last close was clean, what was replayed, what was lost.
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

    /// Partitions of the database.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.partitions(), 4);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn partitions(&self) -> u32 {
        self.engine.store().partitions()
    }

    /// A handle on the collection `logical.collection`, or `main.collection` without a dot. The
    /// collection is created by the first write; a name that is not allowed is refused there.
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

    /// As [`Database::collection`], with documents that are read and written as values of `T`.
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

    /// A handle on a logical database. It exists as long as it has collections.
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

    /// The collections that there were at a snapshot, sorted by name.
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
    /// What keeps the registry from being read, such as [`crate::ErrorKind::SnapshotTooOld`].
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

    /// Renames a collection, also into another logical database. Handles with the old name do not
    /// follow.
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

    /// Drops a collection: readers that come later do not see it; its space is given back in the
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

    /// An empty write batch: puts, inserts and deletes over any collections, all or nothing.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let (orders, stock) = (db.collection("orders"), db.collection("stock"));
    /// stock.put("ball", r#"{"left": 3}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.insert(&orders, r#"{"_id": 1, "what": "ball"}"#)?;
    /// batch.update_blind(&stock, "ball", r#"{"$inc": {"left": -1}}"#)?;
    /// batch.commit()?; // Both, or none.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn write_batch(&self) -> WriteBatch {
        WriteBatch::new(self.engine.clone())
    }

    /// Takes a snapshot of the latest visible moment.
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

    /// Figures of the running database. Costs microseconds.
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

    /// Makes every write so far durable; the acknowledgement of [`crate::Durability::Bulk`] writes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets").with_durability(alluvium::Durability::Bulk);
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// db.sync()?; // Now power may fail.
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
    /// [`crate::ErrorKind::NoSpace`] and what else keeps it from going on.
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

    /// Merges each partition into one sorted run, and gives back all space that can be.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.collection("pets").delete("rex")?;
    /// db.compact().run()?; // Nothing of rex is left on disk.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn compact(&self) -> Compact {
        Compact::new(self.engine.clone())
    }

    /// Closes the database, so that it can be opened again at once. Collections, snapshots, cursors and
    /// loads that are left answer [`crate::ErrorKind::Closed`].
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

    /// Deletes the documents that have expired: those with a date, at the path of an index with `expireAfterSeconds`, that
    /// lies so many seconds or more in the past. Of several dates in an array the first counts. Returns how many. A database
    /// does that by itself every minute.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let sessions = db.collection("sessions");
    /// sessions.create_index(r#"{"seen": 1}"#).expire_after(std::time::Duration::from_secs(3600)).run()?;
    /// sessions.put(1, r#"{"seen": {"$date": "2001-01-01T00:00:00Z"}}"#)?;
    /// sessions.put(2, r#"{"seen": "a text never expires"}"#)?;
    /// assert_eq!(db.delete_expired()?, 1);
    /// # alluvium::Result::Ok(())
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
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.put("rex", r#"{"age": 4}"#)?; // Reads nothing, so the entry of 3 stays.
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

    /// Checks everything: every block, reference and count of the files; every document of every collection (its deltas, its
    /// shape, its values, its `_id`); and every index (each document has its entries, and no entry leads to a wrong document).
    /// The report has one error for each damaged place, at most a hundred of a collection or an index.
    ///
    /// A collection is checked at one snapshot. If that takes longer than [`crate::Builder::snapshot_max_age`], the check ends
    /// with [`crate::ErrorKind::SnapshotTooOld`].
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

/// Checkpoints, dumps, and the space that long operations need.
impl Database {
    /// A checkpoint to be made in the directory `dir`, which must not exist or be empty, while other threads
    /// read and write: all operations up to one number, and none above. Sorted files are linked where `dir` is
    /// on the same file system, else copied; the part of the log that is not in sorted files is copied. The
    /// directory gets the name `dir` when all of it is durable.
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

    /// A dump of all collections at one snapshot, to be written into the directory `dir`, which must not exist, be
    /// empty, or hold what is left of a dump that was killed: that is removed.
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

    /// What loading so many bytes of input will need: an estimate from how the database's own documents are compressed,
    /// and what [`crate::Builder::disk_reserve`] keeps free. Of `packed` bytes, of files compressed with gzip or
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

    /// What [`Database::compact`] needs at most: it rewrites one partition after the other and removes the old files of
    /// each when the new ones are there. Costs microseconds.
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

    /// What [`Database::dump`] to `dir` will need without compression: an estimate from the bytes of rows.
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
