//! Copies a collection into a new capped one.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::filling::Filling;
use crate::find::{Execution, FindRequest, Query, moment_of};
use crate::limits::CappedLimits;
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::view::CollectionView;
use alluvium_document::Map;
use alluvium_exec::Limits;
use alluvium_store::Durability;

/// Copies the documents of a collection at one snapshot into a new capped collection, in their natural order. The new
/// collection gets its name when it is complete, so no other write reaches it before.
///
/// # Errors
/// [`Error::NoSuchCollection`], [`Error::CollectionExists`], [`Error::Stopped`], [`Error::MaxTimeExpired`]; as for any
/// read and write.
pub fn copy_to_capped(
    engine: &EngineHandle,
    from: &FullName,
    to: &FullName,
    capped: CappedLimits,
    durability: Durability,
    limits: Limits,
) -> Result<()> {
    engine.catalog.require(from)?;
    engine.catalog.check_name_is_free(to)?;
    let options = CollectionOptions { capped: Some(capped), ..CollectionOptions::default() };
    let filling = Filling::begin(engine, &to.logical, options)?;
    let mut request = FindRequest::new(Map::new());
    request.limits = limits;
    let query = Query::new(request, moment_of(engine, from))?;
    let mut documents = Execution::new(CollectionView::open(engine, from, None)?, query, false)?;
    filling.insert_all(durability, true, None, || {
        documents.next_raw()?.map(|document| document.to_map()).transpose().map_err(Error::from)
    })?;
    filling.name(to, durability)
}
