//! Write batches over several collections.

use crate::collection::Collection;
use alluvium_collections::batch::{self, BatchAction, BatchOperation};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::ids;
use alluvium_collections::write::Transaction;
use alluvium_document::{DocumentFor, IntoDocument, Value};
use alluvium_query::update::{Context, Update};
use alluvium_store::Durability;
use std::sync::Arc;

/// An atomic batch of puts, inserts, deletes and blind updates in any collections of a database:
/// either all operations take effect at once, or none does. Several operations on one document take
/// effect in the order in which they were added.
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let mut batch = db.write_batch();
/// batch.put(&db.collection("accounts"), "ada", r#"{"balance": 10}"#)?;
/// batch.put(&db.collection("log"), 1, r#"{"what": "paid"}"#)?;
/// batch.commit()?;
/// # alluvium::Result::Ok(())
/// ```
#[must_use = "a batch does nothing until `commit`"]
pub struct WriteBatch {
    engine: EngineHandle,
    operations: Vec<BatchOperation>,
    durability: Durability,
    transaction: Option<Arc<Transaction>>,
}

impl WriteBatch {
    /// The same batch, as a statement of a transaction.
    pub(crate) fn within(mut self, transaction: &Arc<Transaction>) -> Self {
        self.transaction = Some(transaction.clone());
        self
    }

    pub(crate) fn new(engine: EngineHandle) -> Self {
        let durability = engine.store().options().durability;
        Self { engine, operations: Vec::new(), durability, transaction: None }
    }

    /// Sets the durability of the batch. Default: the durability of the database.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut batch = db.write_batch().with_durability(alluvium::Durability::Sync);
    /// batch.put(&db.collection("pets"), "rex", r#"{"kind": "dog"}"#)?;
    /// batch.commit()?; // on the disk when this returns
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Puts a document under `id`, like [`Collection::put`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # db.create_collection("pets").run()?;
    /// let mut batch = db.write_batch();
    /// batch.put(&pets, "rex", r#"{"kind": "dog"}"#)?;
    /// assert!(pets.get("rex")?.is_none(), "nothing happens until `commit`");
    /// batch.commit()?;
    /// assert!(pets.get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidDocument`], [`Error::InvalidId`], [`Error::Json`].
    pub fn put<T>(
        &mut self,
        collection: &Collection<T>,
        id: impl Into<Value>,
        document: impl DocumentFor<T>,
    ) -> Result<()> {
        let mut map = document.into_fields()?;
        ids::set_id(&mut map, id.into())?;
        self.push(collection, BatchAction::Put(map))
    }

    /// Inserts a document, like [`Collection::insert_one`], and returns its `_id`. Only
    /// [`WriteBatch::commit`] detects a duplicate `_id`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// let mut batch = db.write_batch();
    /// let id = batch.insert(&pets, r#"{"kind": "dog"}"#)?;
    /// batch.commit()?;
    /// assert!(pets.get(id)?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidDocument`], [`Error::Json`].
    pub fn insert<T>(&mut self, collection: &Collection<T>, document: impl DocumentFor<T>) -> Result<Value> {
        let mut map = document.into_fields()?;
        ids::ensure_id(&mut map, &self.engine.env);
        let id = map.get("_id").cloned().unwrap_or(Value::Null);
        self.push(collection, BatchAction::Insert(map))?;
        Ok(id)
    }

    /// Deletes a document, like [`Collection::delete`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.delete(&pets, "rex")?;
    /// batch.commit()?;
    /// assert!(pets.get("rex")?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`].
    pub fn delete<T>(&mut self, collection: &Collection<T>, id: impl Into<Value>) -> Result<()> {
        let id = id.into();
        ids::id_key(&id)?;
        self.push(collection, BatchAction::Delete(id))
    }

    /// Applies an update without reading the document, like [`Collection::update_blind`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.update_blind(&pets, "rex", r#"{"$inc": {"age": 1}}"#)?;
    /// batch.commit()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":4}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::Update`].
    pub fn update_blind<T>(
        &mut self,
        collection: &Collection<T>,
        id: impl Into<Value>,
        update: impl IntoDocument,
    ) -> Result<()> {
        let id = id.into();
        ids::id_key(&id)?;
        let collation = self.engine.catalog.collation(collection.target.name()?);
        let update = Update::parse(&update.into_map()?)?.collated(collation.as_ref());
        let context = Context { time_ms: self.engine.env.clock.unix_millis(), inserting: false };
        let delta = update.to_delta(&context)?;
        self.push(collection, BatchAction::Update { id, update, delta })
    }

    /// The number of operations.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// let mut batch = db.write_batch();
    /// batch.put(&pets, "rex", r#"{"kind": "dog"}"#)?;
    /// assert_eq!(batch.len(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True if there are no operations.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert!(db.write_batch().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Commits the batch.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.put(&pets, "tom", r#"{"kind": "cat"}"#)?;
    /// batch.insert(&pets, r#"{"_id": "rex"}"#)?;
    /// assert_eq!(batch.commit().unwrap_err().kind(), alluvium::ErrorKind::DuplicateKey);
    /// assert!(pets.get("tom")?.is_none(), "all or nothing");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] for an insert; or as for any write. After an error no operation has
    /// taken effect, unless the error is [`crate::ErrorKind::OutcomeUnknown`].
    pub fn commit(self) -> Result<()> {
        batch::write(&self.engine, &self.operations, self.durability, self.transaction.as_deref())
    }

    fn push<T>(&mut self, collection: &Collection<T>, action: BatchAction) -> Result<()> {
        let collection = collection.target.name()?.clone();
        self.operations.push(BatchOperation { collection, action });
        Ok(())
    }
}
