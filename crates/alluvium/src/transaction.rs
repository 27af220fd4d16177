//! Transactions over several documents and collections.

use crate::batch::WriteBatch;
use crate::collection::Collection;
use crate::create_collection::CreateCollection;
use crate::target::Target;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::names::FullName;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::write::Transaction as Writes;
use alluvium_document::Map;
use alluvium_store::Durability;
use std::sync::Arc;

/// A transaction: reads at one snapshot, and writes that become visible together, or not at all.
///
/// Made by [`crate::Database::begin`], or for the time of a closure by [`crate::Database::transaction`], which also
/// repeats it after a conflict.
///
/// # Isolation
/// A transaction has snapshot isolation. Everything in it reads the state at its begin, under its own writes. No one
/// else sees its writes before the commit, and then all at once. Of two transactions that write the same document, the
/// first to write wins; the other gets an error of the kind [`crate::ErrorKind::Conflict`]. A transaction that writes a
/// document that has changed since it began gets the same error, and so does a commit if others have taken a key of a
/// unique index. Writes without a transaction wait until the transaction that has written their document ends. What a
/// transaction only reads may change before its commit: two transactions that each read what the other writes can both
/// commit (*write skew*). To prevent that, write what must not change, too.
///
/// # End
/// A transaction ends by [`Transaction::commit`], by [`Transaction::abort`], or when it is dropped, which aborts it.
/// An error of a write aborts it as well; errors of reads do not. Its snapshot has the limits of each
/// [`Snapshot`]: if it ends by age or size, later reads and the commit return
/// [`crate::ErrorKind::SnapshotTooOld`]. Its writes may have as many bytes as one batch of the store, and count as
/// memory of queries until the end.
///
/// # What it takes
/// All operations of its [`Collection`]s that read or write documents, except writes to capped collections, `$out` and
/// `$merge`. A collection that does not exist is created by the commit ([`Transaction::create_collection`]); until then,
/// only the transaction sees it. Its indexes are created in the same way, before its first document. Other changes of
/// collections and indexes happen outside of transactions; a collection that was created or dropped, or got other
/// indexes, since the transaction began is a conflict for its writes.
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let accounts = db.collection("accounts");
/// accounts.insert_many([r#"{"_id": "ada", "money": 5}"#, r#"{"_id": "bob", "money": 1}"#])?;
///
/// let transaction = db.begin();
/// let inside = transaction.collection("accounts");
/// inside.update_one(r#"{"_id": "ada"}"#, r#"{"$inc": {"money": -2}}"#).run()?;
/// inside.update_one(r#"{"_id": "bob"}"#, r#"{"$inc": {"money": 2}}"#).run()?;
/// assert_eq!(inside.find(r#"{"money": 3}"#).count()?, 2);
/// assert_eq!(accounts.find(r#"{"money": 3}"#).count()?, 0);
///
/// transaction.commit()?;
/// assert_eq!(accounts.find(r#"{"money": 3}"#).count()?, 2);
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Transaction {
    engine: EngineHandle,
    writes: Arc<Aborting>,
}

/// Aborts the transaction when the last handle is dropped. Handles of collections do not keep it running.
struct Aborting(Arc<Writes>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("running", &self.is_running()).finish_non_exhaustive()
    }
}

impl Transaction {
    pub(crate) fn begin(engine: &EngineHandle, durability: Durability) -> Self {
        let writes = Arc::new(Writes::begin(engine, durability));
        Self { engine: engine.clone(), writes: Arc::new(Aborting(writes)) }
    }

    /// A collection within the transaction. Names are those of [`crate::Database::collection`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// transaction.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// transaction.commit()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collection(&self, name: &str) -> Collection {
        Collection::new(Target::new(&self.engine, FullName::parse(name)).within(&self.writes.0))
    }

    /// Creates a collection with the commit of the transaction. Limits, a collation and a validator are not possible
    /// here. A write to a collection that does not exist creates it in the same way.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let transaction = db.begin();
    /// let pets = transaction.create_collection("pets").run()?;
    /// pets.insert_one(r#"{"_id": "rex"}"#)?;
    /// assert!(db.collection("pets").require_existing().is_err());
    /// transaction.commit()?;
    /// assert_eq!(db.collection("pets").count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn create_collection(&self, name: &str) -> CreateCollection {
        CreateCollection::new(Target::new(&self.engine, FullName::parse(name)).within(&self.writes.0))
    }

    /// The same collection within the transaction, with its type of documents and its options.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// let pets = db.collection("pets").typed::<alluvium::Map>();
    /// let transaction = db.begin();
    /// transaction.within(&pets).insert_one(alluvium::doc! {"_id": "rex"})?;
    /// assert!(pets.get("rex")?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn within<T>(&self, collection: &Collection<T>) -> Collection<T> {
        Collection::new(collection.target.clone().within(&self.writes.0))
    }

    /// A batch of writes within the transaction: all of them are made, or the transaction is aborted.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// let mut batch = transaction.write_batch();
    /// batch.put(&pets, "rex", r#"{"kind": "dog"}"#)?;
    /// batch.commit()?; // A part of the transaction.
    /// assert!(transaction.within(&pets).get("rex")?.is_some() && pets.get("rex")?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn write_batch(&self) -> WriteBatch {
        WriteBatch::new(self.engine.clone()).within(&self.writes.0)
    }

    /// The state that the transaction reads now: that at its begin, under its writes so far. Reads at this snapshot do not
    /// see later writes of the transaction.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// let pets = transaction.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let now = transaction.snapshot()?;
    /// pets.delete("rex")?;
    /// assert!(pets.at(&now).get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::TransactionEnded`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.writes.0.snapshot()
    }

    /// The number of the transaction, which no other one of the open database has. A write that was not to wait for it has
    /// the number in its error ([`crate::kv::Error::Claimed`]).
    pub fn number(&self) -> u64 {
        self.writes.0.number()
    }

    /// True until the transaction has ended.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// assert!(transaction.collection("pets").insert_one(r#"{"_id": [1]}"#).is_err());
    /// assert!(!transaction.is_running()); // The error has aborted it.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_running(&self) -> bool {
        self.writes.0.is_running()
    }

    /// Makes the writes visible, all at once, and as durable as the transaction was begun to be.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.create_collection("pets").run()?;
    /// let (first, second) = (db.begin(), db.begin());
    /// first.within(&pets).put("rex", r#"{"kind": "dog"}"#)?;
    /// let error = second.within(&pets).put("rex", r#"{"kind": "cat"}"#).unwrap_err();
    /// assert_eq!(error.kind(), alluvium::ErrorKind::Conflict);
    /// first.commit()?;
    /// assert!(second.commit().is_err()); // The conflict has aborted it.
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] if another write came first: the whole transaction may be repeated. As for any
    /// write; after an error other than [`crate::ErrorKind::OutcomeUnknown`] nothing was written.
    /// [`crate::Error::TransactionEnded`] if it had ended.
    pub fn commit(&self) -> Result<()> {
        self.writes.0.commit(None)
    }

    /// As [`Transaction::commit`], as durable as `durability` says.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// transaction.within(&pets).put("rex", r#"{"kind": "dog"}"#)?;
    /// transaction.commit_with(alluvium::Durability::Sync)?; // It is on the disk now.
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_with(&self, durability: Durability) -> Result<()> {
        self.writes.0.commit(Some(durability))
    }

    /// Adds fields to the recorded changes of later statements, as [`crate::Change::transaction`]: a server notes the
    /// session and the number of the transaction.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{ChangeScope, doc};
    /// db.record_changes(ChangeScope::Everything)?;
    /// let transaction = db.begin();
    /// transaction.note_in_changes(doc! {"by": "ada"});
    /// transaction.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// transaction.commit()?;
    /// for change in db.changes(&ChangeScope::Everything, None)? {
    ///     assert_eq!(change?.transaction, Some(doc! {"by": "ada"}));
    /// }
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn note_in_changes(&self, fields: Map) {
        self.writes.0.note_in_changes(fields);
    }

    /// True if the transaction has written something, or has created a collection.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// assert!(!transaction.has_writes()?);
    /// transaction.within(&pets).put("rex", r#"{"kind": "dog"}"#)?;
    /// assert!(transaction.has_writes()?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::TransactionEnded`].
    pub fn has_writes(&self) -> Result<bool> {
        self.writes.0.has_writes()
    }

    /// Ends the transaction without a trace. Does nothing if it has ended.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.create_collection("pets").run()?;
    /// let transaction = db.begin();
    /// transaction.within(&pets).put("rex", r#"{"kind": "dog"}"#)?;
    /// transaction.abort();
    /// assert_eq!(pets.count()?, 0);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn abort(&self) {
        self.writes.0.abort();
    }
}
