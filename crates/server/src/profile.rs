//! Queries of virtual collections, whose documents are generated: pipelines over the entries of `system.profile`, which
//! are kept in memory, and over `admin.system.version` while it has the default version, which is not stored.

use crate::batch::FirstBatch;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::listing;
use crate::settings::FEATURES;
use crate::slow::Level;
use alluvium::{Cursor, Document, Map, Value};

/// The collection of the profiler entries.
const COLLECTION: &str = "system.profile";

/// True if a command reads the profiler entries.
pub(crate) fn is_read(collection: &str) -> bool {
    collection == COLLECTION
}

/// True if the profiler of the command's database is on, or has kept entries.
pub(crate) fn exists(call: &Call<'_>) -> bool {
    let slow = &call.shared.slow;
    slow.level(&call.db) != Level::Off || !slow.entries(&call.db).is_empty()
}

fn stage(name: &str, operand: impl Into<Value>) -> Value {
    Value::Map(Map::from([(name, operand.into())]))
}

/// True if a command reads a virtual collection.
///
/// # Errors
/// Errors of reading.
pub(crate) fn is_made(call: &Call<'_>, collection: &str) -> CommandResult<bool> {
    Ok(is_read(collection) || is_default_version(call, collection)?)
}

/// True for the collection of the feature compatibility version while no version is stored in it.
///
/// # Errors
/// Errors of reading.
pub(crate) fn is_default_version(call: &Call<'_>, collection: &str) -> CommandResult<bool> {
    Ok(FEATURES.is_in(&call.db, collection) && FEATURES.read(&call.shared.db)?.is_none())
}

/// The documents of a virtual collection.
fn documents(call: &Call<'_>, collection: &str) -> CommandResult<Vec<Map>> {
    if is_read(collection) {
        return Ok(call.shared.slow.entries(&call.db));
    }
    let stored = call.collection_called(collection).find(Map::new()).run()?;
    let map = |document: alluvium::Result<Document>| Ok(document?.to_map().map_err(alluvium::Error::from)?);
    let mut all = stored.map(map).collect::<CommandResult<Vec<Map>>>()?;
    all.push(FEATURES.document(Map::from([("version", call.shared.parameters.lock().features.as_str())])));
    Ok(all)
}

/// A pipeline over a virtual collection in the database of the command.
///
/// # Errors
/// Errors of the stages.
pub(crate) fn pipeline(
    call: &Call<'_>,
    collection: &str,
    stages: impl IntoIterator<Item = Value>,
) -> CommandResult<Cursor> {
    let mut all = vec![listing::stage(documents(call, collection)?)];
    all.extend(stages);
    Ok(call.collection_called("profile").aggregate(Value::Array(all)).run()?)
}

/// Adds the stages of a skip and a limit. Zero means no value.
fn push_window(skip: Option<u64>, limit: Option<u64>, stages: &mut Vec<Value>) {
    for (name, count) in [("$skip", skip), ("$limit", limit)] {
        if let Some(count) = count.filter(|count| *count > 0) {
            stages.push(stage(name, i64::try_from(count).unwrap_or(i64::MAX)));
        }
    }
}

/// The documents of a `find`.
///
/// # Errors
/// Errors of the fields of the command.
pub(crate) fn find(call: &Call<'_>) -> CommandResult<FirstBatch> {
    let body = &call.body;
    let mut stages = vec![stage("$match", body.document("filter").cloned().unwrap_or_default())];
    let natural = body.document("sort").and_then(|sort| sort.integer("$natural"));
    match body.document("sort").filter(|sort| !sort.is_empty()) {
        // Entries are kept in the order of their times, which therefore is the natural order.
        Some(_) if natural.is_some() => {
            stages.push(stage("$sort", Map::from([("ts", Value::from(natural.unwrap_or(1)))])))
        }
        Some(sort) => stages.push(stage("$sort", sort.clone())),
        None => {}
    }
    push_window(body.count("skip")?, body.count("limit")?, &mut stages);
    if let Some(projection) = body.document("projection").filter(|projection| !projection.is_empty()) {
        stages.push(stage("$project", projection.clone()));
    }
    Ok(FirstBatch::of(pipeline(call, call.collection_name()?, stages)?, call.namespace()?))
}

/// The result of a `count`.
///
/// # Errors
/// Errors of the fields of the command.
pub(crate) fn count(call: &Call<'_>) -> CommandResult<u64> {
    let body = &call.body;
    let mut stages = vec![stage("$match", body.document("query").cloned().unwrap_or_default())];
    // A negative limit counts as its absolute value.
    push_window(body.count("skip")?, body.integer("limit").map(i64::unsigned_abs), &mut stages);
    let mut count = 0;
    for document in pipeline(call, call.collection_name()?, stages)? {
        document?;
        count += 1;
    }
    Ok(count)
}
