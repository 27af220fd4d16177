//! Writes as statements of a transaction, and waits for the transactions of others.

use super::{DocumentLock, Group, Named, WriteTxn, change_of};
use crate::document_count::Change;
use crate::error::Result;
use crate::names::FullName;
use crate::read::Reader;
use crate::recorder::Recorder;
use crate::state::CollectionState;
use crate::write::Patience;
use crate::write::entries::Claim;
use alluvium_document::Map;
use alluvium_document::shape::Shape;
use alluvium_env::sync::Mutex;
use alluvium_query::expression::ExpressionError;
use alluvium_query::pipeline::PipelineError;
use alluvium_store::{Snapshot, Store, WriteBatch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The writes of a statement of a transaction to one collection.
pub(in crate::write) struct Part<'a> {
    pub name: &'a FullName,
    pub state: Arc<CollectionState>,
    pub shapes: Vec<Arc<Shape>>,
    pub change: Change,
    pub claims: BTreeMap<Vec<u8>, Vec<Claim>>,
}

impl<'a> WriteTxn<'a> {
    /// As [`WriteTxn::new`], for a statement of a transaction that reads at this snapshot; its recorded changes have
    /// these fields.
    pub(in crate::write) fn over(
        store: &'a Store,
        groups: &[Named<'a>],
        at: Snapshot,
        in_changes: &Mutex<Option<Map>>,
    ) -> Self {
        let new = Self::new(store, groups);
        let recorder = new.recorder.map(|_| Box::new(Recorder::in_transaction(in_changes.lock().clone())));
        Self { at: Some(at), recorder, ..new }
    }

    /// Reads the documents of a collection that the write depends on: the latest ones, or those of the transaction.
    pub(crate) fn reader(&self, group: usize) -> Reader<'_> {
        let Group { state, name, .. } = &self.groups[group];
        Reader::of_write(self.store, state.clone(), name, self.at.as_ref())
    }

    /// Waits until no transaction has written the documents of the write: those in its batch so far, and those that it
    /// locks to read them. The caller holds no lock, and no admission.
    #[inline]
    pub(super) fn wait_for_transactions(&self, locks: &[DocumentLock]) -> Result<()> {
        if self.store.has_write_sets() { self.wait_for_claims(locks) } else { Ok(()) }
    }

    #[cold]
    fn wait_for_claims(&self, locks: &[DocumentLock]) -> Result<()> {
        let group = |at: usize| self.groups[at].state.documents;
        let read = locks.iter().map(|lock| (group(lock.group), lock.key.as_slice()));
        let written = self.groups.iter().flat_map(|group| {
            let tree = group.state.documents;
            self.batch.keys(tree).map(move |key| (tree, key))
        });
        let interrupt = self.groups.iter().find_map(|group| group.limits.interrupt);
        let waiting = self.groups.iter().find_map(|group| group.limits.patience).map(Patience::begin);
        if let Some(None) = waiting {
            let claimed = self.store.claimed_by(read.chain(written));
            return claimed.map_or(Ok(()), |set| Err(alluvium_store::Error::Claimed { set }.into()));
        }
        let goes_on = || interrupt.is_none_or(|interrupt| interrupt.check().is_ok());
        match (self.store.wait_for_write_sets(read.chain(written), &goes_on), interrupt) {
            (Err(alluvium_store::Error::Stopped), Some(interrupt)) => {
                interrupt.check().map_err(|reason| PipelineError::from(ExpressionError::from(reason)).into())
            }
            (waited, _) => Ok(waited?),
        }
    }

    /// Records the arrays and cut keys that indexes have not seen before.
    pub(in crate::write) fn record_each_mark(&mut self) -> Result<()> {
        let store = self.store;
        self.groups.iter_mut().try_for_each(|group| group.record_marks(store))
    }

    /// The batch and the collections of a statement of a transaction.
    pub(in crate::write) fn into_parts(self) -> (WriteBatch, Vec<Part<'a>>) {
        let Self { batch, groups, absent, .. } = self;
        let changes: Vec<Change> = groups.iter().enumerate().map(|(at, group)| change_of(at, group, &absent)).collect();
        let part = |(group, change): (Group<'a>, Change)| {
            let Group { name, state, entries, shapes, .. } = group;
            Part { name, state, shapes, change, claims: entries.claims }
        };
        (batch, groups.into_iter().zip(changes).map(part).collect())
    }
}

/// Notes that a write of the command was made, for writes that wait for the transactions of others afterwards.
#[inline]
pub(super) fn note_written(groups: &[Group<'_>]) {
    if let Some(patience) = groups.first().and_then(|group| group.limits.patience) {
        patience.note_written();
    }
}
