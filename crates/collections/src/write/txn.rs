//! The execution of a write: see the [module](super).

mod bulk;
mod capped;
mod group;
mod recorded;
mod statement;
mod text;

use super::entries::{Entries, Puts};
use super::patience::Patience;
use super::unique::Collection;
use crate::document_count::Change;
use crate::engine::Engine;
use crate::error::{Error, Result, id_text};
use crate::ids::{check_size, checked_key, keep_id, record_key};
use crate::index::IndexSet;
use crate::marks;
use crate::multikey::{NewMarks, record_marks};
use crate::names::FullName;
use crate::recorder::Recorder;
use crate::state::CollectionState;
use crate::trees::shape_key;
use alluvium_document::row::encode_row;
use alluvium_document::shape::{Shape, ShapeTable};
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_env::sync::atomic::{Ordering, fence};
use alluvium_query::expression::Interrupt;
use alluvium_query::validator::Validator;
use alluvium_store::{Admitted, Durability, LockGuard, LockMode, Seq, Snapshot, Store, TreeId, WriteBatch};
use recorded::{execute_recorded, note_recorded};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

pub(super) use statement::Part;
use statement::note_written;

/// A row buffer that is larger than this many bytes is not reused.
const KEPT_ROW_BYTES: usize = 1 << 20;

/// A collection that a write changes.
#[derive(Clone)]
pub struct Named<'a> {
    pub name: &'a FullName,
    pub state: Arc<CollectionState>,
    /// False if the validator of the collection is skipped.
    pub validates: bool,
    /// The limits of the write.
    pub limits: WriteLimits<'a>,
}

/// The limits of a write: its time, and its waits.
#[derive(Clone, Copy, Default)]
pub struct WriteLimits<'a> {
    /// Ends long checks by the validator, and waits for the transactions of others.
    pub interrupt: Option<&'a Interrupt>,
    /// Which waits for the transactions of others are allowed; all of them if this is `None`.
    pub patience: Option<&'a Patience>,
}

/// A document to be locked: its collection (an index into the list of the write), its key, and the mode of the lock.
#[derive(Debug, Clone)]
pub struct DocumentLock {
    pub group: usize,
    pub key: Vec<u8>,
    pub mode: LockMode,
}

/// The locks and the space that a write needs before it reads documents.
pub struct Reads<'r> {
    pub locks: &'r [DocumentLock],
    /// The bytes to reserve: an estimate, which is corrected after the documents were read.
    pub reserve_bytes: usize,
}

/// The part of a write that changes one collection.
struct Group<'a> {
    name: &'a FullName,
    state: Arc<CollectionState>,
    entries: Entries<'a>,
    validates: bool,
    limits: WriteLimits<'a>,
    /// The validator with this interrupt, made when a check may take long.
    interrupted: OnceCell<Validator>,
    shapes: Vec<Arc<Shape>>,
    /// The number of shapes at the beginning of `shapes` whose definitions are in the batch.
    shapes_put: usize,
    /// The bytes of the `_id` of a row whose keys are made; reused.
    id: Vec<u8>,
    /// The number of documents that were read and that the batch deletes.
    removed: u64,
    /// The number of documents that the batch puts or deletes without knowing whether they exist.
    uncertain: u64,
}

/// A document that an insert must not find.
struct Absent<'a> {
    group: usize,
    key: Vec<u8>,
    id: Cow<'a, Value>,
}

impl Absent<'_> {
    /// The tree and the key of the document.
    fn locate<'k>(&'k self, groups: &[Group<'_>]) -> (TreeId, &'k [u8]) {
        (groups[self.group].state.documents, &self.key)
    }
}

/// A unique key that a write has locked.
type Claimed = (TreeId, Vec<u8>);

/// A write: a batch of the store, with the data for the steps before and after its commit.
pub struct WriteTxn<'a> {
    store: &'a Store,
    pub(super) batch: WriteBatch,
    groups: Vec<Group<'a>>,
    /// The snapshot that a statement of a transaction reads; the latest state without a transaction.
    at: Option<Snapshot>,
    absent: Vec<Absent<'a>>,
    /// True if the batch writes documents that are not among `absent`.
    any_blind: bool,
    row: Vec<u8>,
    /// The recorded changes of the batch; `None` if none of its collections is recorded.
    recorder: Option<Box<Recorder>>,
}

/// A write that is admitted and holds its locks.
pub struct Locked<'a> {
    /// The write. Documents may be removed from it.
    pub txn: WriteTxn<'a>,
    durability: Durability,
    locks: LockGuard,
    _admitted: Admitted<'a>,
}

/// Runs a write, and repeats it each time its collection was dropped or got other indexes during the preparation.
pub fn retry<T>(engine: &Engine, mut write: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match write() {
            Err(Error::Store(alluvium_store::Error::NoSuchTree(_) | alluvium_store::Error::SchemaChanged(_))) => {
                engine.catalog.settle()?;
            }
            result => return result,
        }
    }
}

/// Makes a write to `groups` by the steps of the [module](super). `encode` fills the transaction,
/// and is called again when the write starts over; only the value of the last call is returned. A
/// write that adds nothing writes nothing.
pub fn execute<'a, T>(
    store: &'a Store,
    groups: &[Named<'a>],
    durability: Durability,
    reads: Option<Reads<'_>>,
    mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
) -> Result<T> {
    match reads {
        None => execute_blind(store, groups, durability, encode),
        Some(reads) => execute_reading(store, groups, durability, &reads, &mut encode),
    }
}

/// Executes a write that reads nothing. The batch is encoded before any lock is taken, so its size is known.
fn execute_blind<'a, T>(
    store: &'a Store,
    groups: &[Named<'a>],
    durability: Durability,
    mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
) -> Result<T> {
    let mut txn = WriteTxn::new(store, groups);
    txn.prepare()?;
    let value = encode(&mut txn)?;
    if txn.is_empty() {
        return Ok(value);
    }
    txn.record_each_mark()?;
    if txn.recorder.is_some() {
        return execute_recorded(store, groups, durability, txn, value, encode);
    }
    let is_checked = |group: &Group<'_>| group.entries.has_claims() || group.capped().is_some();
    if txn.absent.is_empty() && !txn.groups.iter().any(is_checked) {
        // No key has to be checked, so the store admits the batch and locks its keys itself.
        txn.put_shapes();
        txn.wait_for_transactions(&[])?;
        let number = store.write(txn.batch, durability)?;
        note_written(&txn.groups);
        txn.groups.iter().for_each(Group::mark_shapes);
        note_counts(&txn.groups, &txn.absent, number);
        return Ok(value);
    }
    let bytes = txn.bytes();
    txn.wait_for_transactions(&[])?;
    let admitted = store.admit(bytes)?;
    let locks = txn.lock();
    let locked = Locked { txn, durability, locks, _admitted: admitted };
    locked.txn.check_keys()?;
    locked.commit()?;
    Ok(value)
}

/// Executes a write that depends on documents, which it reads under their locks.
fn execute_reading<'a, T>(
    store: &'a Store,
    groups: &[Named<'a>],
    durability: Durability,
    reads: &Reads<'_>,
    encode: &mut impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
) -> Result<T> {
    // The estimate is limited, so that it is never refused even if earlier documents were very large.
    let mut reserved = reads.reserve_bytes.min(store.max_batch_bytes());
    let mut claimed: Vec<Claimed> = Vec::new();
    loop {
        // The set of indexes is determined before documents are read. If it changes afterwards, the commit refuses the
        // batch.
        let mut txn = WriteTxn::new(store, groups);
        txn.prepare()?;
        txn.wait_for_transactions(reads.locks)?;
        let admitted = store.admit(reserved)?;
        let locks = txn.lock_reads(reads.locks, &claimed);
        let value = encode(&mut txn)?;
        if txn.is_empty() {
            // "Nothing to write" is a valid result only if the documents that were read are or will be durable. In a
            // poisoned store they may not be.
            store.check_writable()?;
            return Ok(value);
        }
        txn.record_changes()?;
        let marks: Vec<Vec<NewMarks>> = txn.groups.iter_mut().map(|group| group.entries.take_marks()).collect();
        let more = txn.unlocked_claims(&claimed);
        let bytes = txn.bytes();
        if bytes > reserved || !more.is_empty() || marks.iter().any(|marks| !marks.is_empty()) {
            drop((txn, locks, admitted));
            for (group, marks) in groups.iter().zip(marks).filter(|(_, marks)| !marks.is_empty()) {
                record_marks(store, &group.state, &marks)?;
            }
            if bytes > reserved {
                marks::CHANGE_GREW.hit();
                reserved = bytes;
            }
            claimed.extend(more);
            continue;
        }
        if let ([group, ..], [_, others @ ..]) = (groups, reads.locks)
            && others.iter().all(|lock| lock.group != 0)
        {
            group.state.change_size.note(bytes);
        }
        let locked = Locked { txn, durability, locks, _admitted: admitted };
        locked.txn.check_keys()?;
        locked.commit()?;
        return Ok(value);
    }
}

impl<'a> WriteTxn<'a> {
    /// An empty write under the current indexes of the collections.
    pub(crate) fn new(store: &'a Store, groups: &[Named<'a>]) -> Self {
        let mut batch = store.batch();
        let group = |named: &Named<'a>| Group::new(named);
        let groups: Vec<Group<'a>> = groups.iter().map(group).collect();
        for group in &groups {
            batch.expect_schema(group.state.documents, group.entries.schema());
        }
        let recorder = groups.iter().any(Group::is_recorded).then(Box::default);
        Self { store, batch, groups, at: None, absent: Vec::new(), any_blind: false, row: Vec::new(), recorder }
    }

    /// The indexes that the write to a collection maintains.
    pub(crate) fn indexes(&self, group: usize) -> &Arc<IndexSet> {
        self.groups[group].entries.set()
    }

    /// True if it writes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Inserts a document that has its `_id`. The check of the write fails if the collection has the document already.
    pub(crate) fn insert(&mut self, group: usize, document: &'a Map) -> Result<()> {
        let id = document.get(crate::ids::ID).map_or(Cow::Owned(Value::Null), Cow::Borrowed);
        self.insert_by(group, document, id)
    }

    /// As [`WriteTxn::insert`], for a document that may be dropped before the write; `id` is its `_id`.
    pub(crate) fn insert_by(&mut self, group: usize, document: &Map, id: Cow<'a, Value>) -> Result<()> {
        let key = checked_key(document)?;
        self.put_map(group, &key, document, None, None)?;
        self.must_be_absent(group, key, id);
        Ok(())
    }

    /// Makes the check of the write fail if there is a document with this key.
    fn must_be_absent(&mut self, group: usize, key: Vec<u8>, id: Cow<'a, Value>) {
        self.note_before(group, &key, None);
        self.absent.push(Absent { group, key, id });
    }

    /// The shapes of a collection.
    pub(crate) fn shapes(&self, group: usize) -> &Arc<ShapeTable> {
        &self.groups[group].state.shapes
    }

    /// Puts a document that has its `_id`, whether the collection has it or not.
    pub(crate) fn put(&mut self, group: usize, document: &Map) -> Result<()> {
        let key = checked_key(document)?;
        self.note_blind(group);
        self.put_map(group, &key, document, None, None)
    }

    /// As [`WriteTxn::put`], for a record, which may contain a document of the maximum size.
    pub(crate) fn put_record(&mut self, group: usize, record: &Map) -> Result<()> {
        let key = record_key(record)?;
        self.note_blind(group);
        self.put_map(group, &key, record, None, None)
    }

    /// Deletes a document, whether the collection has it or not.
    pub(crate) fn delete(&mut self, group: usize, key: &[u8]) {
        self.note_blind(group);
        let Group { state, entries, .. } = &mut self.groups[group];
        self.batch.delete(state.documents, key);
        entries.forget(key);
    }

    /// Adds a delta that touches no index, whether the collection has the document or not.
    pub(crate) fn delta(&mut self, group: usize, key: &[u8], delta: &[u8]) {
        self.note_blind(group);
        self.batch.delta(self.groups[group].state.documents, key, delta);
    }

    /// Deletes a document that was read.
    pub(crate) fn delete_read(&mut self, group: usize, key: &[u8], before: &Document) -> Result<()> {
        let Group { state, entries, removed, .. } = &mut self.groups[group];
        self.batch.delete(state.documents, key);
        *removed += 1;
        entries.change(&mut self.batch, key, before, None, Puts::All)
    }

    /// Replaces a document that was read.
    pub(crate) fn put_read(&mut self, group: usize, key: &[u8], before: &Document, after: &Map) -> Result<()> {
        self.encode(group, after, None)?;
        self.note_update(None)?;
        self.add_row(group, key, Some(before))?;
        let entries = &mut self.groups[group].entries;
        entries.change(&mut self.batch, key, before, Some(after), Puts::All)
    }

    /// Puts a changed document; `before` is the document that was read.
    pub(crate) fn put_draft(&mut self, group: usize, key: &[u8], before: &Document, draft: Draft) -> Result<()> {
        draft.bson_size_over(crate::ids::MAX_DOCUMENT_BYTES)?.map_or(Ok(()), check_size)?;
        if !draft.is_replaced() {
            self.note_update(Some(&draft))?;
        }
        let Group { state, entries, shapes, .. } = &mut self.groups[group];
        if entries.is_empty() {
            self.row.clear();
            if draft.encode_row(&state.shapes, &mut self.row, shapes)? {
                return self.add_row(group, key, Some(before));
            }
        }
        // Keeps the stored `_id` instead of the one that was looked up: if 1 finds 1.0, the document keeps 1.0.
        let id = draft.id().clone();
        let id_copy = draft.id_copy().map(str::to_owned);
        let mut map = draft.into_map()?;
        keep_id(&mut map, id)?;
        if self.groups[group].entries.is_empty() {
            let key = checked_key(&map)?;
            return self.put_map(group, &key, &map, id_copy.as_deref(), Some(before));
        }
        self.encode(group, &map, id_copy.as_deref())?;
        self.add_row(group, key, Some(before))?;
        let entries = &mut self.groups[group].entries;
        entries.change(&mut self.batch, key, before, Some(&map), Puts::All)
    }

    /// Adds a delta that changes a document that was read to `after`.
    pub(crate) fn delta_read(
        &mut self,
        group: usize,
        key: &[u8],
        delta: &[u8],
        before: &Document,
        after: &Draft,
    ) -> Result<()> {
        if self.groups[group].validator().is_some() {
            let document = Document::from_map(&after.clone().into_map()?)
                .map_err(|error| Error::InvalidDocument(error.to_string()))?;
            self.groups[group].validate(&document, Some(before))?;
        }
        self.delta_untouched(group, key, delta, after)?;
        let Group { entries, .. } = &mut self.groups[group];
        if entries.is_empty() {
            return Ok(());
        }
        let mut fields = Map::new();
        for index in &entries.set().indexes {
            for name in index.fields() {
                if !fields.contains(name)
                    && let Some(value) = after.get(name)?
                {
                    fields.push(name, value);
                }
            }
        }
        entries.change(&mut self.batch, key, before, Some(&fields), Puts::New)
    }

    /// As [`WriteTxn::delta_read`], for a delta that touches no index.
    pub(crate) fn delta_untouched(&mut self, group: usize, key: &[u8], delta: &[u8], after: &Draft) -> Result<()> {
        self.note_update(Some(after))?;
        self.batch.delta(self.groups[group].state.documents, key, delta);
        Ok(())
    }

    /// Notes that the batch writes one more document without knowing whether it exists.
    #[inline]
    fn note_blind(&mut self, group: usize) {
        self.any_blind = true;
        self.groups[group].uncertain += 1;
    }

    fn put_map(
        &mut self,
        group: usize,
        key: &[u8],
        document: &Map,
        id_copy: Option<&str>,
        before: Option<&Document>,
    ) -> Result<()> {
        self.encode(group, document, id_copy)?;
        self.add_row(group, key, before)?;
        self.groups[group].entries.put(&mut self.batch, key, document)
    }

    fn encode(&mut self, group: usize, document: &Map, id_copy: Option<&str>) -> Result<()> {
        let Group { state, shapes, .. } = &mut self.groups[group];
        self.row.clear();
        encode_row(document, &state.shapes, id_copy, &mut self.row, shapes)
            .map_err(|e| Error::InvalidDocument(e.to_string()))
            .map(drop)
    }

    /// Adds a put of the encoded row. It replaces `before`, if the document was read.
    fn add_row(&mut self, group: usize, key: &[u8], before: Option<&Document>) -> Result<()> {
        self.groups[group].put_row(&mut self.batch, key, &self.row, before)?;
        self.drop_large_row();
        Ok(())
    }

    /// Called when the encoded row is in the batch. Its buffer is reused only if it is small.
    fn drop_large_row(&mut self) {
        if self.row.capacity() > KEPT_ROW_BYTES {
            self.row = Vec::new();
        }
    }

    /// The unique keys of the batch that are not locked yet.
    fn unlocked_claims(&self, claimed: &[Claimed]) -> Vec<Claimed> {
        let all = self.groups.iter().flat_map(|group| group.entries.claimed());
        let more = all.filter(|(tree, key)| !claimed.iter().any(|(t, k)| t == tree && k == key));
        more.map(|(tree, key)| (tree, key.to_vec())).collect()
    }

    /// Adds the definitions of shapes that are not visible yet. Until a definition is visible, every batch that uses it
    /// includes it, so no row is ever visible without its shape.
    pub(super) fn put_shapes(&mut self) {
        for group in &mut self.groups {
            group.state.note_shapes();
            let mut definition = Vec::new();
            for shape in &group.shapes[group.shapes_put..] {
                definition.clear();
                shape.encode(&mut definition);
                self.batch.put_definition(group.state.system, &shape_key(shape.number()), &definition);
            }
            group.shapes_put = group.shapes.len();
        }
    }

    /// The bytes of the batch, including definitions of shapes and entries of capped collections.
    fn bytes(&mut self) -> usize {
        self.put_shapes();
        self.batch.encoded_bytes() + self.capped_bytes()
    }

    /// Returns an error if an inserted document exists, or a unique key belongs to another document. Such an error
    /// states that a document exists. In a poisoned store the outcome of its write may be unknown, so the store's own
    /// error is returned instead.
    pub(super) fn check_keys(&self) -> Result<()> {
        let Self { store, groups, absent, .. } = self;
        let mut sorted: Vec<(TreeId, &[u8])> = Vec::new();
        if absent.len() > 1 {
            sorted.extend(absent.iter().map(|absent| absent.locate(groups)));
            sorted.sort_unstable();
        }
        let any_twice = sorted.windows(2).any(|two| two[0] == two[1]);
        let is_twice = |key: &(TreeId, &[u8])| {
            let at = sorted.partition_point(|k| k < key);
            sorted.get(at + 1) == Some(key)
        };
        for insert in absent {
            let (documents, key) = insert.locate(groups);
            if (any_twice && is_twice(&(documents, key))) || self.contains(documents, key)? {
                store.check_writable()?;
                let collection = groups[insert.group].name.to_string();
                return Err(Error::DuplicateKey { collection, id: id_text(&insert.id) });
            }
        }
        for (at, group) in groups.iter().enumerate() {
            group.entries.check_unique(self.within(at))?;
        }
        Ok(())
    }

    /// True if the document exists, as the write reads it.
    fn contains(&self, documents: TreeId, key: &[u8]) -> Result<bool> {
        Ok(match &self.at {
            Some(at) => self.store.get_at(at, documents, key, &mut Vec::new())?,
            None => self.store.contains(documents, key)?,
        })
    }

    fn within(&self, group: usize) -> Collection<'_> {
        let group = &self.groups[group];
        Collection { store: self.store, state: &group.state, name: group.name, at: self.at.as_ref() }
    }

    /// Locks documents that are read, and unique keys, all in one call.
    fn lock_reads(&self, documents: &[DocumentLock], claimed: &[Claimed]) -> LockGuard {
        let tree = |lock: &DocumentLock| self.groups[lock.group].state.documents;
        let mode = |lock: &DocumentLock| self.mode(lock.group, lock.mode);
        let documents = documents.iter().map(|lock| (tree(lock), lock.key.as_slice(), mode(lock)));
        let claimed = claimed.iter().map(|(tree, key)| (*tree, key.as_slice()));
        let exclusive = claimed.chain(self.totals()).map(|(tree, key)| (tree, key, LockMode::Exclusive));
        self.store.lock_all(documents.chain(exclusive))
    }

    /// Locks the documents and unique keys of a write that reads nothing.
    fn lock(&self) -> LockGuard {
        // If a document is locked in both modes, the stronger mode is used. If all documents are inserted, the keys of
        // the batch need not be read.
        let blind = if self.any_blind { self.groups.as_slice() } else { &[] };
        let documents = blind.iter().flat_map(|group| {
            let (tree, mode) = (group.state.documents, group.mode(LockMode::Shared));
            self.batch.keys(tree).map(move |key| (tree, key, mode))
        });
        let inserted = self.absent.iter().map(|absent| absent.locate(&self.groups));
        let claimed = self.groups.iter().flat_map(|group| group.entries.claimed());
        let exclusive =
            inserted.chain(claimed).chain(self.totals()).map(|(tree, key)| (tree, key, LockMode::Exclusive));
        self.store.lock_all(documents.chain(exclusive))
    }
}

/// Notes how a visible batch has changed the numbers of documents, for collections that keep the number. The flag is
/// read after the write, so a concurrent count either includes the batch, or has set the flag before.
#[inline]
fn note_counts(groups: &[Group<'_>], absent: &[Absent<'_>], number: Seq) {
    fence(Ordering::SeqCst);
    if groups.iter().any(|group| group.state.count.is_kept()) {
        note_kept_counts(groups, absent, number);
    }
}

#[cold]
fn note_kept_counts(groups: &[Group<'_>], absent: &[Absent<'_>], number: Seq) {
    for (at, group) in groups.iter().enumerate().filter(|(_, group)| group.state.count.is_kept()) {
        group.state.count.note(number, change_of(at, group, absent));
    }
}

/// How a write changes the number of documents of one of its collections.
fn change_of(at: usize, group: &Group<'_>, absent: &[Absent<'_>]) -> Change {
    let inserted = absent.iter().filter(|absent| absent.group == at).count();
    let added = inserted.cast_signed() as i64 - group.removed.cast_signed();
    Change { added, uncertain: group.uncertain }
}

impl Locked<'_> {
    /// The number of locks that the write holds.
    pub fn lock_count(&self) -> usize {
        self.locks.len()
    }

    /// Commits the write.
    ///
    /// # Errors
    /// Errors of writing to the store; [`alluvium_store::Error::SchemaChanged`] and
    /// [`alluvium_store::Error::NoSuchTree`] if the collection changed.
    pub fn commit(self) -> Result<()> {
        let Self { mut txn, durability, locks, _admitted } = self;
        txn.record_changes()?;
        txn.put_shapes();
        if txn.groups.iter().any(|group| group.capped().is_some()) {
            return Locked { txn, durability, locks, _admitted }.commit_capped();
        }
        let number = txn.store.write_locked(txn.batch, durability, &locks)?;
        note_recorded(&txn.groups);
        note_written(&txn.groups);
        txn.groups.iter().for_each(Group::mark_shapes);
        note_counts(&txn.groups, &txn.absent, number);
        Ok(())
    }
}
