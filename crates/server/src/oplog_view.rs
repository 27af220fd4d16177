//! The content of `local.oplog.rs`: its entries, its options and its size.

use crate::call::Call;
use crate::cluster_time::LastingTimes;
use crate::error::CommandResult;
use crate::oplog;
use alluvium::{Aggregate, ChangeScope, Collection, Find, IntoDocument, Map, Oplog, Value, collection_uuid};
use std::sync::Arc;

/// The number in the UUID of the log, which no collection has.
const NUMBER: u64 = u64::MAX;

/// True if a collection of the command's database is the log, and the server shows it.
pub(crate) fn is_read(call: &Call<'_>, collection: &str) -> bool {
    oplog::is_shown(&call.shared.config, &call.db, collection)
}

fn log(call: &Call<'_>) -> Oplog {
    let times = LastingTimes::new(&call.shared.cluster_time, &call.shared.writes);
    call.shared.db.oplog(Arc::new(times))
}

/// A query of a collection with this name, or of the log.
pub(crate) fn find(call: &Call<'_>, own: &Collection, name: &str, filter: impl IntoDocument) -> Find {
    match is_read(call, name) {
        true => log(call).find(filter),
        false => own.find(filter),
    }
}

/// A pipeline over a collection with this name, or over the log.
pub(crate) fn aggregate(call: &Call<'_>, own: &Collection, name: &str, stages: Value) -> Aggregate {
    match is_read(call, name) {
        true => log(call).aggregate(stages),
        false => own.aggregate(stages),
    }
}

/// About the number of entries, and their bytes.
///
/// # Errors
/// Errors of reading.
pub(crate) fn size(call: &Call<'_>) -> CommandResult<(u64, u64)> {
    let recorded = call.shared.db.recorded().into_iter().find(|recorded| recorded.scope == ChangeScope::Everything);
    let Some(recorded) = recorded else { return Ok((0, 0)) };
    let kept = call.shared.db.kept_changes(recorded.since)?;
    // The first entry is that of no change.
    Ok((kept.changes + 1, kept.bytes))
}

/// The options of the log: it is like a capped collection, and as large as the recorded changes may become.
pub(crate) fn options(call: &Call<'_>) -> Map {
    Map::from([("capped", Value::from(true)), ("size", bytes_max(call))])
}

/// The UUID of the log.
pub(crate) fn uuid() -> Value {
    collection_uuid(NUMBER)
}

fn bytes_max(call: &Call<'_>) -> Value {
    Value::Int64(i64::try_from(call.shared.db.change_retention().bytes).unwrap_or(i64::MAX))
}

/// The field `storageStats` of `$collStats`.
///
/// # Errors
/// Errors of reading.
pub(crate) fn storage(call: &Call<'_>, scale: i64) -> CommandResult<Map> {
    let scale = scale.max(1);
    let (count, bytes) = size(call)?;
    let scaled = |bytes: u64| Value::Int64(i64::try_from(bytes).unwrap_or(i64::MAX) / scale);
    let number = |number: u64| Value::Int64(i64::try_from(number).unwrap_or(i64::MAX));
    Ok(Map::from([
        ("size", scaled(bytes)),
        ("count", number(count)),
        ("avgObjSize", number(bytes / count.max(1))),
        ("numOrphanDocs", Value::Int32(0)),
        ("storageSize", scaled(bytes)),
        ("freeStorageSize", Value::Int32(0)),
        ("capped", Value::from(true)),
        ("max", Value::Int32(0)),
        ("maxSize", scaled(call.shared.db.change_retention().bytes)),
        ("nindexes", Value::Int32(0)),
        ("indexDetails", Value::Map(Map::new())),
        ("indexBuilds", Value::Array(Vec::new())),
        ("totalIndexSize", Value::Int32(0)),
        ("totalSize", scaled(bytes)),
        ("indexSizes", Value::Map(Map::new())),
        ("scaleFactor", Value::Int64(scale)),
    ]))
}
