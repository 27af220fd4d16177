//! Writes over several collections, all or none.

use crate::engine::EngineHandle;
use crate::error::{Error, Result, id_text};
use crate::ids;
use crate::names::FullName;
use crate::read::Reader;
use crate::write::{DocumentLock, Named, Reads, WriteTxn, execute, retry};
use alluvium_document::{Document, Map, Value};
use alluvium_query::update::Update;
use alluvium_store::{Durability, LockMode, TreeId};
use std::collections::{HashMap, HashSet};

/// One operation of a batch.
pub struct BatchOperation {
    /// The collection.
    pub collection: FullName,
    /// What is done.
    pub action: BatchAction,
}

/// What an operation of a batch does.
pub enum BatchAction {
    /// Puts a document that has its `_id`.
    Put(Map),
    /// Inserts a document that has its `_id`.
    Insert(Map),
    /// Deletes the document with this `_id`.
    Delete(Value),
    /// Applies an update blind.
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

/// What is known of a batch before anything is locked.
struct Plan<'a> {
    groups: Vec<Named<'a>>,
    /// For each operation, the lock of its document.
    locks: Vec<DocumentLock>,
    /// Documents that are read, because an update of them changes index entries.
    read: HashSet<Place>,
}

/// Makes all operations, in their order, or none.
///
/// # Errors
/// [`Error::DuplicateKey`], [`Error::DuplicateIndexKey`], or as for any write. Nothing was written then, unless the outcome is unknown.
pub fn write(engine: &EngineHandle, operations: &[BatchOperation], durability: Durability) -> Result<()> {
    retry(engine, || {
        let plan = Plan::new(engine, operations)?;
        let reads = Reads { locks: &plan.locks, reserve_bytes: plan.reserve_bytes() };
        let reads = if plan.read.is_empty() { None } else { Some(reads) };
        execute(engine.store(), &plan.groups, durability, reads, |txn| plan.encode(engine, operations, txn))
    })
}

impl<'a> Plan<'a> {
    fn new(engine: &EngineHandle, operations: &'a [BatchOperation]) -> Result<Self> {
        let mut plan = Self { groups: Vec::new(), locks: Vec::new(), read: HashSet::new() };
        for BatchOperation { collection, action } in operations {
            let group = match plan.groups.iter().position(|group| group.name == collection) {
                Some(group) => group,
                None => {
                    let state = engine.catalog.find_or_create(collection)?;
                    plan.groups.push(Named { name: collection, state });
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

    /// Encodes the operations; reads documents that are locked, if there are such.
    fn encode(&self, engine: &EngineHandle, operations: &'a [BatchOperation], txn: &mut WriteTxn<'a>) -> Result<()> {
        // The documents as the batch leaves them so far; whole only if they are read.
        let mut left: HashMap<Place, Option<Map>> = HashMap::new();
        for (operation, DocumentLock { group, key, .. }) in operations.iter().zip(&self.locks) {
            let group = *group;
            let place = (self.groups[group].state.documents, key.clone());
            let keeps = self.read.contains(&place);
            match &operation.action {
                BatchAction::Delete(_) => {
                    txn.delete(group, key);
                    left.insert(place, None);
                }
                BatchAction::Put(map) => {
                    txn.put(group, map)?;
                    left.insert(place, Some(if keeps { map.clone() } else { Map::new() }));
                }
                BatchAction::Insert(map) => {
                    match left.get(&place) {
                        Some(Some(_)) => {
                            let id = map.get(ids::ID).map(id_text).unwrap_or_default();
                            return Err(Error::DuplicateKey { collection: operation.collection.to_string(), id });
                        }
                        // The batch has deleted it.
                        Some(None) => txn.put(group, map)?,
                        None => txn.insert(group, map)?,
                    }
                    left.insert(place, Some(if keeps { map.clone() } else { Map::new() }));
                }
                BatchAction::Update { update, delta, .. } if !keeps => {
                    if txn.indexes(group).is_touched_by(update) {
                        return Err(alluvium_store::Error::SchemaChanged(place.0.0).into());
                    }
                    txn.delta(group, key, delta);
                }
                BatchAction::Update { id, update, .. } => {
                    let before = match left.remove(&place) {
                        Some(known) => known,
                        None => self.read(engine, group, key, id)?,
                    };
                    let after = match before {
                        Some(before) => Some(update_read(engine, txn, group, key, before, update)?),
                        None => None,
                    };
                    left.insert(place, after);
                }
            }
        }
        Ok(())
    }

    fn read(&self, engine: &EngineHandle, group: usize, key: &[u8], id: &Value) -> Result<Option<Map>> {
        let Named { name, state } = &self.groups[group];
        let reader = Reader::latest(engine.store(), state.clone(), name);
        let Some(document) = reader.get_key(key, id)? else { return Ok(None) };
        let damaged = |e: alluvium_document::row::RowError| Error::DamagedDocument {
            collection: name.to_string(),
            id: id_text(id),
            reason: e.to_string(),
        };
        document.to_map().map(Some).map_err(damaged)
    }
}

/// Applies an update to a document whose index entries change with it; an update that cannot be applied leaves it unchanged.
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
