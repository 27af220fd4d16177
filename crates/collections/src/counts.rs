//! The number of documents of a collection, without reading them.

use crate::capped;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::names::FullName;

/// The number of documents, kept up to date by the writes. The first call counts the documents by a scan. The number is
/// exact, unless a large collection has just been opened or written blindly; then it is within a percent. 0 for a
/// collection that does not exist.
///
/// # Errors
/// [`Error::Stopped`] and [`Error::MaxTimeExpired`] while the documents are counted; errors of reading the store.
pub fn documents(engine: &Engine, name: &FullName, mut limits: Limits) -> Result<u64> {
    limits.begin(&engine.env);
    let Some(state) = engine.catalog.find(name)? else { return Ok(0) };
    if state.order().is_some()
        && let Some(documents) = capped::documents(engine.store(), &state, name)?
    {
        return Ok(documents);
    }
    match state.count.get(engine.store(), state.documents, &engine.env, &limits) {
        // The collection was dropped concurrently.
        Err(Error::Store(alluvium_store::Error::NoSuchTree(_))) => Ok(0),
        counted => counted,
    }
}
