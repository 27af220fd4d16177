//! The database: a directory, open.

use crate::catalog::Catalog;
use crate::fold::Folds;
use crate::index::Gathering;
use crate::names::FullName;
use crate::past::Past;
use crate::tasks::{Handle, Tasks};
use crate::{Builder, Collection, LogicalDatabase, OpenReport, Result, Stats, WriteBatch};
use alluvium_env::Env;
use alluvium_store::{Options, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open database. Cheap to clone; closed when the last clone is dropped, or by
/// [`Database::close`], which also tells whether that went well.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<DatabaseInner>,
    /// None where the database works for itself. It is what is dropped that counts.
    #[allow(dead_code)]
    pub(crate) handle: Option<Arc<Handle>>,
}

pub(crate) struct DatabaseInner {
    pub store: Store,
    pub catalog: Catalog,
    pub env: Env,
    pub tasks: Tasks,
    /// Who gathers entries of indexes in memory.
    pub gathering: Gathering,
}

/// A moment of the whole database. It never changes; reads at it see what was visible then, under the
/// names that collections had then.
///
/// Cheap to clone. It keeps old versions on disk until its last clone is dropped, or until it is
/// older than [`Builder::snapshot_max_age`] or keeps more than [`Builder::snapshot_max_debt`].
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) store: alluvium_store::Snapshot,
    pub(crate) past: Arc<Past>,
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
        if alluvium_readonly::is_read_only(&env, path).map_err(alluvium_store::Error::from)? {
            return Err(crate::Error::NeverChanges(path.to_owned()));
        }
        let folds = Arc::new(Folds::default());
        let options = Options { fold: Some(folds.clone()), definitions: Some(folds.clone()), ..options };
        let store = Store::open(env.clone(), path, options)?;
        let catalog = Catalog::load(&store, folds)?;
        // If it cannot be done now, a later flush does it.
        let _later = store.discard_damage();
        Ok(Self::start(DatabaseInner { store, catalog, env, tasks: Tasks::default(), gathering: Gathering::default() }))
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
        self.inner.store.report()
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
        self.inner.store.path()
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
        self.inner.store.partitions()
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
        Collection::new(self.clone(), FullName::parse(name))
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
        LogicalDatabase::new(self.clone(), name)
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
        let mut names: Vec<String> = self.inner.catalog.list().into_iter().map(|n| n.logical).collect();
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
        self.inner.catalog.list().into_iter().map(info).collect()
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
        let names = self.inner.catalog.list_at(&self.inner.store, snapshot)?;
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
        self.inner.catalog.create(&self.inner.store, &name)?;
        Ok(Collection::new(self.clone(), Ok(name)))
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
        self.inner.catalog.rename(&self.inner.store, &from, &to)
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
        self.inner.catalog.drop(&self.inner.store, &FullName::parse(name)?)
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
        WriteBatch::new(self.clone())
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
        Snapshot { store: self.inner.store.snapshot(), past: Arc::default() }
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
        self.inner.store.stats()
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
        Ok(self.inner.store.sync()?)
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
        Ok(self.inner.store.flush()?)
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
        Ok(self.inner.store.settle()?)
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
        let mut swept = Ok(0);
        if !self.inner.catalog.ready_indexes().is_empty() {
            self.flush()?;
            swept = self.sweep_indexes_unless(stop);
        }
        self.inner.catalog.learn_all(&self.inner.store);
        if !self.inner.store.compact_unless(stop)? {
            return Err(crate::Error::Stopped);
        }
        // What keeps stale entries in one index keeps nothing else from being merged.
        swept.map(|_gone| ())
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
        self.inner.tasks.stop();
        Ok(self.inner.store.close()?)
    }

    /// The store below, for tests and tools.
    #[doc(hidden)]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }
}
