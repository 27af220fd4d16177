//! Queries whose only condition is one `_id`.

use super::projector::project;
use super::query::Query;
use super::request::FindRequest;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::ids;
use crate::names::FullName;
use crate::read::Reader;
use crate::snapshot::Snapshot;
use alluvium_document::Document;

/// Executes a request that has one `_id` as its filter and no other options, without parsing it. `None` for any other
/// request.
///
/// # Errors
/// As for any query.
pub fn find_only_id(
    engine: &EngineHandle,
    name: &FullName,
    at: Option<&Snapshot>,
    request: &FindRequest,
) -> Result<Option<Option<Document>>> {
    let Some(id) = request.only_id().filter(|_| engine.catalog.collation(name).is_none()) else { return Ok(None) };
    // A value that cannot be an `_id`.
    let Ok(key) = ids::id_key(id) else { return Ok(None) };
    request.limits.check_stop()?;
    Reader::new(engine, name, at)?.get_key(&key, id).map(Some)
}

/// The result of a query whose only condition is one `_id`, read without a plan. `None` if the query needs a plan.
///
/// # Errors
/// As for any query.
pub fn find_by_id(
    engine: &EngineHandle,
    name: &FullName,
    at: Option<&Snapshot>,
    query: &mut Query,
) -> Result<Option<Option<Document>>> {
    let Some(id) = query.filter.named_id().filter(|_| query.hint.is_none()).cloned() else { return Ok(None) };
    // A value that cannot be an `_id`.
    let Ok(key) = ids::id_key(&id) else { return Ok(None) };
    query.begin(&engine.env);
    query.request.limits.check(&engine.env)?;
    if query.skip > 0 {
        return Ok(Some(None));
    }
    let found = Reader::new(engine, name, at)?.get_key(&key, &id)?;
    Ok(Some(found.map(|document| project(query, document)).transpose()?))
}
