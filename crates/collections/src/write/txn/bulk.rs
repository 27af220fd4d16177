//! Writes of many encoded documents to one collection. Used by loads.

use super::{Locked, Named, WriteLimits, WriteTxn};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::names::FullName;
use crate::state::CollectionState;
use crate::write::unique::{Sequence, Taken};
use alluvium_document::Document;
use alluvium_document::shape::Shape;
use alluvium_store::{Durability, LockMode};
use hashbrown::HashSet;
use std::sync::Arc;

impl<'a> WriteTxn<'a> {
    /// An empty write to one collection, with room for `bytes` of rows: see
    /// [`WriteTxn::put_encoded`].
    pub fn with_room(engine: &'a Engine, name: &'a FullName, state: &Arc<CollectionState>, bytes: usize) -> Self {
        let mut txn = Self::new(
            engine.store(),
            &[Named { name, state: state.clone(), validates: true, limits: WriteLimits::default() }],
        );
        txn.batch.reserve(bytes);
        txn
    }

    /// Puts a document whose row is encoded already into the first collection. If it returns an error, nothing was
    /// added.
    ///
    /// # Errors
    /// [`Error::IndexOf`] if an index cannot accept the document.
    #[inline]
    pub fn put_encoded(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        self.groups[0].put_encoded(&mut self.batch, key, row)?;
        self.groups[0].uncertain += 1;
        Ok(())
    }

    /// The bytes of the batch, without the definitions of shapes.
    pub fn encoded_bytes(&self) -> usize {
        self.batch.encoded_bytes()
    }

    /// The documents of the batch, with their rows, in the order in which they were put.
    pub fn documents(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.batch.puts(self.groups[0].state.documents)
    }

    /// True if the collection has the same indexes as when the write was made.
    pub fn is_current(&self) -> bool {
        self.groups[0].entries.schema() == self.store.schema(self.groups[0].state.documents)
    }

    /// True if documents have unique keys.
    pub fn has_claims(&self) -> bool {
        self.groups[0].entries.claimed().next().is_some()
    }

    /// Records the parts of indexes whose paths lead through arrays, or whose keys are cut.
    ///
    /// # Errors
    /// Errors of writing to the store.
    pub fn record_marks(&mut self) -> Result<()> {
        self.groups[0].record_marks(self.store)
    }

    /// An empty write to the same collection, under its current indexes.
    fn empty(&self) -> Self {
        let group = &self.groups[0];
        let (name, state) = (group.name, group.state.clone());
        Self::new(self.store, &[Named { name, state, validates: group.validates, limits: group.limits }])
    }

    /// The same documents, with entries for the current indexes of the collection.
    ///
    /// # Errors
    /// [`Error::IndexOf`] if an index cannot accept a document.
    pub fn encoded_again(self) -> Result<Self> {
        let mut again = self.empty();
        again.batch.reserve(self.batch.encoded_bytes());
        for (key, row) in self.documents() {
            again.put_encoded(key, row)?;
        }
        Ok(again)
    }

    /// Splits the write after the first `at` documents. Both parts have entries for the current indexes of the
    /// collection.
    ///
    /// # Errors
    /// As [`WriteTxn::encoded_again`].
    pub fn split(self, at: usize) -> Result<(Self, Self)> {
        let (mut first, mut rest) = (self.empty(), self.empty());
        for (place, (key, row)) in self.documents().enumerate() {
            let part = if place < at { &mut first } else { &mut rest };
            part.put_encoded(key, row)?;
        }
        Ok((first, rest))
    }

    /// Admits the write, and locks its documents in the given mode, and its unique keys. `shapes` are the shapes that
    /// its rows use.
    ///
    /// # Errors
    /// [`alluvium_store::Error::BatchTooLarge`]; errors of writing to the store.
    pub fn admit_and_lock(
        mut self,
        shapes: &[Arc<Shape>],
        beside_bytes: usize,
        mode: LockMode,
        durability: Durability,
    ) -> Result<Locked<'a>> {
        self.groups[0].shapes.extend(shapes.iter().cloned());
        self.prepare()?;
        let bytes = self.batch.encoded_bytes() + beside_bytes + self.capped_bytes();
        let admitted = self.store.admit(self.with_changes(bytes))?;
        let mode = self.mode(0, mode);
        let documents = self.groups[0].state.documents;
        let keys = self.documents().map(|(key, _)| (documents, key, mode));
        let claims =
            self.groups[0].entries.claimed().chain(self.totals()).map(|(tree, key)| (tree, key, LockMode::Exclusive));
        let locks = self.store.lock_all(keys.chain(claims));
        Ok(Locked { txn: self, durability, locks, _admitted: admitted })
    }

    /// Removes the documents from the write for which `keeps` returns false. Its argument is the position of the
    /// document.
    ///
    /// # Errors
    /// As [`WriteTxn::encoded_again`].
    pub fn retain(&mut self, keeps: impl Fn(usize) -> bool) -> Result<()> {
        self.batch.retain(keeps);
        let kept: HashSet<Vec<u8>> = self.documents().map(|(key, _)| key.to_vec()).collect();
        let entries = &mut self.groups[0].entries;
        entries.keep(|id| kept.contains(id));
        if entries.replaces() {
            // If a document was put several times, an earlier put may remain now. The keys of all puts are locked
            // already.
            let shapes = std::mem::take(&mut self.groups[0].shapes);
            let empty = self.empty();
            *self = std::mem::replace(self, empty).encoded_again()?;
            self.groups[0].shapes = shapes;
        }
        Ok(())
    }

    /// A unique key that two documents of the batch or of the collection would have. The caller holds the locks.
    ///
    /// # Errors
    /// Errors of reading the store.
    pub fn taken(&self) -> Result<Option<Taken<'_>>> {
        self.groups[0].entries.taken(self.within(0))
    }

    /// Adds a document to the sequence of documents of this write. Returns the error if another document has one of its
    /// unique keys. The caller holds the locks.
    ///
    /// # Errors
    /// Errors of reading the store.
    pub fn add_to_sequence(&self, sequence: &mut Sequence, id: &[u8], document: &Document) -> Result<Option<Error>> {
        sequence.add(self.within(0), self.indexes(0), id, document)
    }

    /// Puts a key of the collection's system tree. The key follows the shapes that the rows use, because the fixtures
    /// contain this order.
    pub fn put_system(&mut self, key: &[u8], value: &[u8]) {
        self.put_shapes();
        self.batch.put(self.groups[0].state.system, key, value);
    }
}
