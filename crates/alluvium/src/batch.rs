//! Write batches over collections.

use crate::write;
use crate::{Collection, Database, Durability, Error, IntoDocument, Result};
use alluvium_document::{Map, Value};
use alluvium_query::update::Update;
use alluvium_store::{LockMode, TreeId};

mod plan;
use plan::Plan;

/// Puts, inserts, deletes and blind updates over any collections of a database: all of them happen, at one
/// moment, or none. Operations on one document take effect in their order.
///
/// ```
/// # fn main() -> alluvium::Result<()> {
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let mut batch = db.write_batch();
/// batch.put(&db.collection("accounts"), "ada", r#"{"balance": 10}"#)?;
/// batch.put(&db.collection("log"), 1, r#"{"what": "paid"}"#)?;
/// batch.commit()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a batch does nothing until `commit`"]
pub struct WriteBatch {
    database: Database,
    operations: Vec<(Collection, Operation)>,
    durability: Durability,
}

enum Operation {
    Put(Map),
    Insert(Map),
    Delete(Value),
    /// The `_id`, the update, and the update as a delta.
    Apply(Value, Update, Vec<u8>),
}

impl WriteBatch {
    pub(crate) fn new(database: Database) -> Self {
        let durability = database.inner.store.options().durability;
        Self { database, operations: Vec::new(), durability }
    }

    /// Acknowledges the batch at another point than the database's default.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// let mut batch = db.write_batch().with_durability(alluvium::Durability::Sync);
    /// batch.put(&db.collection("pets"), "rex", r#"{"kind": "dog"}"#)?;
    /// batch.commit()?; // on the disk when this returns
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Puts a document under `id`, as [`Collection::put`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # db.create_collection("pets")?;
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
    pub fn put(&mut self, collection: &Collection, id: impl Into<Value>, document: impl IntoDocument) -> Result<()> {
        let mut map = document.into_map()?;
        write::set_id(&mut map, id.into())?;
        self.operations.push((collection.clone(), Operation::Put(map)));
        Ok(())
    }

    /// Inserts a document, as [`Collection::insert_one`]; returns its `_id`. Whether the `_id` is
    /// taken is found out by [`WriteBatch::commit`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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
    pub fn insert(&mut self, collection: &Collection, document: impl IntoDocument) -> Result<Value> {
        let mut map = document.into_map()?;
        write::ensure_id(&mut map, &self.database.inner.env);
        let id = map.get("_id").cloned().unwrap_or(Value::Null);
        self.operations.push((collection.clone(), Operation::Insert(map)));
        Ok(id)
    }

    /// Deletes a document, as [`Collection::delete`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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
    pub fn delete(&mut self, collection: &Collection, id: impl Into<Value>) -> Result<()> {
        let id = id.into();
        write::id_key(&id)?;
        self.operations.push((collection.clone(), Operation::Delete(id)));
        Ok(())
    }

    /// Applies an update blind, as [`Collection::apply`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let mut batch = db.write_batch();
    /// batch.apply(&pets, "rex", r#"{"$inc": {"age": 1}}"#)?;
    /// batch.commit()?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":4}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::Update`].
    pub fn apply(&mut self, collection: &Collection, id: impl Into<Value>, update: impl IntoDocument) -> Result<()> {
        let id = id.into();
        write::id_key(&id)?;
        let update = Update::parse(&update.into_map()?)?;
        let delta = update.to_delta(&collection.context())?;
        self.operations.push((collection.clone(), Operation::Apply(id, update, delta)));
        Ok(())
    }

    /// The number of operations.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// assert!(db.write_batch().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Writes the batch.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
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
    /// [`Error::DuplicateKey`] for an insert; or as for any write. Nothing of the batch happened
    /// then, unless the error is [`crate::ErrorKind::OutcomeUnknown`].
    pub fn commit(self) -> Result<()> {
        loop {
            match self.try_commit() {
                // A collection was dropped meanwhile, or has other indexes: it is looked up, or created, again.
                Err(Error::Store(alluvium_store::Error::NoSuchTree(_) | alluvium_store::Error::SchemaChanged(_))) => {
                    self.database.inner.catalog.settle(&self.database.inner.store)?;
                }
                result => return result,
            }
        }
    }

    fn try_commit(&self) -> Result<()> {
        let store = &self.database.inner.store;
        let plan = Plan::new(&self.operations)?;
        let mut claimed: Vec<(TreeId, Vec<u8>)> = Vec::new();
        let mut reserved = plan.guess(store);
        loop {
            // What reads nothing is encoded before the first lock, when its size can be paid for exactly.
            let early = if plan.reads { None } else { Some(plan.encode(&self.database, &self.operations)?) };
            if let Some(encoded) = early.as_ref() {
                reserved = encoded.batch.encoded_bytes();
                claimed = encoded.claimed();
                if encoded.mark_multikey(store)? {
                    continue;
                }
            }
            let _admitted = store.admit(reserved)?;
            let claims = claimed.iter().map(|(tree, key)| (*tree, key.as_slice(), LockMode::Exclusive));
            let guard = store.lock_all(plan.locks().chain(claims));
            let encoded = match early {
                Some(encoded) => encoded,
                None => plan.encode(&self.database, &self.operations)?,
            };
            let wanted = encoded.claimed();
            let lacking = wanted.iter().any(|key| !claimed.contains(key));
            if plan.reads && (lacking || encoded.batch.encoded_bytes() > reserved || encoded.finds_arrays()) {
                drop((guard, _admitted));
                encoded.mark_multikey(store)?;
                reserved = reserved.max(encoded.batch.encoded_bytes());
                claimed.extend(wanted);
                continue;
            }
            return encoded.write(store, self.durability, &guard);
        }
    }
}
