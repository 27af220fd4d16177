//! Decides whether a sweep is worth its cost.

use crate::engine::EngineHandle;
use crate::error::Result;
use crate::index::Index;
use crate::index_stats::stale_share;
use crate::names::FullName;
use crate::view::CollectionView;
use std::sync::Arc;

/// The minimum number of stale entries for which a sweep is worth its cost.
const STALE_MIN: f64 = 10_000.0;
/// A sweep is due if an index has more entries than this multiple of the entries that the documents yield.
const EXCESS: f64 = 1.25;

/// True if an index of the collection holds a quarter more entries than its documents yield, and at
/// least [`STALE_MIN`] more.
pub(super) fn is_due(engine: &EngineHandle, name: &FullName) -> Result<bool> {
    let store = engine.store();
    let Some(state) = engine.catalog.find(name)? else { return Ok(false) };
    let documents = store.tree_stats(state.documents)?.keys as f64;
    for index in state.indexes().indexes.iter().filter(|index| index.ready.is_some()) {
        let entries = store.tree_stats(index.tree)?.keys as f64;
        let per_document = index.swept.expected(store.live_snapshots().first().copied()).unwrap_or(0.0);
        if entries > documents * per_document * EXCESS + STALE_MIN && is_stale(engine, name, index, entries, documents)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks a sample of the entries, because the number of entries also grows if newer documents yield more entries than
/// the documents at the last check.
fn is_stale(engine: &EngineHandle, name: &FullName, index: &Arc<Index>, entries: f64, documents: f64) -> Result<bool> {
    let live = entries * (1.0 - stale_share(&CollectionView::open(engine, name, None)?, index)?);
    if entries > live * EXCESS && entries - live > STALE_MIN {
        return Ok(true);
    }
    index.swept.record_live(live / documents.max(1.0));
    Ok(false)
}
