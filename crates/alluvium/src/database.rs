//! The database.

use crate::batch::WriteBatch;
use crate::collection::Collection;
use crate::create_collection::CreateCollection;
use crate::create_view::{CreateView, stages};
use crate::logical::LogicalDatabase;
use crate::target::Target;
use crate::transaction::Transaction;
use alluvium_collections::catalog::ExpectedCollections;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::history::ChangeRetention;
use alluvium_collections::names::FullName;
use alluvium_collections::open;
use alluvium_collections::options::View;
use alluvium_collections::pipeline::change_view;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::write::repeat;
use alluvium_document::IntoDocument;
use alluvium_env::Env;
use alluvium_store::{Durability, OpenReport, Options, QueryMemory, Stats, Store};
use std::path::Path;
use std::time::Duration;

mod builder;
mod changes;
mod copies;
mod upkeep;

pub use builder::Builder;

/// An open database. Cheap to clone. It is closed when its last clone is dropped, or by [`Database::close`], which can
/// report errors.
#[derive(Clone)]
pub struct Database {
    pub(crate) engine: EngineHandle,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// Gives other modules of the library access to the engine, for operations such as [`crate::dump::Dump::restore`].
#[doc(hidden)]
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
    /// db.create_collection("shop.orders").run()?;
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

    /// Opens a new database in memory, for tests. Its contents are lost when its last handle is dropped.
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

    pub(crate) fn open_with(env: Env, path: &Path, options: Options, retention: ChangeRetention) -> Result<Self> {
        Ok(Self { engine: open::open_with(env, path, options, retention)? })
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

    /// Sets whether collections that are created later, including by a first write, keep the order of insertion: see
    /// [`crate::CreateCollection::natural_order`]. Existing collections do not change.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.set_natural_order(true);
    /// db.collection("pets").insert_many([r#"{"_id": 2}"#, r#"{"_id": 1}"#])?;
    /// assert_eq!(db.collection("pets").find("{}").first()?.unwrap().id().as_i64(), Some(2));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn set_natural_order(&self, natural_order: bool) {
        self.engine.catalog.set_natural_order(natural_order);
    }

    /// Sets the interval at which expired documents are deleted, by default one minute; `None` disables the deletion.
    /// The first pass with the new interval starts at once.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.set_expiry_interval(Some(std::time::Duration::from_secs(1)));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn set_expiry_interval(&self, interval: Option<Duration>) {
        self.engine.set_expiry_interval(interval);
    }

    /// True if the database was opened for reading only: see [`Builder::read_only`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert!(!db.is_read_only());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_read_only(&self) -> bool {
        self.engine.store().options().read_only
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

    /// A handle on the collection `logical.collection`, or `main.collection` if the name has no dot. The first write
    /// creates the collection, or returns an error if the name is not allowed.
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

    /// A handle on a logical database. A logical database exists as long as it has collections.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let shop = db.logical_database("shop");
    /// shop.create_collection("orders").run()?;
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
    /// db.create_collection("shop.orders").run()?;
    /// db.create_collection("pets").run()?;
    /// assert_eq!(db.logical_database_names(), ["main", "shop"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn logical_database_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.engine.catalog.list().into_iter().map(|n| n.logical.into()).collect();
        names.dedup();
        names
    }

    /// The collections of all logical databases, sorted by name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets").run()?;
    /// let names: Vec<String> = db.collections().iter().map(|info| info.full_name()).collect();
    /// assert_eq!(names, ["main.pets"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collections(&self) -> Vec<CollectionInfo> {
        let info = |n: FullName| CollectionInfo { database: n.logical.into(), name: n.collection.into() };
        self.engine.catalog.list().into_iter().map(info).collect()
    }

    /// The collections that existed at a snapshot, sorted by name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets").run()?;
    /// let before = db.snapshot();
    /// db.drop_collection("pets")?;
    /// assert_eq!((db.collections().len(), db.collections_at(&before)?.len()), (0, 1));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors of reading the catalog, such as [`crate::ErrorKind::SnapshotTooOld`].
    pub fn collections_at(&self, snapshot: &Snapshot) -> Result<Vec<CollectionInfo>> {
        let info = |n: FullName| CollectionInfo { database: n.logical.into(), name: n.collection.into() };
        let names = self.engine.catalog.list_at(snapshot)?;
        Ok(names.into_iter().map(info).collect())
    }

    /// A collection to create: set its options, then call [`CreateCollection::run`]. A collection without options need
    /// not be created: the first write creates it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").run()?;
    /// assert_eq!(pets.count()?, 0);
    /// assert!(db.create_collection("pets").run().is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn create_collection(&self, name: &str) -> CreateCollection {
        CreateCollection::new(Target::new(&self.engine, FullName::parse(name)))
    }

    /// A view to create: a name for a pipeline over a collection, or over another view, of the same logical database.
    /// The collection need not exist yet. Set options, then call [`CreateView::run`].
    ///
    /// `find`, `count`, `distinct` and `aggregate` read a view as a collection, with the indexes of the collection. A
    /// view is dropped like a collection.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// db.create_view("old_pets", "pets", [doc! {"$match": {"age": {"$gt": 5}}}]).run()?;
    /// assert_eq!(db.collection("old_pets").find("{}").count()?, 2);
    /// # use alluvium::doc;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn create_view(&self, name: &str, on: &str, pipeline: impl IntoDocument) -> CreateView {
        CreateView::new(Target::new(&self.engine, FullName::parse(name)), on, pipeline)
    }

    /// Replaces the pipeline of a view and the name of its collection in one step. The collation of the view does not
    /// change.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#])?;
    /// db.create_view("old_pets", "pets", r#"[{"$match": {"age": {"$gt": 5}}}]"#).run()?;
    /// db.change_view("old_pets", "pets", r#"[{"$match": {"age": {"$gt": 2}}}]"#)?;
    /// assert_eq!(db.collection("old_pets").find("{}").count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`] if no view has the name; as [`Database::create_view`].
    pub fn change_view(&self, name: &str, on: &str, pipeline: impl IntoDocument) -> Result<()> {
        let name = FullName::parse(name)?;
        let collation = self.engine.catalog.view(&name).and_then(|view| view.collation.clone());
        change_view(&self.engine, &name, View { on: on.to_owned(), pipeline: stages(pipeline)?, collation })
    }

    /// The views with their full names, sorted by name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_view("old_pets", "pets", r#"[{"$match": {"age": {"$gt": 5}}}]"#).run()?;
    /// let (name, view) = &db.views()[0];
    /// assert_eq!((name.as_str(), view.on.as_str()), ("main.old_pets", "pets"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn views(&self) -> Vec<(String, View)> {
        let views = self.engine.catalog.views().into_iter();
        views.map(|(name, view)| (name.to_string(), (*view).clone())).collect()
    }

    /// Renames a collection, possibly into another logical database. Existing handles keep the old
    /// name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets").run()?;
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

    /// Renames a collection, and drops an existing collection with the new name in the same step. Readers see either
    /// the dropped collection or the renamed one under the new name, and no state in between.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.collection("new_pets").put("tom", "{}")?;
    /// db.collection("pets").put("rex", "{}")?;
    /// db.replace_collection("new_pets", "pets")?;
    /// assert!(db.collection("pets").get("tom")?.is_some());
    /// assert_eq!(db.collections().len(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; [`crate::Error::IsView`] if the new name belongs to a view; or as for any
    /// write.
    pub fn replace_collection(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (FullName::parse(from)?, FullName::parse(to)?);
        self.engine.catalog.replace(&from, &to)
    }

    /// Renames a collection as [`Database::rename_collection`] does, or as [`Database::replace_collection`] does if
    /// `replaces` is true, provided that the names belong to the expected collections. The names are checked and
    /// changed in one step. Returns false, and changes nothing, if a name belongs to another collection.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::ExpectedCollections;
    /// db.collection("new_pets").put("tom", "{}")?;
    /// db.collection("pets").put("rex", "{}")?;
    /// let expected = ExpectedCollections { from: None, to: db.collection("pets").identity()? };
    /// db.drop_collection("pets")?;
    /// db.collection("pets").put("max", "{}")?;
    /// assert!(!db.rename_expected("new_pets", "pets", &expected, true)?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::rename_collection`] and [`Database::replace_collection`].
    pub fn rename_expected(
        &self,
        from: &str,
        to: &str,
        expected: &ExpectedCollections,
        replaces: bool,
    ) -> Result<bool> {
        let (from, to) = (FullName::parse(from)?, FullName::parse(to)?);
        self.engine.catalog.rename_expected(&from, &to, expected, replaces)
    }

    /// Drops a collection. Reads that begin later do not see it; its space is reclaimed in the
    /// background.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("pets").run()?;
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

    /// Begins a transaction at the latest visible state. Its commit has the default durability of the database.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// transaction.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// transaction.commit()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn begin(&self) -> Transaction {
        self.begin_with(self.engine.store().options().durability)
    }

    /// As [`Database::begin`], with this durability of the commit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// let transaction = db.begin_with(alluvium::Durability::Sync);
    /// transaction.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// transaction.commit()?; // Now durable.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn begin_with(&self, durability: Durability) -> Transaction {
        Transaction::begin(&self.engine, durability)
    }

    /// Calls `run` with a transaction, and commits it; aborts it if `run` returns an error. If another write came first
    /// ([`crate::ErrorKind::Conflict`]), everything is repeated in a new transaction, after a pause that grows, for up
    /// to a minute. `run` must therefore have no other effects, and use the collections of the transaction only: a write
    /// outside of it that meets its own transaction waits for itself, and fails.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let stock = db.collection("stock");
    /// # stock.put("ball", r#"{"left": 3}"#)?;
    /// # db.create_collection("orders").run()?;
    /// let ordered = db.transaction(|transaction| {
    ///     let in_stock = r#"{"_id": "ball", "left": {"$gt": 0}}"#;
    ///     let taken = transaction.collection("stock").update_one(in_stock, r#"{"$inc": {"left": -1}}"#).run()?;
    ///     if taken.modified_count == 1 {
    ///         transaction.collection("orders").insert_one(r#"{"what": "ball"}"#)?;
    ///     }
    ///     Ok(taken.modified_count == 1)
    /// })?;
    /// assert!(ordered && db.collection("orders").count()? == 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Those of `run` and of [`Transaction::commit`]. After an unknown outcome nothing is repeated.
    pub fn transaction<T>(&self, mut run: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        repeat(&self.engine, || {
            let transaction = self.begin();
            let value = run(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
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

    /// An account of the memory that all queries of the database share: half of the budget, and at least 64 MB. A
    /// program can charge the account for data that it holds for a client, such as replies that the client has not
    /// read.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let client = db.query_memory();
    /// let mut reply = client.charge();
    /// if !reply.grow(1 << 20) {
    ///     println!("there is no memory for the reply");
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn query_memory(&self) -> QueryMemory {
        self.engine.store().query_memory()
    }

    /// Makes all earlier writes durable. Writes with [`crate::Durability::Bulk`] are acknowledged by this call.
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
