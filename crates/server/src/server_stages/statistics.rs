//! `$collStats` and `$indexStats`: the figures of the library, and the figures that only the server has.

use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::listing;
use crate::oplog;
use crate::oplog_view;
use alluvium::{Collection, Document, Map, Value};
use std::sync::Arc;

/// The error code of the library for options that only the server supports.
const OF_SERVERS: i32 = 238;

/// Runs a single stage in the library, over the collection of a command.
fn of_library(call: &Call<'_>, collection: &str, name: &str, operand: &Value) -> CommandResult<Vec<Map>> {
    let stages = Value::Array(vec![Value::Map(Map::from([(name, operand.clone())]))]);
    let found = call.collection_called(collection).aggregate(stages).run()?;
    let map = |document: alluvium::Result<Document>| Ok(document?.to_map().map_err(alluvium::Error::from)?);
    found.map(map).collect()
}

/// The document of `$collStats`.
pub(crate) fn of_collection(call: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let name = collection(call);
    if let Some(options) = operand.as_map().filter(|_| oplog_view::is_read(call, name)) {
        return of_oplog(call, options);
    }
    let Some(options) = operand.as_map() else {
        return of_library(call, collection(call), "$collStats", operand);
    };
    let is_set = |name: &str| options.iter().any(|(of, value)| of.as_str() == Some(name) && value.as_map().is_some());
    let full = format!("{}.{}", call.db, collection(call));
    let mut of_documents = options.clone();
    if is_set("latencyStats") || is_set("queryExecStats") {
        match of_library(call, collection(call), "$collStats", operand) {
            Err(error) if error.code == OF_SERVERS => {}
            other => return other,
        }
        if is_set("queryExecStats") {
            require_collection(call, &full)?;
        }
        of_documents.entries.retain(|(name, _)| !matches!(name.as_str(), Some("latencyStats" | "queryExecStats")));
    }
    let mut list = of_library(call, collection(call), "$collStats", &Value::Map(of_documents))?;
    for entry in &mut list {
        let mut first = Map::from([("ns", Value::from(full.as_str())), ("host", Value::from(call.host().as_str()))]);
        entry.remove("ns");
        if is_set("latencyStats") {
            let histograms = options.document("latencyStats").is_some_and(|latencies| latencies.flag("histograms"));
            first.push("latencyStats", call.shared.latencies.to_map(&full, histograms));
        }
        if is_set("queryExecStats") {
            let scans = call.shared.latencies.scans(&full);
            let scans = Map::from([("total", Value::Int64(scans)), ("nonTailable", Value::Int64(scans))]);
            first.push("queryExecStats", Map::from([("collectionScans", Value::Map(scans))]));
        }
        first.entries.append(&mut entry.entries);
        *entry = first;
    }
    Ok(list)
}

/// The document of `$collStats` of the operation log.
fn of_oplog(call: &Call<'_>, options: &Map) -> CommandResult<Vec<Map>> {
    let namespace = format!("{}.{}", oplog::DB, oplog::NAME);
    let mut entry = Map::from([("ns", Value::from(namespace)), ("host", Value::from(call.host().as_str()))]);
    entry.push("localTime", Value::DateTime(call.shared.env.clock.unix_millis()));
    if let Some(options) = options.document("storageStats") {
        entry.push("storageStats", oplog_view::storage(call, options.truncated("scale").unwrap_or(1))?);
    }
    if options.contains("count") {
        entry.push("count", Value::Int64(i64::try_from(oplog_view::size(call)?.0).unwrap_or(i64::MAX)));
    }
    Ok(vec![entry])
}

fn collection<'a>(call: &'a Call<'_>) -> &'a str {
    call.argument().as_str().unwrap_or_default()
}

/// Fails for a view, and for a collection that does not exist.
fn require_collection(call: &Call<'_>, full: &str) -> CommandResult<()> {
    if call.shared.db.views().iter().any(|(view, _)| view == full) {
        return Err(CommandError::not_supported_on_view(format!("{full} is a view, which has no plans of its own")));
    }
    match call.collection_called(collection(call)).identity()?.is_some() {
        true => Ok(()),
        false => Err(CommandError::namespace_not_found(format!("the collection {full} does not exist"))),
    }
}

pub(super) fn of_indexes(call: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let mut list = of_library(call, collection(call), "$indexStats", operand)?;
    for entry in &mut list {
        if let Some(Value::Map(spec)) = entry.remove("spec") {
            entry.push("spec", listing::definition(spec));
        }
        let at = entry.entries.iter().position(|(name, _)| name.as_str() == Some("accesses")).unwrap_or(0);
        let host = Value::from(call.host().as_str());
        entry.entries.insert(at, (Value::from("host"), host));
    }
    Ok(list)
}

/// The number of bytes of a collection's documents as BSON, and the number of documents. Both are exact for small
/// collections, and estimated for others.
///
/// # Errors
/// Errors of reading.
pub(crate) fn size(call: &Call<'_>, collection: &Collection) -> CommandResult<(u64, u64)> {
    let stage = Map::from([("$collStats", Value::Map(Map::from([("storageStats", Value::Map(Map::new()))])))]);
    let stages = collection.aggregate(Value::Array(vec![Value::Map(stage)]));
    let mut found = stages.max_time(call.time_left()?).stop_when(Arc::clone(&call.stop)).run()?;
    let Some(document) = found.next() else { return Ok((0, 0)) };
    let map = document?.to_map().map_err(alluvium::Error::from)?;
    let number = |name: &str| map.document("storageStats").and_then(|of| of.integer(name)).unwrap_or(0);
    Ok((number("size").unsigned_abs(), number("count").unsigned_abs()))
}
