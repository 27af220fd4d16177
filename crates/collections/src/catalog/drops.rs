//! Drops collections and views.

use super::{Catalog, Entry};
use crate::error::Result;
use crate::history::Event;
use crate::names::FullName;
use alluvium_store::{TreeChanges, TreeId};

impl Catalog {
    /// Drops a collection or a view.
    pub fn drop(&self, name: &FullName) -> Result<()> {
        self.drop_as(name, false)
    }

    /// As [`Catalog::drop`], as a part of the drop of the logical database: with its last collection or view, the history
    /// gets the event of the whole.
    pub fn drop_with_logical(&self, name: &FullName) -> Result<()> {
        self.drop_as(name, true)
    }

    fn drop_as(&self, name: &FullName, with_logical: bool) -> Result<()> {
        let _change = self.begin_name_change();
        self.store.check_writable()?;
        let is_last = with_logical && self.is_last(name);
        let view = self.views.read().get(name).cloned();
        if let Some((tree, _)) = view {
            return self.drop_view(name, tree, is_last);
        }
        let Some(entry) = self.names.read().get(name).cloned() else {
            return Err(self.missing(name));
        };
        self.drop_entry(name, &entry, is_last)
    }

    /// True if the logical database has no other collection and no other view.
    fn is_last(&self, name: &FullName) -> bool {
        let is_other = |other: &&FullName| other.logical == name.logical && *other != name && !other.is_temporary();
        self.names.read().keys().find(is_other).is_none() && self.views.read().keys().find(is_other).is_none()
    }

    fn drop_entry(&self, name: &FullName, entry: &Entry, is_last: bool) -> Result<()> {
        let (drop, mut stamped) = (entry.trees(), self.noted(entry.documents, name, || vec![Event::Drop]));
        if is_last {
            stamped.extend(self.noted_drop_of(&name.logical));
        }
        let changes = |_: &[TreeId]| TreeChanges { drop, stamped, ..TreeChanges::default() };
        let dropped = self.store.change_trees(0, changes).map(std::mem::drop);
        // The name is removed also if the outcome is unknown, because reads continue, and the dropped trees cannot be
        // read any more.
        if dropped.is_ok() || self.store.description(entry.documents).is_none() {
            self.names.write().remove(name);
            entry.wake();
            self.recorded_writes.note();
        }
        Ok(dropped?)
    }

    fn drop_view(&self, name: &FullName, tree: TreeId, is_last: bool) -> Result<()> {
        let (drop, mut stamped) = (vec![tree], self.noted_view(name, || Event::Drop));
        if is_last {
            stamped.extend(self.noted_drop_of(&name.logical));
        }
        let dropped = self.change_trees(0, |_| TreeChanges { drop, stamped, ..TreeChanges::default() });
        if dropped.is_ok() || self.store.description(tree).is_none() {
            self.views.write().remove(name);
        }
        Ok(dropped.map(std::mem::drop)?)
    }
}
