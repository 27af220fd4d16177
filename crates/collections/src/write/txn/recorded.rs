//! Writes to collections whose changes are recorded. Their documents are locked exclusively and read, so that each change
//! is known exactly, and the changes are added to the batch.

use super::{Group, Locked, Named, WriteTxn};
use crate::error::Result;
use crate::ids::ID;
use crate::recorder::Target;
use alluvium_document::diff::Difference;
use alluvium_document::{Document, Draft};
use alluvium_store::{Durability, LockMode, Store};

/// The bytes of a recorded change in addition to those of its document.
const CHANGE_BYTES: usize = 128;

impl<'a> Group<'a> {
    #[inline]
    pub(super) fn is_recorded(&self) -> bool {
        self.entries.set().recording.is_some()
    }

    /// The mode of the locks of documents: exclusive if their changes are recorded.
    #[inline]
    pub(super) fn mode(&self, mode: LockMode) -> LockMode {
        if self.is_recorded() { LockMode::Exclusive } else { mode }
    }
}

impl<'a> WriteTxn<'a> {
    /// As [`Group::mode`].
    pub(super) fn mode(&self, group: usize, mode: LockMode) -> LockMode {
        self.groups[group].mode(mode)
    }

    /// Notes that the next operation of the batch writes the result of an update, and what that changes, if it is known
    /// without comparing all fields: for a draft.
    #[inline]
    pub(super) fn note_update(&mut self, draft: Option<&Draft>) -> Result<()> {
        if self.recorder.is_some() { self.note_recorded_update(draft) } else { Ok(()) }
    }

    #[cold]
    fn note_recorded_update(&mut self, draft: Option<&Draft>) -> Result<()> {
        let difference = draft.map_or(Ok(None), known_difference)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.note_update(self.batch.len(), difference);
        }
        Ok(())
    }

    /// Notes the document with this key that was read under its lock, so that it need not be read again to record its
    /// change; `None` for a key that the check of the write demands to be free.
    #[inline]
    pub(crate) fn note_before(&mut self, group: usize, key: &[u8], before: Option<&Document>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note_before(self.groups[group].state.documents, key, before.cloned());
        }
    }

    /// Adds the changes that the batch makes, as far as it does not have them yet. The caller holds the locks of the
    /// documents, or writes in a transaction.
    #[inline]
    pub(in crate::write) fn record_changes(&mut self) -> Result<()> {
        if self.recorder.is_some() { self.record() } else { Ok(()) }
    }

    #[cold]
    fn record(&mut self) -> Result<()> {
        let Self { store, batch, groups, at, recorder: Some(recorder), .. } = self else { return Ok(()) };
        let targets = groups.iter().map(|group| Target {
            name: group.name,
            state: &group.state,
            history: group.entries.set().recording.as_ref().map(|recording| recording.tree),
        });
        let targets: Vec<Target<'_>> = targets.collect();
        recorder.record(store, at.as_ref(), batch, &targets)
    }

    /// The bytes to reserve for a batch of `bytes` bytes and the changes that it makes, which are not known yet.
    pub(super) fn with_changes(&self, bytes: usize) -> usize {
        if self.recorder.is_none() {
            return bytes;
        }
        // The estimate is limited, so that it is never refused by itself.
        let more = bytes + self.batch.len() * CHANGE_BYTES;
        bytes.max(bytes.saturating_add(more).min(self.store.max_batch_bytes()))
    }
}

/// The difference that a draft makes. A write may move an `_id` that is not the first field.
fn known_difference(draft: &Draft) -> Result<Option<Difference>> {
    let first = draft.original().iter()?.next().transpose()?;
    let is_id = first.is_some_and(|(name, _)| name.as_str() == Some(ID));
    if is_id { Ok(draft.difference()?) } else { Ok(None) }
}

/// Executes a write that reads nothing by itself: its documents are locked, and read for their changes.
#[cold]
pub(super) fn execute_recorded<'a, T>(
    store: &'a Store,
    groups: &[Named<'a>],
    durability: Durability,
    mut txn: WriteTxn<'a>,
    mut value: T,
    mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
) -> Result<T> {
    let mut least = 0;
    loop {
        let bytes = txn.bytes();
        let reserved = txn.with_changes(bytes).max(least);
        txn.wait_for_transactions(&[])?;
        let admitted = store.admit(reserved)?;
        let locks = txn.lock();
        txn.check_keys()?;
        txn.record_changes()?;
        least = txn.bytes();
        if least <= reserved {
            Locked { txn, durability, locks, _admitted: admitted }.commit()?;
            return Ok(value);
        }
        // The changes are larger than was reserved, and no thread waits for admission with locks held.
        drop((locks, admitted));
        txn = WriteTxn::new(store, groups);
        txn.prepare()?;
        value = encode(&mut txn)?;
        txn.record_each_mark()?;
    }
}

/// Wakes the readers of recorded changes after a write.
#[inline]
pub(super) fn note_recorded(groups: &[Group<'_>]) {
    if let Some(recording) = groups.iter().find_map(|group| group.entries.set().recording.as_ref()) {
        recording.writes.note();
    }
}
