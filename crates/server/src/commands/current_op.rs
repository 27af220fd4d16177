//! `currentOp`, `killOp`: the operations that run.

use super::Command;
use crate::access::{Access, Action};
use crate::batch::FirstBatch;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::listing;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["currentop"],
    fields: &[optional("$ownOps", Kind::Flag), optional("$all", Kind::Flag)],
    access: Access::Server(Action::Inprog),
    admin_only: true,
    ..Command::reading("currentOp", run)
};

pub(super) const KILL: Command = Command {
    fields: &[required("op", Kind::Integer)],
    access: Access::Server(Action::KillOp),
    admin_only: true,
    ..Command::reading("killOp", kill)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut filter = call.body.clone();
    let own =
        ["currentOp", "currentop", "$ownOps", "$all", "$db", "lsid", "$readPreference", "$clusterTime", "comment"];
    filter.entries.retain(|(name, _)| name.as_str().is_some_and(|name| !own.contains(&name)));
    let running = listing::filtered(call, list(call), Some(&filter))?;
    call.answer(&Map::from([("inprog", Value::Array(running.into_iter().map(Value::Map).collect()))]))
}

/// A pipeline that begins with `$currentOp`.
pub(super) fn pipeline(call: &Call<'_>) -> CommandResult<BsonBuilder> {
    if call.db != "admin" || call.argument().as_str().is_some() {
        let message = "$currentOp must be run against the 'admin' database with {aggregate: 1}";
        return Err(CommandError::invalid_namespace(message));
    }
    let mut stages = vec![listing::stage(list(call))];
    stages.extend(call.body.elements("pipeline").unwrap_or_default().iter().skip(1).cloned());
    let cursor = call.collection_called("list").aggregate(Value::Array(stages)).run()?;
    FirstBatch::of(cursor, "admin.$cmd.aggregate".to_owned()).reply(call)
}

fn list(call: &Call<'_>) -> Vec<Map> {
    let now = call.shared.env.clock.now();
    let operations = call.shared.operations.list().into_iter();
    operations
        .map(|(number, operation)| {
            let time = now.saturating_sub(operation.began);
            let argument = operation.namespace.split_once('.').map(|(_, collection)| Value::from(collection));
            let mut command = Map::from([(operation.command, argument.unwrap_or(Value::Int32(1)))]);
            if let Some(comment) = operation.comment {
                command.push("comment", comment);
            }
            Map::from([
                ("type", Value::from("op")),
                ("host", Value::from(call.shared.address.as_str())),
                ("desc", Value::from(format!("conn{}", operation.connection))),
                ("connectionId", Value::Int32(operation.connection)),
                ("client", Value::from(operation.client)),
                ("active", Value::Bool(true)),
                ("opid", Value::Int32(number)),
                ("secs_running", Value::Int64(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))),
                ("microsecs_running", Value::Int64(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))),
                ("op", Value::from(if operation.command == "getMore" { "getmore" } else { "command" })),
                ("ns", Value::from(operation.namespace)),
                ("command", Value::Map(command)),
            ])
        })
        .collect()
}

fn kill(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let number = call.body.integer("op").and_then(|number| i32::try_from(number).ok());
    call.shared.operations.kill(number.unwrap_or(0));
    call.answer(&Map::from([("info", Value::from("attempting to kill op"))]))
}
