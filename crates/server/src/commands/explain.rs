//! `explain`: the plan of another command, and the cost of its execution.

use super::{Command, count, delete, distinct, find, find_and_modify, pipeline, update};
use crate::access::Access;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use alluvium::{Explanation, Map, Value};
use alluvium_document::BsonBuilder;

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
        "aggregate" => return aggregate(call, &collection, &explained),
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

/// The explanation of a pipeline.
pub(super) fn aggregate(call: &Call<'_>, collection: &str, command: &Map) -> CommandResult<BsonBuilder> {
    let mut fields = pipeline::pipeline(call, collection, command)?.explain()?.to_map();
    fields.insert("explainVersion", "1");
    add_common(call, command, &mut fields);
    call.answer(&fields)
}

fn add_common(call: &Call<'_>, command: &Map, fields: &mut Map) {
    fields.push("command", Value::Map(command.clone()));
    let info = super::build_info::server_info(call.shared);
    fields.push("serverInfo", Value::Map(info));
}
