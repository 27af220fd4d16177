//! The collections of a database, and the state of each collection, which all its handles share.
//!
//! A collection has two trees in the store: the tree of its documents, and its system tree (shapes, progress of loads).
//! The description of a tree names its kind and its collection, and is written in the same batch as the tree.

use crate::appends::Appends;
use crate::error::{Error, Result, unreadable_index, unreadable_options, unreadable_view};
use crate::folding::Folds;
use crate::history::{ChangeRetention, Event, History, RecordedShapes};
use crate::index::{Index, IndexSet};
use crate::memory::of_evaluations;
use crate::names::FullName;
use crate::options::{CollectionOptions, View};
use crate::state::CollectionState;
use crate::trees::{
    CAPPED_TOTALS, INDEX, LOWEST_NEXT, SHAPE_PREFIX, SYSTEM, VIEW, describe_documents, read_documents, read_options,
    read_view,
};
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Mutex, MutexGuard, RwLock};
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::expression::{ExpressionError, Memory};
use alluvium_query::pipeline::PipelineError;
use alluvium_store::{Bounds, Durability, Seq, Store, TreeChanges, TreeId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use strsim::levenshtein;

/// The collections of a database.
pub struct Catalog {
    store: Store,
    names: RwLock<BTreeMap<FullName, Entry>>,
    views: RwLock<BTreeMap<FullName, (TreeId, Arc<View>)>>,
    /// Held while the set of collections changes.
    change: Mutex<()>,
    /// Held exclusively while indexes are added or dropped: see [`Catalog::hold_indexes`].
    index_set_lock: RwLock<()>,
    /// The names are valid for every snapshot from this sequence number on; [`CHANGING`] while they change.
    names_since: AtomicU64,
    /// True if collections that are created without options keep the order of insertion.
    natural_order: AtomicBool,
    folds: Arc<Folds>,
    /// The empty collection that is read under a name that no collection has.
    absent: Arc<CollectionState>,
    /// Accounts for the memory of values that expressions create.
    memory: Memory,
    /// The recorded changes. Only changed under `change`.
    history: RwLock<Option<History>>,
    recorded_writes: Arc<Appends>,
    recorded_shapes: RecordedShapes,
    /// How long recorded changes are kept.
    retention: retention::Retention,
}

/// A change of names is in progress, so the names are valid for no snapshot.
const CHANGING: u64 = u64::MAX;

/// A change of names, which ends when this guard is dropped.
struct NameChange<'a> {
    catalog: &'a Catalog,
    _one_at_a_time: MutexGuard<'a, ()>,
}

impl Drop for NameChange<'_> {
    fn drop(&mut self) {
        // The change is visible now, or never will be.
        self.catalog.names_since.store(self.catalog.store.visible(), Ordering::SeqCst);
    }
}

/// The collections that a change of names expects to find, by the numbers that identify them during their lifetime;
/// `None` accepts any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExpectedCollections {
    /// The collection that is renamed.
    pub from: Option<u64>,
    /// The collection that has the new name.
    pub to: Option<u64>,
}

/// Identifies a collection together with its indexes and options. Any change of the indexes or options gives another
/// incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incarnation {
    documents: TreeId,
    schema: Seq,
}

impl Incarnation {
    /// The incarnation of a collection with this state and these indexes.
    pub fn of(state: &CollectionState, indexes: &IndexSet) -> Self {
        Self { documents: state.documents, schema: indexes.schema }
    }
}

#[derive(Clone)]
struct Entry {
    documents: TreeId,
    system: TreeId,
    indexes: Arc<IndexSet>,
    open: Option<Arc<CollectionState>>,
}

impl Entry {
    /// The trees of the collection.
    fn trees(&self) -> Vec<TreeId> {
        let indexes = self.indexes.indexes.iter().map(|index| index.tree);
        [self.documents, self.system].into_iter().chain(indexes).collect()
    }

    /// Wakes the tailable cursors of the collection, so that they notice the drop or rename.
    fn wake(&self) {
        if let Some(open) = &self.open {
            open.appends.note();
        }
    }

    fn set_indexes(&mut self, indexes: IndexSet) {
        self.indexes = Arc::new(indexes);
        if let Some(open) = &self.open {
            open.set_indexes(self.indexes.clone());
        }
    }
}

impl Catalog {
    /// Reads the catalogue from the store's registry of trees.
    pub(crate) fn load(store: Store, folds: Arc<Folds>, retention: ChangeRetention) -> Result<Self> {
        let memory = of_evaluations(store.query_memory());
        let mut names = BTreeMap::new();
        let trees = store.trees();
        let mut indexes: BTreeMap<TreeId, Vec<Arc<Index>>> = BTreeMap::new();
        let (mut views, mut history) = (BTreeMap::new(), None);
        for (tree, description) in &trees {
            if description.first() == Some(&VIEW) {
                let (name, view) = read_view(description).ok_or_else(|| unreadable_view(*tree))?;
                views.insert(name, (*tree, Arc::new(view)));
            }
            if let Some(found) = History::read(*tree, description) {
                history = Some(found);
                continue;
            }
            match Index::read(*tree, description) {
                Some((documents, index)) => indexes.entry(documents).or_default().push(Arc::new(index)),
                None if description.first() == Some(&INDEX) => {
                    return Err(unreadable_index(*tree, Index::wrong_definition(description)));
                }
                None => {}
            }
        }
        for (documents, description) in trees {
            if let Some((name, system)) = read_documents(&description) {
                if !store.report().lost.is_empty() {
                    raise_shapes(&store, &name, system)?;
                }
                let indexes = indexes.remove(&documents).unwrap_or_default();
                let options = read_options(&description).ok_or_else(|| unreadable_options(&name))?.counted_in(&memory);
                let schema = store.schema(documents);
                let indexes = Arc::new(IndexSet { schema, indexes, options: Arc::new(options), recording: None });
                names.insert(name, Entry { documents, system, indexes, open: None });
            }
        }
        let catalog = Self {
            names: RwLock::new(names),
            views: RwLock::new(views),
            change: Mutex::new(()),
            index_set_lock: RwLock::new(()),
            names_since: AtomicU64::new(store.visible()),
            natural_order: AtomicBool::new(false),
            folds,
            absent: absent(&store),
            memory,
            store,
            history: RwLock::new(history),
            recorded_writes: Arc::default(),
            recorded_shapes: RecordedShapes::default(),
            retention: retention::Retention::new(retention),
        };
        let all: Vec<_> = catalog.entries_where(|_| catalog.history().is_some());
        catalog.set_recordings(&all);
        catalog.begin_history()?;
        Ok(catalog)
    }

    /// Begins a change of names. Called before anything is written.
    fn begin_name_change(&self) -> NameChange<'_> {
        let change = self.change.lock();
        self.names_since.store(CHANGING, Ordering::SeqCst);
        NameChange { catalog: self, _one_at_a_time: change }
    }

    /// Accounts for the memory of values that expressions create.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The key/value store that holds the collections.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the result of `look`, which reads the current names, if these names are also valid for the snapshot.
    pub(crate) fn unchanged_since<T>(&self, snapshot: u64, look: impl FnOnce() -> T) -> Option<T> {
        let unchanged = || self.names_since.load(Ordering::SeqCst) <= snapshot;
        // `look` sees each change that ended before the first check. A change that was in progress then makes the first
        // check fail. A change that began later, and so is newer than the snapshot, makes the second check fail.
        unchanged().then(look).filter(|_| unchanged())
    }

    /// The shared state of the collection with this tree of documents, if the collection was used since the database
    /// was opened.
    pub(crate) fn state_of(&self, documents: TreeId) -> Option<Arc<CollectionState>> {
        let names = self.names.read();
        names.values().find(|entry| entry.documents == documents)?.open.clone()
    }

    /// The names of the collections, sorted, without the collections that `$out` is filling.
    pub fn list(&self) -> Vec<FullName> {
        self.names.read().keys().filter(|name| !name.is_temporary()).cloned().collect()
    }

    /// The names of all collections, sorted, including the collections that `$out` is filling.
    pub(crate) fn list_all(&self) -> Vec<FullName> {
        self.names.read().keys().cloned().collect()
    }

    /// The collections whose documents have an order, and their system trees.
    pub(crate) fn ordered(&self) -> Vec<(FullName, TreeId)> {
        let names = self.names.read();
        let ordered = names.iter().filter(|(_, entry)| entry.indexes.options.order().is_some());
        ordered.map(|(name, entry)| (name.clone(), entry.system)).collect()
    }

    /// Drops the collections that interrupted `$out` stages have left. Called before the collections are used.
    pub(crate) fn drop_temporary(&self) -> Result<()> {
        self.list_all().iter().filter(|name| name.is_temporary()).try_for_each(|name| self.drop(name))
    }

    /// The collation of a collection or a view, which compares strings unless a query specifies another collation.
    pub fn collation(&self, name: &FullName) -> Option<Collation> {
        if let Some(entry) = self.names.read().get(name) {
            return entry.indexes.options.collation.clone();
        }
        self.view(name).and_then(|view| view.collation.clone())
    }

    /// The collection's shared state; `None` if it does not exist.
    pub fn find(&self, name: &FullName) -> Result<Option<Arc<CollectionState>>> {
        match self.names.read().get(name) {
            Some(Entry { open: Some(open), .. }) => return Ok(Some(open.clone())),
            Some(_) => {}
            None if self.views.read().contains_key(name) => return Err(Error::IsView(name.to_string())),
            None => return Ok(None),
        }
        // The first use of the collection since the database was opened: one thread reads the shapes.
        let _change = self.change.lock();
        let Some(entry) = self.names.read().get(name).cloned() else { return Ok(None) };
        if let Some(open) = entry.open {
            return Ok(Some(open));
        }
        let shapes = load_shapes(&self.store, name, entry.system, None)?;
        self.folds.learn(entry.documents, &shapes);
        let open = CollectionState::new(entry.documents, entry.system, shapes, entry.indexes);
        if let Some(entry) = self.names.write().get_mut(name) {
            entry.open = Some(open.clone());
        }
        Ok(Some(open))
    }

    /// Reads the shapes of all collections that have not been used yet, so that their deltas can be
    /// folded. Deltas of a collection whose shapes cannot be read are kept.
    pub fn learn_all(&self) {
        for name in self.list_all() {
            let _unread = self.find(&name);
        }
    }

    /// The shared state that represents a collection that does not exist. It is read as an empty collection.
    pub(crate) fn absent(&self) -> Arc<CollectionState> {
        self.absent.clone()
    }

    /// As [`Catalog::find`], with an error that names the nearest collection.
    pub fn require(&self, name: &FullName) -> Result<Arc<CollectionState>> {
        self.find(name)?.ok_or_else(|| self.missing(name))
    }

    /// The error for a collection that does not exist.
    pub fn missing(&self, name: &FullName) -> Error {
        match self.store.check_open() {
            Ok(()) => no_such_collection(name, self.list().iter()),
            Err(closed) => closed.into(),
        }
    }

    /// Creates a collection with these options. An error if it exists.
    pub fn create(&self, name: &FullName, options: CollectionOptions) -> Result<Arc<CollectionState>> {
        let _change = self.begin_name_change();
        // In a poisoned store the last writes may be lost, so a writer must not get the error that the name exists.
        self.store.check_writable()?;
        self.check_free(name)?;
        self.create_locked(name, options)
    }

    /// Sets whether new collections keep the order of insertion. The option of a collection has precedence.
    pub fn set_natural_order(&self, natural_order: bool) {
        self.natural_order.store(natural_order, Ordering::Relaxed);
    }

    /// The options of a collection that is created without options. A server's own collections do not keep the order of
    /// insertion.
    pub fn default_options(&self, name: &FullName) -> CollectionOptions {
        let natural_order = self.natural_order.load(Ordering::Relaxed) && !name.is_of_server();
        CollectionOptions { natural_order, ..CollectionOptions::default() }
    }

    /// The collection, created if it does not exist.
    pub fn find_or_create(&self, name: &FullName) -> Result<Arc<CollectionState>> {
        loop {
            if let Some(open) = self.find(name)? {
                return Ok(open);
            }
            match self.create(name, self.default_options(name)) {
                Err(Error::CollectionExists(_)) => {}
                result => return result,
            }
        }
    }

    fn create_locked(&self, name: &FullName, options: CollectionOptions) -> Result<Arc<CollectionState>> {
        // The description of the tree of documents contains the id of the system tree, which is
        // created right before it.
        let describe = |ids: &[TreeId]| {
            let noted = self.noted(ids[1], name, || vec![Event::created(&options)]);
            (vec![vec![SYSTEM], describe_documents(name, ids[0], &options)], noted)
        };
        let trees = self.store.create_noted_trees(2, describe)?;
        let open = self.new_state(name, trees[0], trees[1], options);
        self.enter(name, &open);
        self.recorded_writes.note();
        Ok(open)
    }

    /// The state of a new collection.
    fn new_state(
        &self,
        name: &FullName,
        system: TreeId,
        documents: TreeId,
        options: CollectionOptions,
    ) -> Arc<CollectionState> {
        let shapes = Arc::new(ShapeTable::new(shape_options(&self.store)));
        self.folds.learn(documents, &shapes);
        self.folds.forget_removed(|tree| self.store.may_be_read(tree));
        let schema = self.store.schema(documents);
        let options = Arc::new(options.counted_in(&self.memory));
        let recording = self.recording_of(name);
        let indexes = Arc::new(IndexSet { schema, indexes: Vec::new(), options, recording });
        CollectionState::new(documents, system, shapes, indexes)
    }

    /// Enters a new collection under its name.
    fn enter(&self, name: &FullName, open: &Arc<CollectionState>) {
        let (documents, system, indexes) = (open.documents, open.system, open.indexes());
        let entry = Entry { documents, system, indexes, open: Some(open.clone()) };
        self.names.write().insert(name.clone(), entry);
    }

    /// Returns the error of creating a collection with this name, if the name is taken. A free name may be taken later.
    pub(crate) fn check_name_is_free(&self, name: &FullName) -> Result<()> {
        if self.views.read().contains_key(name) {
            return Err(Error::IsView(name.to_string()));
        }
        self.check_free(name)
    }

    /// An error if a collection or a view has this name.
    fn check_free(&self, name: &FullName) -> Result<()> {
        if self.names.read().contains_key(name) || self.views.read().contains_key(name) {
            return Err(Error::CollectionExists(name.to_string()));
        }
        Ok(())
    }

    /// Renames a collection and drops the collection that has the new name, if one exists. Both are done in one batch,
    /// and no other change of names comes in between.
    pub fn replace(&self, from: &FullName, to: &FullName) -> Result<()> {
        self.replace_if(from, to, |_, _| Ok(true)).map(drop)
    }

    /// As [`Catalog::replace`], or as [`Catalog::rename`] without `replaces`, if the two names belong to the expected
    /// collections when the names change. Returns false if they do not.
    pub fn rename_expected(
        &self,
        from: &FullName,
        to: &FullName,
        expected: &ExpectedCollections,
        replaces: bool,
    ) -> Result<bool> {
        let is = |entry: Option<&Entry>, expected: Option<u64>| {
            expected.is_none_or(|expected| entry.is_some_and(|entry| u64::from(entry.documents.0) == expected))
        };
        if replaces {
            return self
                .replace_if(from, to, |entry, former| Ok(is(Some(entry), expected.from) && is(former, expected.to)));
        }
        self.rename_if(from, to, |entry| is(Some(entry), expected.from))
    }

    /// As [`Catalog::replace`], but only if the collection with the new name is still `former`, with the same indexes
    /// and options, because an acknowledged change of these must not be lost.
    pub(crate) fn replace_unchanged(&self, from: &FullName, to: &FullName, former: Option<Incarnation>) -> Result<()> {
        let check = |_: &Entry, entry: Option<&Entry>| {
            let found = entry.map(|entry| Incarnation { documents: entry.documents, schema: entry.indexes.schema });
            if found == former {
                return Ok(true);
            }
            let message = format!(
                "the options or indexes of the target collection {to} changed while it was to be replaced: run it again"
            );
            Err(PipelineError::Refused(ExpressionError::new(ErrorCode::CommandFailed, message)).into())
        };
        self.replace_if(from, to, check).map(drop)
    }

    /// As [`Catalog::replace`], if `check` accepts the collection and the collection that has the new name.
    fn replace_if(
        &self,
        from: &FullName,
        to: &FullName,
        check: impl FnOnce(&Entry, Option<&Entry>) -> Result<bool>,
    ) -> Result<bool> {
        let _change = self.begin_name_change();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        if self.views.read().contains_key(to) {
            return Err(Error::IsView(to.to_string()));
        }
        let Some(entry) = self.names.read().get(from).cloned() else {
            return Err(self.missing(from));
        };
        let former = self.names.read().get(to).cloned();
        if !check(&entry, former.as_ref())? {
            return Ok(false);
        }
        self.rename_entry(from, to, entry, former.as_ref())?;
        former.iter().for_each(Entry::wake);
        Ok(true)
    }

    /// Renames a collection. An error if the new name is taken.
    pub fn rename(&self, from: &FullName, to: &FullName) -> Result<()> {
        self.rename_if(from, to, |_| true).map(drop)
    }

    /// As [`Catalog::rename`], if `check` accepts the collection.
    fn rename_if(&self, from: &FullName, to: &FullName, check: impl FnOnce(&Entry) -> bool) -> Result<bool> {
        let _change = self.begin_name_change();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        if self.views.read().contains_key(from) {
            return Err(Error::IsView(from.to_string()));
        }
        let Some(entry) = self.names.read().get(from).cloned() else {
            return Err(self.missing(from));
        };
        if !check(&entry) {
            return Ok(false);
        }
        self.check_free(to)?;
        self.rename_entry(from, to, entry, None)?;
        Ok(true)
    }

    /// Renames a collection, and drops the trees of the collection that had the new name, in one batch.
    fn rename_entry(&self, from: &FullName, to: &FullName, mut entry: Entry, former: Option<&Entry>) -> Result<()> {
        let options = entry.indexes.options.clone();
        let description = describe_documents(to, entry.system, &options);
        let describe = vec![(entry.documents, description.clone())];
        let stamped = self.noted_rename(entry.documents, from, to, former.map(|former| former.documents));
        let former = former.map(Entry::trees).unwrap_or_default();
        let changes = |_: &[TreeId]| TreeChanges { describe, drop: former, stamped, ..TreeChanges::default() };
        let described = self.store.change_trees(0, changes);
        // As for a drop, the new name is used also if the outcome is unknown.
        if described.is_err() && self.store.description(entry.documents) != Some(description) {
            return Ok(described.map(drop)?);
        }
        let indexes = entry.indexes.indexes.clone();
        let (schema, recording) = (self.store.schema(entry.documents), self.recording_of(to));
        entry.set_indexes(IndexSet { schema, indexes, options, recording });
        self.recorded_writes.note();
        let mut names = self.names.write();
        names.remove(from);
        names.insert(to.clone(), entry.clone());
        drop(names);
        entry.wake();
        Ok(described.map(drop)?)
    }
}

/// The error for a collection that is not in `names`.
pub(crate) fn no_such_collection<'a>(name: &FullName, names: impl Iterator<Item = &'a FullName>) -> Error {
    // The limit depends on the name within the logical database: two names are not more similar because their logical
    // database is the same.
    let distance = |n: &FullName| levenshtein(&n.logical, &name.logical) + levenshtein(&n.collection, &name.collection);
    let names = names.map(|n| (distance(n), n.to_string()));
    let max_distance = name.collection.chars().count() / 2;
    let nearest = names.min().filter(|(d, _)| *d <= max_distance).map(|(_, name)| name);
    Error::NoSuchCollection { name: name.to_string(), nearest }
}

/// The lowest number that a new shape may have, even if fewer definitions exist: see [`raise_shapes`].
fn lowest_next(store: &Store, system: TreeId) -> Result<u32> {
    let mut value = Vec::new();
    let found = store.get(system, LOWEST_NEXT, &mut value)?;
    Ok(value.try_into().ok().filter(|_| found).map_or(1, u32::from_le_bytes))
}

/// Called when opening skipped damage in the log, which may have lost definitions of shapes. Rows with a lost shape
/// must stay unreadable, with an error that names the shape. Therefore the numbers of shapes that may be lost are never
/// used again.
fn raise_shapes(store: &Store, name: &FullName, system: TreeId) -> Result<()> {
    let next = load_shapes(store, name, system, None)?.next_number();
    let next = next.saturating_add(ShapeOptions::default().max_shapes);
    let mut batch = store.batch();
    batch.put(system, LOWEST_NEXT, &next.to_le_bytes());
    // The totals may count documents that are lost, so the order is built again.
    batch.delete(system, CAPPED_TOTALS);
    store.write(batch, Durability::Sync)?;
    Ok(())
}

/// Reads the shapes of a collection, now or at a snapshot.
pub(crate) fn load_shapes(
    store: &Store,
    name: &FullName,
    system: TreeId,
    snapshot: Option<&alluvium_store::Snapshot>,
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

fn absent(store: &Store) -> Arc<CollectionState> {
    let shapes = Arc::new(ShapeTable::new(shape_options(store)));
    CollectionState::new(TreeId::EMPTY, TreeId::EMPTY, shapes, Arc::default())
}

fn shape_options(store: &Store) -> ShapeOptions {
    let defaults = ShapeOptions::default();
    ShapeOptions { max_shapes: store.options().tuning.max_definitions.unwrap_or(defaults.max_shapes), ..defaults }
}

mod changes;
mod created;
mod drops;
mod indexes;
mod noted;
mod past;
mod retention;
mod views;

#[cfg(test)]
mod tests;
