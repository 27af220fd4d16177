//! Folds deltas onto documents for the store, and reports the shapes that rows use.

use crate::trees::{read_documents, shape_key};
use alluvium_document::row::shapes_used;
use alluvium_document::shape::ShapeTable;
use alluvium_document::{Document, Draft};
use alluvium_env::sync::RwLock;
use alluvium_store::{Definitions, Fold, FoldError, TreeId};
use hashbrown::HashMap;
use std::sync::Arc;

/// Folds updates onto rows, with the shapes of the collections that were used since the database
/// was opened. Before a collection's shapes are read, its rows cannot be decoded, and flushes keep
/// the deltas.
#[derive(Default)]
pub(crate) struct Folds {
    known: RwLock<Known>,
}

/// The tables of shapes, by tree of documents.
#[derive(Default)]
struct Known {
    shapes: HashMap<TreeId, Arc<ShapeTable>>,
    /// The number of entries at which entries of removed trees are searched.
    sweep_at: usize,
}

/// The minimum number of entries for a search for removed trees.
const SWEEP_MIN: usize = 64;

impl Folds {
    /// Sets the table of a collection's shapes, to which all new shapes are added.
    pub fn learn(&self, documents: TreeId, shapes: &Arc<ShapeTable>) {
        self.known.write().shapes.insert(documents, shapes.clone());
    }

    /// Sets the table of shapes that a snapshot sees, unless a table is known already. Returns the known table, to
    /// which new shapes are added.
    pub fn learn_unknown(&self, documents: TreeId, shapes: Arc<ShapeTable>) -> Arc<ShapeTable> {
        self.known.write().shapes.entry(documents).or_insert(shapes).clone()
    }

    /// The shapes of a collection, if they were read.
    pub fn known(&self, documents: TreeId) -> Option<Arc<ShapeTable>> {
        self.known.read().shapes.get(&documents).cloned()
    }

    /// Removes the tables of the trees for which `is_kept` is false, if there are many tables.
    ///
    /// A snapshot that is older than a drop needs the last table of the dropped collection, because rows may have been
    /// folded after the snapshot, to shapes that its system tree does not contain.
    pub fn forget_removed(&self, is_kept: impl Fn(TreeId) -> bool) {
        let mut known = self.known.write();
        if known.shapes.len() >= known.sweep_at {
            known.shapes.retain(|tree, _| is_kept(*tree));
            known.sweep_at = 2 * known.shapes.len() + SWEEP_MIN;
        }
    }
}

impl std::fmt::Debug for Folds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folds").field("collections", &self.known.read().shapes.len()).finish()
    }
}

impl Definitions for Folds {
    fn kept_in(&self, description: &[u8]) -> Option<TreeId> {
        read_documents(description).map(|(_, system)| system)
    }

    fn key(&self, number: u32) -> Vec<u8> {
        shape_key(number).to_vec()
    }

    fn used(&self, value: &[u8], note: &mut dyn FnMut(u32)) {
        // For a damaged row, the shapes before the damage are reported.
        let _damaged = shapes_used(value, note);
    }

    fn at_hand(&self, tree: TreeId, number: u32) -> Option<Vec<u8>> {
        let mut definition = Vec::new();
        self.known(tree)?.get(number)?.encode(&mut definition);
        Some(definition)
    }
}

impl Fold for Folds {
    fn fold(
        &self,
        tree: TreeId,
        key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, FoldError> {
        let Some(shapes) = self.known(tree) else { return Ok(None) };
        let damaged = |what: String| FoldError(what);
        let draft = Document::from_row(&shapes, key, base).and_then(Draft::new).map_err(|e| damaged(e.to_string()))?;
        let folded =
            alluvium_query::fold::fold(Some(draft), deltas.iter().copied()).map_err(|e| damaged(e.to_string()))?;
        if let Some(draft) = folded.draft {
            draft.encode_known_row(&shapes, out).map_err(|e| damaged(e.to_string()))?;
        }
        Ok(Some(folded.refused))
    }
}

#[cfg(test)]
mod tests;
