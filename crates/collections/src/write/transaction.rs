//! Transactions: writes to several documents that become visible together, under snapshot isolation.
//!
//! A transaction reads at one snapshot, under its own writes, which a write set of the store holds. Each statement takes
//! the steps of a [write](super) without locks: it is encoded over what the transaction sees, and checked against that.
//! The commit takes the locks of all documents and unique keys, and checks that no document was written, and no unique
//! key taken, by others since the snapshot. Then the whole is one batch of the store.

use super::entries::Claim;
use super::txn::{Named, Part, WriteTxn};
use super::unique::Collection;
use crate::document_count::Change;
use crate::engine::EngineHandle;
use crate::error::{Error, ErrorKind, Result};
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::results::Ending;
use crate::snapshot::Snapshot;
use crate::state::CollectionState;
use alluvium_document::Map;
use alluvium_document::shape::Shape;
use alluvium_env::sync::atomic::{Ordering, fence};
use alluvium_env::sync::{Mutex, MutexGuard};
use alluvium_query::index::Definition;
use alluvium_query::pipeline::PipelineError;
use alluvium_store::{Durability, Pauses, QueryCharge, WriteSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of a transaction's writes in errors.
const PURPOSE: &str = "the writes of a transaction";

/// A transaction. It ends by [`Transaction::commit`], by [`Transaction::abort`], by a statement that fails, or when it
/// is dropped; only a commit leaves anything.
pub struct Transaction {
    engine: EngineHandle,
    number: u64,
    durability: Durability,
    /// The state that it reads; or how it has ended.
    seen: Mutex<std::result::Result<Snapshot, Ending>>,
    /// The fields of its recorded changes.
    in_changes: Mutex<Option<Map>>,
    /// `None` once it has ended. Held during a statement that writes. Lock order: this lock before `seen`.
    running: Mutex<Option<Running>>,
}

/// The writes of a transaction.
struct Running {
    set: WriteSet,
    collections: Vec<Written>,
    /// The memory of the claims, in bytes.
    claim_bytes: usize,
    charge: QueryCharge,
}

/// A collection that a transaction has written.
struct Written {
    name: FullName,
    state: Arc<CollectionState>,
    /// The shapes whose definitions are among the writes.
    shapes: Vec<Arc<Shape>>,
    change: Change,
    /// The unique keys that each document has after the writes, by the key of its `_id`; of collections with unique
    /// indexes, the documents that were put or deleted.
    claims: BTreeMap<Vec<u8>, Vec<Claim>>,
}

/// The memory of a claimed key in addition to its bytes.
const CLAIM_BYTES: usize = 96;

impl Running {
    /// Adds the writes of a statement.
    fn add(&mut self, txn: WriteTxn<'_>) -> Result<()> {
        let (batch, parts) = txn.into_parts();
        self.set.add(&batch)?;
        for Part { name, state, shapes, change, claims } in parts {
            let at = match self.collections.iter().position(|one| one.state.documents == state.documents) {
                Some(at) => at,
                None => {
                    let (shapes, change, claims) = Default::default();
                    self.collections.push(Written { name: name.clone(), state, shapes, change, claims });
                    self.collections.len() - 1
                }
            };
            let written = &mut self.collections[at];
            written.shapes.extend(shapes);
            written.change.added += change.added;
            written.change.uncertain += change.uncertain;
            for (id, claims) in claims {
                let keys: usize = claims.iter().map(|claim| claim.key.len() + CLAIM_BYTES).sum();
                self.claim_bytes += id.len() + CLAIM_BYTES + keys;
                written.claims.insert(id, claims);
            }
        }
        Ok(())
    }

    /// The memory of the writes, in bytes.
    fn memory_bytes(&self) -> usize {
        self.set.memory_bytes() + self.claim_bytes
    }
}

impl Transaction {
    /// Begins a transaction at the latest visible state. `durability` is that of its commit.
    pub fn begin(engine: &EngineHandle, durability: Durability) -> Self {
        let set = engine.store().write_set();
        let seen = Snapshot::new(set.base().clone());
        let (number, charge) = (set.number(), engine.store().query_memory().charge());
        let running = Running { set, collections: Vec::new(), claim_bytes: 0, charge };
        Self {
            engine: engine.clone(),
            number,
            durability,
            seen: Mutex::new(Ok(seen)),
            in_changes: Mutex::default(),
            running: Mutex::new(Some(running)),
        }
    }

    /// The state that the transaction reads now: its snapshot, under its writes so far.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.seen.lock().clone().map_err(|how| Error::TransactionEnded { how })
    }

    /// Adds fields to the recorded changes of its later statements ([`crate::history::Change::transaction`]).
    pub fn note_in_changes(&self, fields: Map) {
        *self.in_changes.lock() = Some(fields);
    }

    /// The number of the transaction, which no other one of the open database has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// True until the transaction has ended.
    pub fn is_running(&self) -> bool {
        self.seen.lock().is_ok()
    }

    /// The collection with this name, for a write. `None` if it does not exist.
    ///
    /// # Errors
    /// A conflict if the collection was created, dropped or renamed since the transaction began;
    /// [`Error::TransactionEnded`].
    pub(crate) fn collection(&self, name: &FullName) -> Result<Option<Arc<CollectionState>>> {
        let snapshot = self.snapshot()?;
        if let Some(created) = snapshot.created(name) {
            return Ok(Some(created.clone()));
        }
        let then = self.engine.collection_at(name, Some(&snapshot))?;
        let then = Some(then).filter(|state| state.exists());
        let now = self.engine.catalog.find(name)?;
        let tree = |state: &Option<Arc<CollectionState>>| state.as_ref().map(|state| state.documents);
        if tree(&then) == tree(&now) { Ok(now) } else { self.failed(alluvium_store::Error::Conflict.into()) }
    }

    /// As [`Transaction::collection`]; the commit of the transaction creates the collection if it does not exist.
    ///
    /// # Errors
    /// As [`Transaction::collection`].
    pub(crate) fn require(&self, name: &FullName) -> Result<Arc<CollectionState>> {
        match self.collection(name)? {
            Some(state) => Ok(state),
            None => self.create(name, self.engine.catalog.default_options(name)),
        }
    }

    /// Creates a collection with the commit of the transaction. Until then, only the transaction sees it.
    ///
    /// # Errors
    /// [`Error::CollectionExists`]; a conflict if another transaction creates it; [`Error::TransactionEnded`];
    /// [`Error::NotInTransaction`] for a capped collection, or one with a collation or a validator.
    pub fn create(&self, name: &FullName, options: CollectionOptions) -> Result<Arc<CollectionState>> {
        if options.capped.is_some() || options.collation.is_some() || options.validator.is_some() {
            let what = format!("the creation of {name} with limits, a collation or a validator");
            return Err(Error::NotInTransaction { what });
        }
        if self.collection(name)?.is_some() {
            return Err(Error::CollectionExists(name.to_string()));
        }
        let mut guard = self.running.lock();
        let running = self.running(&mut guard)?;
        let in_changes = self.in_changes.lock().clone();
        match self.engine.catalog.create_in(&mut running.set, name, options, in_changes.as_ref()) {
            Ok(state) => {
                if let Ok(seen) = &mut *self.seen.lock() {
                    let mut created = seen.created.as_deref().cloned().unwrap_or_default();
                    created.insert(name.clone(), state.clone());
                    seen.created = Some(Arc::new(created));
                }
                Ok(state)
            }
            Err(error) => {
                self.end(&mut guard, Ending::Aborted);
                Err(error)
            }
        }
    }

    /// Creates an index with the commit of the transaction, of a collection that the transaction has created and not
    /// written yet. Creates the collection, too, if it does not exist. Returns false if the same index exists already.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::IndexConflict`]; [`Error::NotInTransaction`] for a collection that existed before or has
    /// been written; as [`Transaction::create`]. The transaction stays open.
    pub(crate) fn create_index(&self, name: &FullName, definition: Definition) -> Result<bool> {
        let state = self.require(name)?;
        let is_created = self.snapshot()?.created(name).is_some();
        if !is_created {
            if state.indexes().indexes.iter().any(|index| *index.definition == definition) {
                return Ok(false);
            }
            let what = format!("a new index of {name}, which existed before it");
            return Err(Error::NotInTransaction { what });
        }
        let mut guard = self.running.lock();
        let running = self.running(&mut guard)?;
        if running.collections.iter().any(|written| written.state.documents == state.documents) {
            let what = format!("an index of {name} after its first document");
            return Err(Error::NotInTransaction { what });
        }
        let in_changes = self.in_changes.lock().clone();
        self.engine.catalog.add_index_in(&mut running.set, name, &state, definition, in_changes.as_ref())
    }

    /// Executes a statement that writes to `groups`. After an error the transaction is aborted.
    ///
    /// # Errors
    /// As for any write; a conflict if a document of the statement was written by others since the transaction began;
    /// [`Error::TransactionEnded`].
    pub(crate) fn execute<'a, T>(
        &'a self,
        groups: &[Named<'a>],
        encode: &mut impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        let mut guard = self.running.lock();
        let running = self.running(&mut guard)?;
        match self.statement(running, groups, encode) {
            Ok(value) => Ok(value),
            Err(error) => {
                self.end(&mut guard, Ending::Aborted);
                Err(error)
            }
        }
    }

    fn running<'g>(&self, guard: &'g mut MutexGuard<'_, Option<Running>>) -> Result<&'g mut Running> {
        match guard.as_mut() {
            Some(running) => Ok(running),
            None => Err(Error::TransactionEnded {
                how: self.seen.lock().as_ref().err().copied().unwrap_or(Ending::Aborted),
            }),
        }
    }

    /// Ends the transaction, and returns its writes.
    fn end(&self, guard: &mut MutexGuard<'_, Option<Running>>, how: Ending) -> Option<Running> {
        let running = guard.take();
        *self.seen.lock() = Err(how);
        running
    }

    /// Aborts the transaction because of an error.
    fn failed<T>(&self, error: Error) -> Result<T> {
        self.end(&mut self.running.lock(), Ending::Aborted);
        Err(error)
    }

    fn statement<'a, T>(
        &'a self,
        running: &mut Running,
        groups: &[Named<'a>],
        encode: &mut impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        let store = self.engine.store();
        let mut txn = WriteTxn::over(store, groups, running.set.snapshot(), &self.in_changes);
        txn.refuse_capped()?;
        let value = encode(&mut txn)?;
        if txn.is_empty() {
            return Ok(value);
        }
        txn.record_each_mark()?;
        txn.put_shapes();
        store.check_conflicts_of(&running.set, &txn.batch)?;
        txn.check_keys()?;
        txn.record_changes()?;
        running.add(txn)?;
        let bytes = running.memory_bytes();
        if !running.charge.grow(bytes) {
            return Err(PipelineError::memory_shortage(PURPOSE, false).into());
        }
        if running.set.batch().encoded_bytes() > store.max_batch_bytes() {
            let (bytes, limit) = (running.set.batch().encoded_bytes() as u64, store.max_batch_bytes() as u64);
            return Err(alluvium_store::Error::BatchTooLarge { bytes, limit }.into());
        }
        if let Ok(seen) = &mut *self.seen.lock() {
            seen.store = running.set.snapshot();
        }
        Ok(value)
    }

    /// True if the transaction has written something, or has created a collection.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`].
    pub fn has_writes(&self) -> Result<bool> {
        let mut guard = self.running.lock();
        Ok(!self.running(&mut guard)?.set.is_empty())
    }

    /// Makes the writes of the transaction visible, all at once, and as durable as the transaction was begun to be, or as
    /// `durability` says.
    ///
    /// # Errors
    /// A conflict if a document or a unique key was written by others since the transaction began, or a collection was
    /// dropped or got other indexes; as for any write. The transaction has ended then, and has left nothing, unless the
    /// outcome is unknown. [`Error::TransactionEnded`] if it had ended before.
    pub fn commit(&self, durability: Option<Durability>) -> Result<()> {
        let durability = durability.unwrap_or(self.durability);
        let mut guard = self.running.lock();
        self.running(&mut guard)?;
        let created = self.snapshot()?.created;
        // The writes are taken first: whatever follows, no other statement may be added.
        let Some(running) = self.end(&mut guard, Ending::Aborted) else { return Ok(()) };
        let written = match &created {
            None => self.write(running, durability),
            Some(created) => self.engine.catalog.entering(created, || self.write(running, durability)),
        };
        *self.seen.lock() = Err(match &written {
            Ok(()) => Ending::Committed,
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => Ending::Unknown,
            Err(_) => Ending::Aborted,
        });
        written
    }

    fn write(&self, running: Running, durability: Durability) -> Result<()> {
        let store = self.engine.store();
        let Running { mut set, collections, charge: _charge, .. } = running;
        if set.is_empty() {
            return Ok(store.check_writable()?);
        }
        for written in &collections {
            // The trees of new indexes get the arrays and cut keys that statements have found.
            for index in &written.state.indexes().indexes {
                set.describe_tree(index.tree, index.describe(written.state.documents));
            }
        }
        let unique = collections.iter().flat_map(|written| written.claims.values().flatten());
        let unique = unique.map(|claim| (claim.index.tree, claim.key.as_slice()));
        let check = || {
            for Written { name, state, claims, .. } in &collections {
                let within = Collection { store, state, name, at: None };
                // The statements found these keys free, or freed them, so others have taken them since.
                if within.taken_of(claims)?.is_some() {
                    return Err(Error::from(alluvium_store::Error::Conflict));
                }
            }
            Ok(())
        };
        let number = store.commit_checked(set, durability, unique, check).map_err(|error| match error {
            Error::Store(alluvium_store::Error::NoSuchTree(_) | alluvium_store::Error::SchemaChanged(_)) => {
                alluvium_store::Error::Conflict.into()
            }
            error => error,
        })?;
        // As in `note_counts`: the flag is read after the write.
        fence(Ordering::SeqCst);
        self.engine.catalog.recorded_writes().note();
        for Written { state, shapes, change, .. } in &collections {
            shapes.iter().for_each(|shape| state.shapes.mark_committed(shape.number()));
            if state.count.is_kept() {
                state.count.note(number, *change);
            }
        }
        Ok(())
    }

    /// Ends the transaction without a trace. A transaction that has ended stays as it is.
    pub fn abort(&self) {
        let mut guard = self.running.lock();
        if guard.is_some() {
            self.end(&mut guard, Ending::Aborted);
        }
    }
}

/// Calls `run`, which begins and commits a transaction. Repeats it after a conflict, with pauses that grow, for up to a
/// minute.
///
/// # Errors
/// Those of `run`.
pub fn repeat<T>(engine: &EngineHandle, mut run: impl FnMut() -> Result<T>) -> Result<T> {
    let mut pauses = Pauses::new(&engine.env);
    loop {
        match run() {
            Err(error) if error.kind() == ErrorKind::Conflict && pauses.pause() => engine.store().check_open()?,
            result => return result,
        }
    }
}
