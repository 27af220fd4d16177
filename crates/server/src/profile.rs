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

/// The stages of a skip and a limit. Zero is the same as no value.
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
    push_window(body.count("skip")?, body.count("limit")?, &mut stages);
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
    // A negative limit counts as its amount.
    push_window(body.count("skip")?, body.integer("limit").map(i64::unsigned_abs), &mut stages);
    let mut count = 0;
    for document in pipeline(call, stages)? {
        document?;
        count += 1;
    }
    Ok(count)
}
