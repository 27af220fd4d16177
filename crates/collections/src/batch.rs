//! Atomic batches of writes to several collections.

use crate::engine::EngineHandle;
use crate::error::{Error, Result, id_text};
use crate::ids;
use crate::names::FullName;
use crate::state::CollectionState;
use crate::write::{DocumentLock, Named, Reads, Transaction, WriteLimits, WriteTxn, execute, retry};
use alluvium_document::{Document, Map, Value};
use alluvium_query::update::Update;
use alluvium_store::{Durability, LockMode, TreeId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One operation of a batch.
pub struct BatchOperation {
    /// The collection.
    pub collection: FullName,
    /// The action.
    pub action: BatchAction,
}

/// The action of an operation of a batch.
pub enum BatchAction {
    /// Puts a document that has its `_id`.
    Put(Map),
    /// Inserts a document that has its `_id`.
    Insert(Map),
    /// Deletes the document with this `_id`.
    Delete(Value),
    /// Applies an update without reading the document.
    Update {
        /// The `_id`.
        id: Value,
        /// The update.
        update: Update,
        /// The update as a delta.
        delta: Vec<u8>,
    },
}

/// A document: the tree of its collection, and its key.
type Place = (TreeId, Vec<u8>);

/// The collections and locks of a batch, determined before anything is locked.
struct Plan<'a> {
    groups: Vec<Named<'a>>,
    /// The lock of each operation's document.
    locks: Vec<DocumentLock>,
    /// The documents that are read because an update of them touches an index.
    read: HashSet<Place>,
}

/// Executes all operations in their order, or none; as a statement of a transaction if one is given.
///
/// # Errors
/// [`Error::DuplicateKey`], [`Error::DuplicateIndexKey`], or as for any write. After an error
/// nothing was written, unless the outcome is unknown.
pub fn write(
    engine: &EngineHandle,
    operations: &[BatchOperation],
    durability: Durability,
    transaction: Option<&Transaction>,
) -> Result<()> {
    if let Some(transaction) = transaction {
        let plan = Plan::new(operations, |name| transaction.require(name))?;
        return transaction.execute(&plan.groups, &mut |txn| plan.encode(engine, operations, txn));
    }
    retry(engine, || {
        let plan = Plan::new(operations, |name| engine.catalog.find_or_create(name))?;
        let reads = Reads { locks: &plan.locks, reserve_bytes: plan.reserve_bytes() };
        let reads = if plan.read.is_empty() { None } else { Some(reads) };
        execute(engine.store(), &plan.groups, durability, reads, |txn| plan.encode(engine, operations, txn))
    })
}

impl<'a> Plan<'a> {
    /// `find` returns the collection with a name.
    fn new(operations: &'a [BatchOperation], find: impl Fn(&FullName) -> Result<Arc<CollectionState>>) -> Result<Self> {
        let mut plan = Self { groups: Vec::new(), locks: Vec::new(), read: HashSet::new() };
        for BatchOperation { collection, action } in operations {
            let group = match plan.groups.iter().position(|group| group.name == collection) {
                Some(group) => group,
                None => {
                    let state = find(collection)?;
                    plan.groups.push(Named {
                        name: collection,
                        state,
                        validates: true,
                        limits: WriteLimits::default(),
                    });
                    plan.groups.len() - 1
                }
            };
            let state = &plan.groups[group].state;
            let (key, mode) = match action {
                BatchAction::Delete(id) => (ids::id_key(id)?, LockMode::Shared),
                BatchAction::Put(map) => (ids::checked_key(map)?, LockMode::Shared),
                BatchAction::Insert(map) => (ids::checked_key(map)?, LockMode::Exclusive),
                BatchAction::Update { id, update, .. } => {
                    let key = ids::id_key(id)?;
                    if state.indexes().is_touched_by(update) {
                        plan.read.insert((state.documents, key.clone()));
                        (key, LockMode::Exclusive)
                    } else {
                        (key, LockMode::Shared)
                    }
                }
            };
            plan.locks.push(DocumentLock { group, key, mode });
        }
        Ok(plan)
    }

    /// The bytes to reserve before the documents are read.
    fn reserve_bytes(&self) -> usize {
        let each = |lock: &DocumentLock| lock.key.len() + self.groups[lock.group].state.change_size.reserve();
        self.locks.iter().map(each).sum()
    }

    /// Encodes the operations. Reads the documents in `read`, which are locked.
    fn encode(&self, engine: &EngineHandle, operations: &'a [BatchOperation], txn: &mut WriteTxn<'a>) -> Result<()> {
        // The documents after the operations so far. A document that is not in `read` has an empty map here.
        let mut current: HashMap<Place, Option<Map>> = HashMap::new();
        for (operation, DocumentLock { group, key, .. }) in operations.iter().zip(&self.locks) {
            let group = *group;
            let place = (self.groups[group].state.documents, key.clone());
            let is_read = self.read.contains(&place);
            match &operation.action {
                BatchAction::Delete(_) => {
                    txn.delete(group, key);
                    current.insert(place, None);
                }
                BatchAction::Put(map) => {
                    txn.put(group, map)?;
                    current.insert(place, Some(if is_read { map.clone() } else { Map::new() }));
                }
                BatchAction::Insert(map) => {
                    match current.get(&place) {
                        Some(Some(_)) => {
                            let id = map.get(ids::ID).map(id_text).unwrap_or_default();
                            return Err(Error::DuplicateKey { collection: operation.collection.to_string(), id });
                        }
                        // The batch has deleted it.
                        Some(None) => txn.put(group, map)?,
                        None => txn.insert(group, map)?,
                    }
                    current.insert(place, Some(if is_read { map.clone() } else { Map::new() }));
                }
                BatchAction::Update { update, delta, .. } if !is_read => {
                    if txn.indexes(group).is_touched_by(update) {
                        return Err(alluvium_store::Error::SchemaChanged(place.0.0).into());
                    }
                    txn.delta(group, key, delta);
                }
                BatchAction::Update { id, update, .. } => {
                    let before = match current.remove(&place) {
                        Some(known) => known,
                        None => self.read(txn, group, key, id)?,
                    };
                    let after = match before {
                        Some(before) => Some(update_read(engine, txn, group, key, before, update)?),
                        None => None,
                    };
                    current.insert(place, after);
                }
            }
        }
        Ok(())
    }

    fn read(&self, txn: &WriteTxn<'_>, group: usize, key: &[u8], id: &Value) -> Result<Option<Map>> {
        let name = self.groups[group].name;
        let Some(document) = txn.reader(group).get_key(key, id)? else { return Ok(None) };
        let damaged = |e: alluvium_document::row::RowError| Error::DamagedDocument {
            collection: name.to_string(),
            id: id_text(id),
            reason: e.to_string(),
        };
        document.to_map().map(Some).map_err(damaged)
    }
}

/// Applies an update that touches an index to a document that was read. If the update cannot be applied, the document
/// is unchanged.
fn update_read(
    engine: &EngineHandle,
    txn: &mut WriteTxn<'_>,
    group: usize,
    key: &[u8],
    before: Map,
    update: &Update,
) -> Result<Map> {
    let mut after = before.clone();
    match update.apply_to_map(&mut after, &engine.update_context()) {
        Ok(applied) if applied.changed => {}
        _ => return Ok(before),
    }
    let document = Document::from_map(&before).map_err(|e| Error::InvalidDocument(e.to_string()))?;
    txn.put_read(group, key, &document, &after)?;
    Ok(after)
}
