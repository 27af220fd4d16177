//! `explain`: the plan of another command, and the cost of its execution.

use super::{Command, Levels, pipeline, plan_cache};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::listing;
use crate::query_shape;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::needs::{self, Needs, Subject};
use crate::security::privilege::Need;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[required("explain", Kind::Document), optional("verbosity", Kind::Text)],
    access: Access::ByFields(needs_of_explained),
    levels: Levels::Any,
    ..Command::reading("explain", run).stable().strict()
};

/// The privileges that the explained command needs.
fn needs_of_explained<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let inner = subject.body.document("explain");
    let name = inner.and_then(|inner| inner.entries.first()).and_then(|(name, _)| name.as_str());
    let (Some(body), Some(name)) = (inner, name) else {
        return Ok(vec![Need::database(subject.db, Action::Find)]);
    };
    let subject = Subject { body, sequences: &[], ..*subject };
    match super::find(name).filter(|command| command.explain.is_some()) {
        Some(command) => command.access.needs(&subject),
        // Other commands cannot be explained.
        None => Ok(vec![needs::on_argument(&subject, Action::Find)]),
    }
}

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let explained = call.body.document("explain").cloned().unwrap_or_default();
    let verbosity = call.body.text("verbosity").unwrap_or("allPlansExecution");
    if !["queryPlanner", "executionStats", "allPlansExecution"].contains(&verbosity) {
        let message = format!("Enumeration value '{verbosity}' for field 'explain.verbosity' is not a valid value.");
        return Err(CommandError::bad_value(message));
    }
    let (name, argument) = match explained.entries.first() {
        Some((name, argument)) => (name.as_str().unwrap_or_default(), argument),
        None => return Err(CommandError::command_not_found("explain failed: it names no command")),
    };
    let collection = match argument {
        Value::String(name) => name.to_string(),
        other => pipeline::collection(other)?.to_owned(),
    };
    let command = super::find(name);
    match command.and_then(|command| Some((command, command.explain?))) {
        Some((command, explain)) => {
            let fields = explain(call, &collection, &explained)?;
            reply(call, command, fields, &collection, &explained, verbosity)
        }
        None => Err(not_explained(name, command)),
    }
}

/// The error for a command that has no plan.
fn not_explained(name: &str, command: Option<&Command>) -> CommandError {
    match command {
        Some(command) => CommandError::illegal_operation(format!("the command {} has no plan", command.name)),
        None => CommandError::command_not_found(format!("Explain failed due to unknown command: {name}")),
    }
}

/// Puts the stage that writes above the plan of the query that finds the documents to write.
pub(super) fn with_write(mut fields: Map, stage: &str, count: &str) -> Map {
    for (part, plan) in [("queryPlanner", "winningPlan"), ("executionStats", "executionStages")] {
        let Some(Value::Map(part)) = fields.get_mut(part) else { continue };
        let Some(query) = part.remove(plan) else { continue };
        let mut write = Map::from([("stage", Value::from(stage))]);
        if plan == "executionStages" {
            let found = query.as_map().and_then(|query| query.integer("nReturned")).unwrap_or(0);
            write.push("nReturned", 0_i64);
            if stage == "UPDATE" {
                write.push("nMatched", found);
            }
            write.push(count, found);
        }
        write.push("inputStage", query);
        part.push(plan, write);
    }
    fields
}

/// The statement of an explained write, which has to be the only one.
pub(super) fn only_statement<'a>(explained: &'a Map, field: &str) -> CommandResult<&'a Map> {
    match explained.elements(field) {
        Some([Value::Map(statement)]) => Ok(statement),
        _ => Err(CommandError::invalid_options("explained write batches must be of size 1")),
    }
}

/// The reply with an explanation of a command.
pub(super) fn reply(
    call: &Call<'_>,
    command: &Command,
    mut fields: Map,
    collection: &str,
    explained: &Map,
    verbosity: &str,
) -> CommandResult<BsonBuilder> {
    match fields.get_mut("executionStats") {
        Some(_) if verbosity == "queryPlanner" => drop(fields.remove("executionStats")),
        Some(stats) => shorten(stats),
        None => {}
    }
    fields.insert("explainVersion", "1");
    add_shapes(call, command, collection, explained, &mut fields)?;
    add_common(call, explained, &mut fields);
    call.answer(&fields)
}

/// Shortens counts to 32 bits if they fit, as in MongoDB.
fn shorten(value: &mut Value) {
    match value {
        Value::Map(map) => map.entries.iter_mut().for_each(|(_, value)| shorten(value)),
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Int64(number) => {
            if let Ok(short) = i32::try_from(*number) {
                *value = Value::Int32(short);
            }
        }
        _ => {}
    }
}

/// Adds the hashes of the shapes of the query and of its plan.
fn add_shapes(
    call: &Call<'_>,
    command: &Command,
    collection: &str,
    explained: &Map,
    fields: &mut Map,
) -> CommandResult<()> {
    let place = command.query;
    let planner = match fields.get_mut("stages") {
        Some(Value::Array(stages)) => stages.first_mut().and_then(|first| match first {
            Value::Map(first) => first.get_mut("$cursor"),
            _ => None,
        }),
        _ => None,
    };
    let planner = match planner {
        Some(Value::Map(cursor)) => cursor.get_mut("queryPlanner"),
        _ => fields.get_mut("queryPlanner"),
    };
    if let Some(Value::Map(planner)) = planner {
        let indexes = call.collection_called(collection).indexes().unwrap_or_default();
        let indexes: Vec<Map> = indexes.into_iter().map(|index| listing::definition(index.definition)).collect();
        planner.push("indexFilterSet", plan_cache::is_filtered(call, collection, place, explained));
        let shape = query_shape::of_plan(place, explained);
        planner.push("queryHash", shape.as_str());
        planner.push("planCacheShapeHash", shape);
        planner.push("planCacheKey", query_shape::of_plan_and_indexes(place, explained, &indexes));
    }
    if let Some(shape) = query_shape::of_query(&call.db, command.name, place, explained) {
        fields.push("queryShapeHash", shape);
    }
    Ok(())
}

fn add_common(call: &Call<'_>, command: &Map, fields: &mut Map) {
    fields.push("command", Value::Map(command.clone()));
    let info = super::build_info::server_info(call);
    fields.push("serverInfo", Value::Map(info));
    let memory = i64::try_from(call.shared.db.stats().memory_budget_bytes).unwrap_or(i64::MAX);
    fields.push("serverParameters", Map::from([("memoryBudgetBytes", Value::Int64(memory))]));
}
