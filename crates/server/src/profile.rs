//! Queries of `system.profile`, whose entries are kept in memory: pipelines over them.

use crate::batch::FirstBatch;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::listing;
use alluvium::{Cursor, Map, Value};

/// The collection of the entries.
const COLLECTION: &str = "system.profile";

/// True if a command reads the entries.
pub(crate) fn is_read(collection: &str) -> bool {
    collection == COLLECTION
}

fn stage(name: &str, operand: impl Into<Value>) -> Value {
    Value::Map(Map::from([(name, operand.into())]))
}

/// A pipeline over the entries of the command's database.
///
/// # Errors
/// Errors of the stages.
pub(crate) fn pipeline(call: &Call<'_>, stages: impl IntoIterator<Item = Value>) -> CommandResult<Cursor> {
    let mut all = vec![listing::stage(call.shared.slow.entries(&call.db))];
    all.extend(stages);
    Ok(call.collection_called("profile").aggregate(Value::Array(all)).run()?)
}

/// The documents of a `find`.
///
/// # Errors
/// Errors of its fields.
pub(crate) fn find(call: &Call<'_>) -> CommandResult<FirstBatch> {
    let body = &call.body;
    let mut stages = vec![stage("$match", body.document("filter").cloned().unwrap_or_default())];
    let natural = body.document("sort").and_then(|sort| sort.integer("$natural"));
    match body.document("sort").filter(|sort| !sort.is_empty()) {
        // The order in which they were kept, which is that of their times.
        Some(_) if natural.is_some() => {
            stages.push(stage("$sort", Map::from([("ts", Value::from(natural.unwrap_or(1)))])))
        }
        Some(sort) => stages.push(stage("$sort", sort.clone())),
        None => {}
    }
    if let Some(skip) = body.count("skip")?.filter(|skip| *skip > 0) {
        stages.push(stage("$skip", skip.cast_signed()));
    }
    if let Some(limit) = body.count("limit")?.filter(|limit| *limit > 0) {
        stages.push(stage("$limit", limit.cast_signed()));
    }
    if let Some(projection) = body.document("projection").filter(|projection| !projection.is_empty()) {
        stages.push(stage("$project", projection.clone()));
    }
    Ok(FirstBatch::of(pipeline(call, stages)?, format!("{}.{COLLECTION}", call.db)))
}

/// The number of a `count`.
///
/// # Errors
/// Errors of its fields.
pub(crate) fn count(call: &Call<'_>) -> CommandResult<u64> {
    let body = &call.body;
    let mut stages = vec![stage("$match", body.document("query").cloned().unwrap_or_default())];
    if let Some(skip) = body.count("skip")?.filter(|skip| *skip > 0) {
        stages.push(stage("$skip", skip.cast_signed()));
    }
    if let Some(limit) = body.integer("limit").map(i64::unsigned_abs).filter(|limit| *limit > 0) {
        stages.push(stage("$limit", limit.min(i64::MAX as u64).cast_signed()));
    }
    let mut count = 0;
    for document in pipeline(call, stages)? {
        document?;
        count += 1;
    }
    Ok(count)
}
