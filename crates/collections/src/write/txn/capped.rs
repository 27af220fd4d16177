//! Writes to capped collections: the order, the locks, and the deletes of the oldest documents.

use super::recorded::note_recorded;
use super::{Group, Locked, WriteTxn, note_counts};
use crate::capped::{self, Accounting};
use crate::error::{Error, Result};
use crate::limits::CappedLimits;
use crate::trees::CAPPED_TOTALS;
use alluvium_env::sync::atomic::Ordering;
use alluvium_store::{Durability, TreeId};

impl WriteTxn<'_> {
    /// Builds the order of each capped collection that has none. The caller holds no lock.
    pub(super) fn prepare(&self) -> Result<()> {
        let mut capped = self.groups.iter().filter(|group| group.capped().is_some());
        capped.try_for_each(|group| capped::ensure_ordered(self.store, &group.state, group.name))
    }

    /// Returns an error if the write is a statement of a transaction and a collection is capped: the order of its
    /// documents, and the deletes of the oldest, belong to the moment of the commit.
    pub(in crate::write) fn refuse_capped(&self) -> Result<()> {
        match self.groups.iter().find(|group| group.capped().is_some()) {
            None => Ok(()),
            Some(group) => {
                Err(Error::NotInTransaction { what: format!("a write to the capped collection {}", group.name) })
            }
        }
    }

    /// True if the collection is capped. In that case documents are written as whole rows, so that their sizes are
    /// known.
    pub(crate) fn is_capped(&self, group: usize) -> bool {
        self.groups[group].capped().is_some()
    }

    /// The bytes that the commit adds for capped collections.
    pub(super) fn capped_bytes(&self) -> usize {
        let capped = self.groups.iter().filter(|group| group.capped().is_some());
        capped.map(|group| capped::overhead_bytes(self.batch.keys(group.state.documents))).sum()
    }

    /// Adds the entries that capped collections keep of their order and totals. Returns the collections from which more
    /// documents have to be deleted. The caller holds the locks.
    fn account(&mut self) -> Result<Vec<usize>> {
        let mut exceeded = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            let Some(limits) = group.capped() else { continue };
            if !group.state.is_ordered.load(Ordering::Acquire) {
                // The collection became capped after the write began.
                return Err(alluvium_store::Error::SchemaChanged(group.state.documents.0).into());
            }
            let accounts = Accounting::new(self.store, &group.state, group.name, limits)?;
            if accounts.add(&mut self.batch)? {
                exceeded.push(at);
            }
        }
        Ok(exceeded)
    }

    /// The keys of the totals of capped collections. All writers of a capped collection hold the lock of its totals.
    pub(super) fn totals(&self) -> impl Iterator<Item = (TreeId, &[u8])> {
        let capped = self.groups.iter().filter(|group| group.capped().is_some());
        capped.map(|group| (group.state.system, CAPPED_TOTALS))
    }
}

impl Locked<'_> {
    /// Commits a write to at least one capped collection. The locks are released before the log is synced, because all
    /// writers of the collection need them.
    #[cold]
    pub(super) fn commit_capped(self) -> Result<()> {
        let Self { mut txn, durability, locks, _admitted } = self;
        let exceeded = txn.account()?;
        let until_visible = if durability == Durability::Sync { Durability::Bulk } else { durability };
        txn.record_changes()?;
        let WriteTxn { store, batch, groups, absent, .. } = txn;
        let number = store.write_locked(batch, until_visible, &locks)?;
        note_recorded(&groups);
        drop((locks, _admitted));
        note_counts(&groups, &absent, number);
        for group in &groups {
            group.mark_shapes();
            if group.capped().is_some() {
                group.state.appends.note();
            }
        }
        for at in exceeded {
            let Group { state, name, .. } = &groups[at];
            // The write itself has succeeded. The next insert tries again.
            if let Err(error) = capped::trim(store, state, name, until_visible) {
                log::warn!("the oldest documents of collection {name} cannot be deleted: {error}");
            }
        }
        if durability == Durability::Sync {
            store.sync().map_err(unknown_if_poisoned)?;
        }
        Ok(())
    }
}

impl Group<'_> {
    /// The limits of a collection whose documents have an order; unlimited if it is not capped.
    #[inline]
    pub(super) fn capped(&self) -> Option<CappedLimits> {
        self.entries.set().options.order()
    }
}

/// Converts the error of a sync after a batch was written. If the log had failed before, the outcome is unknown, too.
fn unknown_if_poisoned(error: alluvium_store::Error) -> alluvium_store::Error {
    match error {
        alluvium_store::Error::Poisoned(_) => alluvium_store::Error::OutcomeUnknown(Box::new(error)),
        error => error,
    }
}
