//! How a batch becomes one of the store: which keys are locked and how, what is read, and what is written.

use super::Operation;
use crate::catalog::Open;
use crate::error::id_text;
use crate::index::{Entries, mark_multikey};
use crate::names::FullName;
use crate::read::Reader;
use crate::write::{self, mark_shapes, put_shapes};
use crate::{Collection, Database, Durability, Error, Result};
use alluvium_document::row::encode_row;
use alluvium_document::shape::Shape;
use alluvium_document::{Document, Map, Value};
use alluvium_query::update::Update;
use alluvium_store::{LockGuard, LockMode, Store, TreeId};
use std::collections::HashMap;
use std::sync::Arc;

type Key = (TreeId, Vec<u8>);

/// A collection of the batch.
struct Group {
    name: FullName,
    open: Arc<Open>,
}

/// What is known of a batch before anything is locked.
pub(super) struct Plan {
    groups: Vec<Group>,
    /// For each operation its group, its key, and how that is locked.
    operations: Vec<(usize, Vec<u8>, LockMode)>,
    /// Documents that are read, because an update of them changes index entries.
    read: HashMap<Key, ()>,
    /// There are such.
    pub reads: bool,
}

/// A batch of the store, and what has to be seen to when it is written.
pub(super) struct Encoded {
    pub batch: alluvium_store::WriteBatch,
    groups: Vec<EncodedGroup>,
    /// Documents that must not be there yet.
    inserts: Vec<(usize, Vec<u8>)>,
}

struct EncodedGroup {
    name: FullName,
    open: Arc<Open>,
    entries: Entries,
    shapes: Vec<Arc<Shape>>,
    marks: Vec<(TreeId, u32)>,
}

impl Plan {
    pub fn new(operations: &[(Collection, Operation)]) -> Result<Self> {
        let mut plan = Self { groups: Vec::new(), operations: Vec::new(), read: HashMap::new(), reads: false };
        for (collection, operation) in operations {
            let name = collection.name()?;
            let group = match plan.groups.iter().position(|group| group.name == *name) {
                Some(group) => group,
                None => {
                    plan.groups.push(Group { name: name.clone(), open: collection.open_or_create()? });
                    plan.groups.len() - 1
                }
            };
            let open = &plan.groups[group].open;
            let (key, mode) = match operation {
                Operation::Delete(id) => (write::id_key(id)?, LockMode::Shared),
                Operation::Put(map) => (write::checked_key(map)?.0, LockMode::Shared),
                Operation::Insert(map) => (write::checked_key(map)?.0, LockMode::Exclusive),
                Operation::Apply(id, update, _) => {
                    let key = write::id_key(id)?;
                    if open.indexes().is_touched_by(update) {
                        plan.read.insert((open.documents, key.clone()), ());
                        plan.reads = true;
                        (key, LockMode::Exclusive)
                    } else {
                        (key, LockMode::Shared)
                    }
                }
            };
            plan.operations.push((group, key, mode));
        }
        Ok(plan)
    }

    /// The bytes to reserve before it is known what there is to be read.
    pub fn guess(&self, store: &Store) -> usize {
        let each =
            self.operations.iter().map(|(group, key, _)| key.len() + self.groups[*group].open.modified.reserve());
        each.sum::<usize>().min(store.max_batch_bytes())
    }

    /// The documents to be locked.
    pub fn locks(&self) -> impl Iterator<Item = (TreeId, &[u8], LockMode)> {
        let open = |group: &usize| self.groups[*group].open.documents;
        self.operations.iter().map(move |(group, key, mode)| (open(group), key.as_slice(), *mode))
    }

    /// Encodes the operations; reads, under locks, if there is something to be read.
    pub fn encode(&self, database: &Database, operations: &[(Collection, Operation)]) -> Result<Encoded> {
        let store = &database.inner.store;
        let group = |group: &Group| EncodedGroup {
            name: group.name.clone(),
            open: group.open.clone(),
            entries: Entries::new(group.open.indexes()),
            shapes: Vec::new(),
            marks: Vec::new(),
        };
        let groups = self.groups.iter().map(group).collect();
        let mut encoded = Encoded { batch: store.batch(), groups, inserts: Vec::new() };
        for group in &encoded.groups {
            encoded.batch.expect_schema(group.open.documents, group.entries.schema());
        }
        // What the batch has made of documents so far; whole only of those that are read.
        let mut left: HashMap<Key, Option<Map>> = HashMap::new();
        for ((_, operation), (group, key, _)) in operations.iter().zip(&self.operations) {
            let tree = encoded.groups[*group].open.documents;
            let place = (tree, key.clone());
            let keeps = self.read.contains_key(&place);
            match operation {
                Operation::Delete(_) => {
                    encoded.delete(*group, key);
                    left.insert(place, None);
                }
                Operation::Put(map) | Operation::Insert(map) => {
                    if matches!(operation, Operation::Insert(_)) {
                        encoded.insert(*group, key, map, left.get(&place))?;
                    }
                    encoded.put(*group, key, map)?;
                    left.insert(place, Some(if keeps { map.clone() } else { Map::new() }));
                }
                Operation::Apply(id, update, delta) => {
                    let now = encoded.groups[*group].entries.set().is_touched_by(update);
                    match (now, keeps) {
                        (false, _) if !keeps => encoded.batch.delta(tree, key, delta),
                        (true, false) => return Err(Error::Store(alluvium_store::Error::SchemaChanged(tree.0))),
                        _ => {
                            let before = match left.remove(&place) {
                                Some(known) => known,
                                None => encoded.read(store, *group, key, id)?,
                            };
                            let after = encoded.apply(*group, key, before, update, database)?;
                            left.insert(place, after);
                        }
                    }
                }
            }
        }
        encoded.finish();
        Ok(encoded)
    }
}

impl Encoded {
    fn delete(&mut self, group: usize, key: &[u8]) {
        let group = &mut self.groups[group];
        self.batch.delete(group.open.documents, key);
        group.entries.forget(key);
    }

    fn row(&mut self, group: usize, key: &[u8], map: &Map) -> Result<()> {
        let group = &mut self.groups[group];
        let mut row = Vec::new();
        encode_row(map, &group.open.shapes, None, &mut row, &mut group.shapes)
            .map_err(|e| Error::InvalidDocument(e.to_string()))?;
        self.batch.put(group.open.documents, key, &row);
        Ok(())
    }

    fn put(&mut self, group: usize, key: &[u8], map: &Map) -> Result<()> {
        self.row(group, key, map)?;
        let EncodedGroup { entries, name, .. } = &mut self.groups[group];
        entries.put(&mut self.batch, key, map, name)
    }

    /// Takes note of an insert, or refuses it if the batch itself has put the document. `left` is what it has made of it.
    fn insert(&mut self, group: usize, key: &[u8], map: &Map, left: Option<&Option<Map>>) -> Result<()> {
        match left {
            Some(Some(_)) => {
                let id = map.get("_id").map(id_text).unwrap_or_default();
                Err(Error::DuplicateKey { collection: self.groups[group].name.to_string(), id })
            }
            Some(None) => Ok(()),
            None => {
                self.inserts.push((group, key.to_vec()));
                Ok(())
            }
        }
    }

    fn read(&self, store: &Store, group: usize, key: &[u8], id: &Value) -> Result<Option<Map>> {
        let group = &self.groups[group];
        let reader = Reader { store, open: group.open.clone(), name: &group.name, snapshot: None };
        let Some(document) = reader.get_key(key, id)? else { return Ok(None) };
        let damaged = |e: alluvium_document::row::RowError| Error::DamagedDocument {
            collection: group.name.to_string(),
            id: id_text(id),
            reason: e.to_string(),
        };
        document.to_map().map(Some).map_err(damaged)
    }

    /// Applies an update to a document whose index entries change with it; one that cannot be applied leaves it as it is.
    fn apply(
        &mut self,
        group: usize,
        key: &[u8],
        before: Option<Map>,
        update: &Update,
        database: &Database,
    ) -> Result<Option<Map>> {
        let Some(before) = before else { return Ok(None) };
        let mut after = before.clone();
        let context =
            alluvium_query::update::Context { time_ms: database.inner.env.clock.unix_millis(), ..Default::default() };
        match update.apply_to_map(&mut after, &context) {
            Ok(applied) if applied.changed => {}
            _ => return Ok(Some(before)),
        }
        let document = Document::from_map(&before).map_err(|e| Error::InvalidDocument(e.to_string()))?;
        self.row(group, key, &after)?;
        let EncodedGroup { entries, name, .. } = &mut self.groups[group];
        entries.change(&mut self.batch, (key, name), &document, Some(&after), true)?;
        Ok(Some(after))
    }

    fn finish(&mut self) {
        for group in &mut self.groups {
            put_shapes(&mut self.batch, &group.open, &group.shapes);
            group.marks = group.entries.take_multikey();
        }
    }

    /// The unique keys that documents of the batch have.
    pub fn claimed(&self) -> Vec<Key> {
        let claimed = self.groups.iter().flat_map(|group| group.entries.claimed());
        claimed.map(|(tree, key)| (tree, key.to_vec())).collect()
    }

    /// Documents have arrays where indexes were not known to lead through any.
    pub fn finds_arrays(&self) -> bool {
        self.groups.iter().any(|group| !group.marks.is_empty())
    }

    /// Writes that down, before anything is locked; true if there was something.
    pub fn mark_multikey(&self, store: &Store) -> Result<bool> {
        for group in self.groups.iter().filter(|group| !group.marks.is_empty()) {
            mark_multikey(store, &group.open, &group.marks)?;
        }
        Ok(self.finds_arrays())
    }

    /// Checks what must not be there, and writes the batch.
    pub fn write(self, store: &Store, durability: Durability, locks: &LockGuard) -> Result<()> {
        for (group, key) in &self.inserts {
            let group = &self.groups[*group];
            if store.contains(group.open.documents, key)? {
                // It may be one whose outcome is unknown.
                store.check_writable()?;
                let id = crate::read::key_text(key);
                return Err(Error::DuplicateKey { collection: group.name.to_string(), id });
            }
        }
        for group in &self.groups {
            group.entries.check_unique(store, &group.open, &group.name)?;
        }
        store.write_locked(self.batch, durability, locks)?;
        for group in &self.groups {
            mark_shapes(&group.open, &group.shapes);
        }
        Ok(())
    }
}
