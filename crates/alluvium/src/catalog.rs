//! Which collections there are, and the state that each shares between all handles.
//!
//! A collection is two trees of the store: its documents, and its system tree (shapes, progress of
//! loads). The description of a tree says which; it is written in the same batch as the tree.

use crate::filtered::Upserts;
use crate::find::{Plans, StatisticsCell};
use crate::fold::Folds;
use crate::index::{INDEX, Index, IndexSet};
use crate::marks;
use crate::modify::TypicalWrite;
use crate::names::FullName;
use crate::{Error, Result};
use alluvium_codec::varint;
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Mutex, MutexGuard, RwLock};
use alluvium_store::{Bounds, Durability, Snapshot, Store, TreeId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use strsim::levenshtein;

/// First byte of the key of a shape's definition in a system tree; its number follows.
const SHAPE_PREFIX: u8 = b's';
/// The key of the lowest number for the next shape, in a system tree.
const LOWEST_NEXT: &[u8] = b"m";
/// First byte of a description: a collection's documents.
const DOCUMENTS: u8 = 1;
/// First byte of a description: a collection's system tree.
pub(crate) const SYSTEM: u8 = 2;

/// What the handles of one collection share.
pub(crate) struct Open {
    pub documents: TreeId,
    pub system: TreeId,
    pub shapes: Arc<ShapeTable>,
    /// What a change of a document writes.
    pub modified: TypicalWrite,
    indexes: RwLock<Arc<IndexSet>>,
    /// Held while an index is described anew.
    pub index_change: Mutex<()>,
    /// What the planner knows of the documents.
    pub statistics: StatisticsCell,
    /// Held by whoever inserts since nothing matches a filter.
    pub upserts: Upserts,
    /// What questions of one form have taught.
    pub plans: Plans,
    /// It was seen that there is no room for more shapes.
    full: AtomicBool,
}

impl Open {
    pub fn new(documents: TreeId, system: TreeId, shapes: Arc<ShapeTable>, indexes: Arc<IndexSet>) -> Arc<Self> {
        let (indexes, index_change) = (RwLock::new(indexes), Mutex::new(()));
        Arc::new(Self {
            documents,
            system,
            shapes,
            modified: TypicalWrite::default(),
            indexes,
            index_change,
            statistics: StatisticsCell::default(),
            upserts: Upserts::default(),
            plans: Plans::default(),
            full: AtomicBool::new(false),
        })
    }

    /// Takes note, once, that there is no room for more shapes.
    pub fn note_shapes(&self) {
        if self.shapes.is_full() && !self.full.swap(true, Ordering::Relaxed) {
            marks::SHAPES_FULL.hit();
        }
    }

    /// The indexes, as of now.
    pub fn indexes(&self) -> Arc<IndexSet> {
        self.indexes.read().clone()
    }
}

/// The key of a shape's definition in a system tree.
pub(crate) fn shape_key(number: u32) -> [u8; 5] {
    let n = number.to_be_bytes();
    [SHAPE_PREFIX, n[0], n[1], n[2], n[3]]
}

fn describe_documents(name: &FullName, system: TreeId) -> Vec<u8> {
    let mut out = vec![DOCUMENTS];
    varint::put_bytes(&mut out, name.logical.as_bytes());
    varint::put_bytes(&mut out, name.collection.as_bytes());
    varint::put_u64(&mut out, u64::from(system.0));
    out
}

pub(crate) fn read_description(mut input: &[u8]) -> Option<(FullName, TreeId)> {
    let (&DOCUMENTS, rest) = input.split_first()? else { return None };
    input = rest;
    let logical = String::from_utf8(varint::get_bytes(&mut input).ok()?.to_vec()).ok()?;
    let collection = String::from_utf8(varint::get_bytes(&mut input).ok()?.to_vec()).ok()?;
    let system = u32::try_from(varint::get_u64(&mut input).ok()?).ok()?;
    Some((FullName { logical, collection }, TreeId(system)))
}

/// The collections of a database.
pub(crate) struct Catalog {
    names: RwLock<BTreeMap<FullName, Entry>>,
    /// Held while the set of collections changes.
    change: Mutex<()>,
    /// Held exclusively while indexes come or go: see [`Catalog::hold_indexes`].
    loads: RwLock<()>,
    /// The names are those of every snapshot from this number on; [`CHANGING`] while they change.
    settled: AtomicU64,
    folds: Arc<Folds>,
}

/// Names are being changed: nobody knows of which moment they are.
const CHANGING: u64 = u64::MAX;

/// A change of names, until it is dropped.
struct Changing<'a> {
    catalog: &'a Catalog,
    store: &'a Store,
    _one_at_a_time: MutexGuard<'a, ()>,
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        // Whatever came of it is visible, or never will be.
        self.catalog.settled.store(self.store.visible(), Ordering::SeqCst);
    }
}

#[derive(Clone)]
struct Entry {
    documents: TreeId,
    system: TreeId,
    indexes: Arc<IndexSet>,
    open: Option<Arc<Open>>,
}

impl Entry {
    /// The trees of the collection.
    fn trees(&self) -> Vec<TreeId> {
        let indexes = self.indexes.indexes.iter().map(|index| index.tree);
        [self.documents, self.system].into_iter().chain(indexes).collect()
    }

    fn set_indexes(&mut self, indexes: IndexSet) {
        self.indexes = Arc::new(indexes);
        if let Some(open) = &self.open {
            *open.indexes.write() = self.indexes.clone();
        }
    }
}

impl Catalog {
    /// Reads the catalogue from the store's registry of trees.
    pub fn load(store: &Store, folds: Arc<Folds>) -> Result<Self> {
        let mut names = BTreeMap::new();
        let trees = store.trees();
        let mut indexes: BTreeMap<TreeId, Vec<Arc<Index>>> = BTreeMap::new();
        for (tree, description) in &trees {
            match Index::read(*tree, description) {
                Some((documents, index)) => indexes.entry(documents).or_default().push(Arc::new(index)),
                None if description.first() == Some(&INDEX) => return Err(unreadable_index(*tree)),
                None => {}
            }
        }
        for (documents, description) in trees {
            if let Some((name, system)) = read_description(&description) {
                if !store.report().lost.is_empty() {
                    raise_shapes(store, &name, system)?;
                }
                let indexes = indexes.remove(&documents).unwrap_or_default();
                let indexes = Arc::new(IndexSet { schema: store.schema(documents), indexes });
                names.insert(name, Entry { documents, system, indexes, open: None });
            }
        }
        Ok(Self {
            names: RwLock::new(names),
            change: Mutex::new(()),
            loads: RwLock::new(()),
            settled: AtomicU64::new(store.visible()),
            folds,
        })
    }

    /// Begins to change names, before anything is written.
    fn changing<'a>(&'a self, store: &'a Store) -> Changing<'a> {
        let change = self.change.lock();
        self.settled.store(CHANGING, Ordering::SeqCst);
        Changing { catalog: self, store, _one_at_a_time: change }
    }

    /// What folds know of the collections.
    pub fn folds(&self) -> &Folds {
        &self.folds
    }

    /// True if what was looked up before holds for a snapshot with this number too.
    pub fn unchanged_since(&self, snapshot: u64) -> bool {
        self.settled.load(Ordering::SeqCst) <= snapshot
    }

    /// The shared state of the collection with this tree of documents, if somebody has opened it.
    pub fn open_with(&self, documents: TreeId) -> Option<Arc<Open>> {
        let names = self.names.read();
        names.values().find(|entry| entry.documents == documents)?.open.clone()
    }

    /// The collections, by name.
    pub fn list(&self) -> Vec<FullName> {
        self.names.read().keys().cloned().collect()
    }

    /// The collection's shared state; `None` if it does not exist.
    pub fn find(&self, store: &Store, name: &FullName) -> Result<Option<Arc<Open>>> {
        match self.names.read().get(name) {
            Some(Entry { open: Some(open), .. }) => return Ok(Some(open.clone())),
            Some(_) => {}
            None => return Ok(None),
        }
        // First use since open: its shapes are read once, by one thread.
        let _change = self.change.lock();
        let Some(entry) = self.names.read().get(name).cloned() else { return Ok(None) };
        if let Some(open) = entry.open {
            return Ok(Some(open));
        }
        let shapes = load_shapes(store, name, entry.system, None)?;
        self.folds.learn(entry.documents, &shapes);
        let open = Open::new(entry.documents, entry.system, shapes, entry.indexes);
        if let Some(entry) = self.names.write().get_mut(name) {
            entry.open = Some(open.clone());
        }
        Ok(Some(open))
    }

    /// Reads the shapes of all collections that have not been used yet: without them deltas are kept as they are, as they
    /// are where shapes cannot be read.
    pub fn learn_all(&self, store: &Store) {
        for name in self.list() {
            let _unread = self.find(store, &name);
        }
    }

    /// As [`Catalog::find`], with an error that names the nearest collection.
    pub fn require(&self, store: &Store, name: &FullName) -> Result<Arc<Open>> {
        self.find(store, name)?.ok_or_else(|| self.missing(store, name))
    }

    /// The error for a collection that does not exist.
    pub fn missing(&self, store: &Store, name: &FullName) -> Error {
        match store.check_open() {
            Ok(()) => no_such_collection(name, self.names.read().keys()),
            Err(closed) => closed.into(),
        }
    }

    /// Creates a collection. An error if it exists.
    pub fn create(&self, store: &Store, name: &FullName) -> Result<Arc<Open>> {
        let _change = self.changing(store);
        // What others wrote last may be lost: nobody who writes is told that it is there.
        store.check_writable()?;
        if self.names.read().contains_key(name) {
            return Err(Error::CollectionExists(name.to_string()));
        }
        self.create_locked(store, name)
    }

    /// The collection, created if it does not exist.
    pub fn find_or_create(&self, store: &Store, name: &FullName) -> Result<Arc<Open>> {
        loop {
            if let Some(open) = self.find(store, name)? {
                return Ok(open);
            }
            match self.create(store, name) {
                Err(Error::CollectionExists(_)) => {}
                result => return result,
            }
        }
    }

    fn create_locked(&self, store: &Store, name: &FullName) -> Result<Arc<Open>> {
        // The documents' description names the system tree, which is created right before it.
        let trees = store.create_trees_with(2, |ids| vec![vec![SYSTEM], describe_documents(name, ids[0])])?;
        let (system, documents) = (trees[0], trees[1]);
        let shapes = Arc::new(ShapeTable::new(shape_options(store)));
        self.folds.learn(documents, &shapes);
        let indexes = Arc::new(IndexSet { schema: store.schema(documents), indexes: Vec::new() });
        let open = Open::new(documents, system, shapes, indexes.clone());
        let entry = Entry { documents, system, indexes, open: Some(open.clone()) };
        self.names.write().insert(name.clone(), entry);
        Ok(open)
    }

    /// Drops a collection.
    pub fn drop(&self, store: &Store, name: &FullName) -> Result<()> {
        let _change = self.changing(store);
        store.check_writable()?;
        let Some(entry) = self.names.read().get(name).cloned() else {
            return Err(self.missing(store, name));
        };
        let dropped = store.drop_trees(&entry.trees());
        // Also if nobody knows whether it is durable: reads go on, and nothing of it can be read any more.
        if dropped.is_ok() || store.description(entry.documents).is_none() {
            self.names.write().remove(name);
        }
        Ok(dropped?)
    }

    /// Renames a collection. An error if the new name is taken.
    pub fn rename(&self, store: &Store, from: &FullName, to: &FullName) -> Result<()> {
        let _change = self.changing(store);
        let _indexes = self.loads.write();
        store.check_writable()?;
        let Some(mut entry) = self.names.read().get(from).cloned() else {
            return Err(self.missing(store, from));
        };
        if self.names.read().contains_key(to) {
            return Err(Error::CollectionExists(to.to_string()));
        }
        let description = describe_documents(to, entry.system);
        let described = store.describe_trees(&[(entry.documents, &description)]);
        // As for a drop: also if nobody knows whether it is durable.
        if described.is_err() && store.description(entry.documents) != Some(description) {
            return Ok(described?);
        }
        let indexes = entry.indexes.indexes.clone();
        entry.set_indexes(IndexSet { schema: store.schema(entry.documents), indexes });
        let mut names = self.names.write();
        names.remove(from);
        names.insert(to.clone(), entry);
        Ok(described?)
    }
}

/// Whoever cannot keep an index must not write beside it.
fn unreadable_index(tree: TreeId) -> Error {
    Error::DamagedDocument {
        collection: "(indexes)".to_owned(),
        id: format!("tree {}", tree.0),
        reason: "the description of an index cannot be read: it is damaged, or of a newer build".to_owned(),
    }
}

/// The error for a collection that is not among these.
pub(crate) fn no_such_collection<'a>(name: &FullName, names: impl Iterator<Item = &'a FullName>) -> Error {
    // By the letters of the name itself: that both are in `main` makes them no more alike.
    let distance = |n: &FullName| levenshtein(&n.logical, &name.logical) + levenshtein(&n.collection, &name.collection);
    let names = names.map(|n| (distance(n), n.to_string()));
    let most = name.collection.chars().count() / 2;
    let nearest = names.min().filter(|(d, _)| *d <= most).map(|(_, name)| name);
    Error::NoSuchCollection { name: name.to_string(), nearest }
}

/// The number that shapes must not stay below, though no definition has it: see [`raise_shapes`].
fn lowest_next(store: &Store, system: TreeId) -> Result<u32> {
    let mut value = Vec::new();
    let found = store.get(system, LOWEST_NEXT, &mut value)?;
    Ok(value.try_into().ok().filter(|_| found).map_or(1, u32::from_le_bytes))
}

/// Opening skipped damage in the log, where definitions of shapes may have been. Rows that use them
/// must stay unreadable, by name: their numbers are passed over, for good.
fn raise_shapes(store: &Store, name: &FullName, system: TreeId) -> Result<()> {
    let next = load_shapes(store, name, system, None)?.next_number();
    let next = next.saturating_add(ShapeOptions::default().max_in_use);
    let mut batch = store.batch();
    batch.put(system, LOWEST_NEXT, &next.to_le_bytes());
    store.write(batch, Durability::Sync)?;
    Ok(())
}

/// Reads the shapes of a collection, as they are now or were at a snapshot.
pub(crate) fn load_shapes(
    store: &Store,
    name: &FullName,
    system: TreeId,
    snapshot: Option<&Snapshot>,
) -> Result<Arc<ShapeTable>> {
    let bounds = Bounds {
        lower: Bound::Included(vec![SHAPE_PREFIX]),
        upper: Bound::Excluded(vec![SHAPE_PREFIX + 1]),
        reverse: false,
    };
    let mut scan = store.scan(system, bounds, snapshot)?;
    let mut shapes = Vec::new();
    let damaged =
        |reason: String| Error::DamagedDocument { collection: name.to_string(), id: "(shapes)".to_owned(), reason };
    while let Some((_, mut value)) = scan.next()? {
        shapes.push(Shape::decode(&mut value).map_err(|e| damaged(e.to_string()))?);
    }
    let next = shapes.iter().map(Shape::number).max().unwrap_or(0) + 1;
    let next = next.max(lowest_next(store, system)?);
    let table = ShapeTable::open(shape_options(store), shapes, next);
    Ok(Arc::new(table.map_err(|e| damaged(e.to_string()))?))
}

fn shape_options(store: &Store) -> ShapeOptions {
    let usual = ShapeOptions::default();
    ShapeOptions { max_in_use: store.options().tuning.max_definitions.unwrap_or(usual.max_in_use), ..usual }
}

mod indexes;

#[cfg(test)]
mod tests;
