//! Pipeline stages that only a server supports. Their documents are the operations, sessions and collections of the
//! server.
//!
//! Such a stage is the first in its pipeline. Its documents are collected in a list, and the following stages run over
//! the list. Only `$changeStream` has a cursor of its own.

pub(crate) mod catalog;
pub(crate) mod change_streams;
pub(crate) mod operations;
pub(crate) mod plans;
pub(crate) mod sessions;
pub(crate) mod statistics;

use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields};
use crate::listing;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_query::pipeline::stages::{self, Over, RawStage, ServerStage, StageRow};

/// Makes the documents of a stage.
type Documents = fn(&Call<'_>, &Value) -> CommandResult<Vec<Map>>;

/// The way in which a stage is answered.
#[derive(Clone, Copy)]
struct Answer {
    /// Makes the documents of the stage; `None` for a change stream, which has its own cursor.
    documents: Option<Documents>,
    /// The error if the stage is used on the wrong kind of source.
    misplaced: (i32, &'static str),
    /// Decides the error of a stage in `$facet` that is also on the wrong kind of source: `misplaced` if true,
    /// otherwise the error of the position.
    checks_place_first: bool,
}

const INVALID_NAMESPACE: (i32, &str) = (73, "InvalidNamespace");

/// The answer for each stage.
fn answer(stage: ServerStage) -> Answer {
    let plain = |documents: Documents| Answer {
        documents: Some(documents),
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
    };
    match stage {
        ServerStage::ChangeStream => Answer { documents: None, misplaced: INVALID_NAMESPACE, checks_place_first: true },
        ServerStage::CollStats => plain(statistics::of_collection),
        ServerStage::IndexStats => plain(statistics::of_indexes),
        ServerStage::CurrentOp => plain(operations::documents),
        ServerStage::ListClusterCatalog => {
            Answer { misplaced: (9_621_301, "Location9621301"), ..plain(catalog::documents) }
        }
        ServerStage::ListLocalSessions | ServerStage::ListSessions => plain(sessions::documents),
        ServerStage::PlanCacheStats => plain(plans::cache),
        ServerStage::QuerySettings => Answer { checks_place_first: false, ..plain(plans::settings) },
        ServerStage::QueryStats => plain(plans::statistics),
    }
}

/// True for a stage that allows only the read concern `local`.
pub(crate) fn is_local(name: &str) -> bool {
    stages::find(name).is_some_and(|row| row.only_local)
}

/// Checks that the stages of this module are in allowed positions.
///
/// # Errors
/// Error 73 or the error of the stage for a wrong kind of source; 40600 in `$facet`; 40602 after another stage.
pub(crate) fn check(db: &str, collection: Option<&str>, pipeline: &[Value]) -> CommandResult<()> {
    // A stage with several fields is refused as a whole.
    for raw in stages::walk(collection, pipeline).filter(|raw| raw.field == 0) {
        let Some((row, stage)) = raw.row.and_then(|row| Some((row, row.of_server?))) else { continue };
        if raw.fields > 1 {
            let message = "A pipeline stage specification object must contain exactly one field.";
            return Err(CommandError::new(40323, "Location40323", message));
        }
        check_stage(db, row, answer(stage), &raw)?;
    }
    Ok(())
}

/// Returns whether the pipeline has the source that a stage demands, and the name of that source for the error.
fn fits(over: Over, db: &str, collection: Option<&str>) -> (bool, &'static str) {
    let no_collection = collection.is_none();
    match over {
        Over::Collection => (!no_collection, "a collection"),
        Over::Database | Over::OwnDocuments => (no_collection, "a database, as {aggregate: 1}"),
        Over::Admin => (no_collection && db == "admin", "the database admin, as {aggregate: 1}"),
        Over::Sessions => {
            (db == "config" && collection == Some("system.sessions"), "the collection config.system.sessions")
        }
        Over::Anything => (true, "anything"),
    }
}

fn check_stage(db: &str, row: &StageRow, answer: Answer, raw: &RawStage<'_>) -> CommandResult<()> {
    let name = row.name;
    let (fits, target) = fits(row.over, db, raw.nearest_collection);
    if !fits && (!raw.in_facet || answer.checks_place_first) {
        let (code, code_name) = answer.misplaced;
        return Err(CommandError::new(code, code_name, format!("{name} must be run against {target}")));
    }
    if raw.in_facet {
        let message = format!("{name} is not allowed to be used within a $facet stage");
        return Err(CommandError::new(40600, "Location40600", message));
    }
    if raw.at > 0 {
        let message = format!("{name} is only valid as the first stage in a pipeline");
        return Err(CommandError::new(40602, "Location40602", message));
    }
    Ok(())
}

/// The reply to a pipeline that begins with a stage of this module; `None` for any other pipeline.
///
/// # Errors
/// Errors of the stages.
pub(crate) fn run(call: &Call<'_>) -> CommandResult<Option<BsonBuilder>> {
    let pipeline = call.body.elements("pipeline").unwrap_or_default();
    let Some((name, operand)) = pipeline.first().and_then(stages::parts) else { return Ok(None) };
    let Some(stage) = stages::find(name).and_then(|row| row.of_server) else { return Ok(None) };
    let Some(documents) = answer(stage).documents else { return change_streams::run(call).map(Some) };
    let mut all = vec![listing::stage(documents(call, operand)?)];
    all.extend(pipeline.iter().skip(1).cloned());
    let collection = call.argument().as_str();
    let namespace = format!("{}.{}", call.db, collection.unwrap_or("$cmd.aggregate"));
    let cursor = call.collection_called("list").aggregate(Value::Array(all)).run()?;
    let size = call.body.document("cursor").map_or(Ok(None), |cursor| cursor.count("batchSize"))?;
    let batch = FirstBatch { size: size.unwrap_or(FIRST_BATCH), ..FirstBatch::of(cursor, namespace) };
    batch.reply(call).map(Some)
}

/// The options of a stage; their types have been checked.
fn options<'a>(
    name: &str,
    operand: &'a Value,
    known: &[Field],
    no_object: (i32, &'static str),
) -> CommandResult<&'a Map> {
    let (code, code_name) = no_object;
    let Some(options) = operand.as_map() else {
        let message = format!("{name} options must be specified in an object, but found: {}", operand.type_name());
        return Err(CommandError::new(code, code_name, message));
    };
    fields::refuse_unknown(name, known, options.entries.iter().map(|(name, _)| name))?;
    fields::check(name, known, options)?;
    Ok(options)
}

#[cfg(test)]
mod tests;
