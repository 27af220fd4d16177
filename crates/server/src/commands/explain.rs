//! `explain`: the plan of another command, and the cost of its execution.

use super::{Command, count, delete, distinct, find, find_and_modify, pipeline, update};
use crate::access::Access;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Fields, Kind, optional, required};
use alluvium::{Explanation, Map, Value};
use alluvium_document::BsonBuilder;
use sha2::{Digest, Sha256};

pub(super) const COMMAND: Command = Command {
    fields: &[required("explain", Kind::Document), optional("verbosity", Kind::Text)],
    access: Access::ByFields,
    ..Command::reading("explain", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let explained = call.body.document("explain").cloned().unwrap_or_default();
    let verbosity = call.body.text("verbosity").unwrap_or("allPlansExecution");
    if !["queryPlanner", "executionStats", "allPlansExecution"].contains(&verbosity) {
        let message = format!("Enumeration value '{verbosity}' for field 'explain.verbosity' is not a valid value.");
        return Err(CommandError::bad_value(message));
    }
    let (name, argument) = match explained.entries.first() {
        Some((name, argument)) => (name.as_str().unwrap_or_default(), argument),
        None => return Err(CommandError::failed_to_parse("explain command requires a nested object")),
    };
    let collection = match argument {
        Value::String(name) => name.to_string(),
        other => pipeline::collection(other)?.to_owned(),
    };
    let explanation = match name {
        "find" => find::query(call, &collection, &explained)?.explain()?,
        "count" => count::query(call, &collection, &explained)?.explain_count()?,
        "distinct" => {
            let key = explained.text("key").unwrap_or_default();
            distinct::query(call, &collection, &explained)?.explain_distinct(key)?
        }
        "aggregate" => return aggregate(call, &collection, &explained, verbosity),
        "update" => {
            let statement = only_statement(&explained, "updates")?;
            update::update(call, &call.collection_called(&collection), statement, explained.document("let"))?
                .explain()?
        }
        "delete" => {
            let statement = only_statement(&explained, "deletes")?;
            delete::delete(call, &call.collection_called(&collection), statement, explained.document("let"))?
                .explain()?
        }
        "findAndModify" | "findandmodify" => {
            find_and_modify::modification(call, &call.collection_called(&collection), &explained)?.explain()?
        }
        other => {
            let message = format!("Explain failed due to unknown command: {other}");
            return Err(CommandError::command_not_found(message));
        }
    };
    reply(call, &explanation, &explained, verbosity)
}

/// The only statement of a write that is explained.
fn only_statement<'a>(explained: &'a Map, field: &str) -> CommandResult<&'a Map> {
    match explained.elements(field) {
        Some([Value::Map(statement)]) => Ok(statement),
        _ => Err(CommandError::invalid_options("explained write batches must be of size 1")),
    }
}

fn reply(call: &Call<'_>, explanation: &Explanation, command: &Map, verbosity: &str) -> CommandResult<BsonBuilder> {
    let mut fields = explanation.to_map();
    if verbosity == "queryPlanner" {
        fields.remove("executionStats");
    }
    fields.insert("explainVersion", "1");
    add_common(call, command, &mut fields);
    call.answer(&fields)
}

/// The explanation of a pipeline. A stage that writes is not carried out.
pub(super) fn aggregate(
    call: &Call<'_>,
    collection: &str,
    command: &Map,
    verbosity: &str,
) -> CommandResult<BsonBuilder> {
    let mut reading = command.clone();
    let mut write = None;
    if super::pipeline_writes(command)
        && let Some(Value::Array(stages)) = reading.get_mut("pipeline")
    {
        write = stages.pop();
    }
    let explanation = pipeline::pipeline(call, collection, &reading)?.explain()?;
    let mut fields = match &explanation.head {
        // A query alone, as `find` is explained.
        Some(head) if explanation.stages.is_empty() && write.is_none() => head.to_map(),
        _ => explanation.to_map(),
    };
    if let (Some(write), Some(Value::Array(stages))) = (write, fields.get_mut("stages")) {
        stages.push(write);
    }
    if verbosity == "queryPlanner" {
        fields.remove("executionStats");
    }
    fields.insert("explainVersion", "1");
    fields.push("queryShapeHash", shape_hash(&call.db, command));
    add_common(call, command, &mut fields);
    call.answer(&fields)
}

/// A hash that commands have in common which differ in values only.
fn shape_hash(db: &str, command: &Map) -> String {
    let mut shape = command.clone();
    shape.entries.retain(|(name, _)| {
        name.as_str().is_some_and(|name| !fields::is_common(name) && !["cursor", "explain"].contains(&name))
    });
    let first = shape.entries.first().map(|(_, collection)| collection.to_string()).unwrap_or_default();
    let mut shape = Value::Map(shape);
    forget_values(&mut shape);
    let digest = Sha256::digest(format!("{db}.{first} {shape}"));
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Replaces the values of a command by their types; names of fields in strings stay.
fn forget_values(value: &mut Value) {
    match value {
        Value::Map(map) => map.entries.iter_mut().for_each(|(_, value)| forget_values(value)),
        Value::Array(values) => values.iter_mut().for_each(forget_values),
        Value::String(text) if text.starts_with('$') => {}
        other => *other = Value::from(other.type_name()),
    }
}

fn add_common(call: &Call<'_>, command: &Map, fields: &mut Map) {
    fields.push("command", Value::Map(command.clone()));
    let info = super::build_info::server_info(call.shared);
    fields.push("serverInfo", Value::Map(info));
    let memory = i64::try_from(call.shared.db.stats().memory_budget_bytes).unwrap_or(i64::MAX);
    fields.push("serverParameters", Map::from([("memoryBudgetBytes", Value::Int64(memory))]));
}
