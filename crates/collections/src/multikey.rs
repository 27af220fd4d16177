//! Records the parts of an index whose paths lead through arrays, or whose keys are cut.

use crate::error::Result;
use crate::marks;
use crate::state::CollectionState;
use alluvium_store::{Store, TreeId};
use std::sync::atomic::Ordering;

/// Marks of an index that are not recorded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewMarks {
    /// The tree of the index.
    pub index: TreeId,
    /// As [`crate::index::Index::marks`].
    pub marks: u64,
}

/// Records that parts of indexes lead through arrays, or have cut keys. A write whose documents are the first of that
/// kind calls this function before it is numbered, without locks.
pub(crate) fn record_marks(store: &Store, state: &CollectionState, found: &[NewMarks]) -> Result<()> {
    let _one_at_a_time = state.index_change.lock();
    let set = state.indexes();
    for NewMarks { index: tree, marks } in found {
        let Some(index) = set.indexes.iter().find(|index| index.tree == *tree) else { continue };
        let before = index.marks.load(Ordering::SeqCst);
        let new = marks & !before;
        if new == 0 {
            continue;
        }
        if new as u32 != 0 {
            marks::FIRST_ARRAY.hit();
        }
        if new >> 32 != 0 {
            marks::FIRST_CUT_KEY.hit();
        }
        if store.description(*tree).is_none() {
            // The index of a collection that a transaction creates: its commit describes the tree.
            index.marks.store(before | marks, Ordering::SeqCst);
            continue;
        }
        // A writer that sees the bits set does not describe the tree again, and may get its number at once. So the
        // description is written before the bits are set.
        store.describe_trees(&[(*tree, &index.described_with(state.documents, before | marks))])?;
        index.marks.store(before | marks, Ordering::SeqCst);
    }
    Ok(())
}
