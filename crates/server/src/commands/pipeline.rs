//! The pipelines of `aggregate` and of its explanation.

use super::plan_cache::{Choice, choice_of_pipeline};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::oplog_view;
use crate::read;
use alluvium::{Aggregate, Map, Value};
use alluvium_query::pipeline::stages::{self, Over};
use std::sync::Arc;

/// The namespace of a pipeline that runs on a database. Such a pipeline begins with a stage that makes documents.
const NO_COLLECTION: &str = "aggregate";

/// The collection that a pipeline reads.
pub(super) fn collection(argument: &Value) -> CommandResult<&str> {
    match argument {
        Value::String(name) => Ok(name),
        number if number.as_f64() == Some(1.0) => Ok(NO_COLLECTION),
        _ => {
            let message = "Invalid command format: the 'aggregate' field must specify a collection name or 1";
            Err(CommandError::bad_value(message))
        }
    }
}

/// Checks that the first stage of a pipeline is allowed on its target, which is a collection or a database.
///
/// # Errors
/// Error 73.
pub(super) fn check_target(collection: Option<&str>, stages: &[Value]) -> CommandResult<()> {
    if collection.is_none() && stages.is_empty() {
        let message = "{aggregate: 1} is not valid for an empty pipeline.";
        return Err(CommandError::invalid_namespace(message));
    }
    let Some(first) = stages::first(stages) else { return Ok(()) };
    let name = first.name;
    match (collection, first.over) {
        (None, Over::Collection) => {
            let message = format!("{{aggregate: 1}} is not valid for '{name}'; a collection is required.");
            Err(CommandError::invalid_namespace(message))
        }
        (Some(collection), Over::OwnDocuments) => {
            let message = format!("'{name}' can only be run with {{aggregate: 1}}, and not over '{collection}'");
            Err(CommandError::invalid_namespace(message))
        }
        // `server_stages` checks the stages that report about the server.
        _ => Ok(()),
    }
}

/// The pipeline of the command, or of an `aggregate` that is explained.
pub(super) fn pipeline(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Aggregate> {
    let stages = Value::Array(body.elements("pipeline").unwrap_or_default().to_vec());
    let mut aggregate = oplog_view::aggregate(call, &call.collection_called(collection), collection, stages);
    if let Some(collation) = read::collation(body) {
        aggregate = aggregate.collation(collation);
    }
    if let Some(variables) = body.document("let") {
        aggregate = aggregate.variables(variables);
    }
    if let Some(snapshot) = call.snapshot() {
        aggregate = aggregate.at(snapshot);
    }
    aggregate = match choice_of_pipeline(call, collection, body)? {
        Choice::Any => aggregate,
        Choice::Hint(hint) => aggregate.hint(hint),
        Choice::Only(names) => aggregate.only_indexes(names),
    };
    if body.get("allowDiskUse").is_some() {
        aggregate = aggregate.allow_disk_use(body.flag("allowDiskUse"));
    }
    Ok(aggregate.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}
