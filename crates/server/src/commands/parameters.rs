//! `getParameter`, `setParameter`, `getCmdLineOpts`.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{COMMON, Fields, Kind, required};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const GET: Command = Command {
    fields: &[required("getParameter", Kind::Any)],
    access: Access::Server(Action::GetParameter),
    admin_only: true,
    ..Command::reading("getParameter", get)
};

pub(super) const SET: Command =
    Command { access: Access::Server(Action::SetParameter), admin_only: true, ..Command::reading("setParameter", set) };

pub(super) const COMMAND_LINE: Command = Command {
    access: Access::Server(Action::GetCmdLineOpts),
    admin_only: true,
    ..Command::reading("getCmdLineOpts", command_line)
};

/// The parameters that clients read.
fn known(call: &Call<'_>) -> Map {
    let version = Map::from([("version", Value::from("8.0"))]);
    let mechanisms = vec![Value::from("SCRAM-SHA-1"), Value::from("SCRAM-SHA-256")];
    Map::from([
        ("featureCompatibilityVersion", Value::Map(version)),
        ("authenticationMechanisms", Value::Array(mechanisms)),
        ("enableTestCommands", Value::Bool(call.shared.config.test_commands)),
        ("requireApiVersion", Value::Bool(false)),
        ("quiet", Value::Bool(false)),
        ("cursorTimeoutMillis", Value::Int64(600_000)),
        ("localLogicalSessionTimeoutMinutes", Value::Int32(30)),
        ("transactionLifetimeLimitSeconds", Value::Int32(60)),
    ])
}

/// The parameters that a command names.
fn named(call: &Call<'_>) -> Vec<(String, Value)> {
    let others = call.body.entries.iter().skip(1);
    let is_common = |name: &str| COMMON.iter().any(|field| field.name == name);
    others
        .filter_map(|(name, value)| Some((name.as_str()?, value)))
        .filter(|(name, _)| !is_common(name) && *name != "allParameters")
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

fn get(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let known = known(call);
    let all = match call.argument() {
        Value::String(all) => &**all == "*",
        Value::Map(options) => options.flag("allParameters"),
        _ => false,
    };
    if all {
        return call.answer(&known);
    }
    let named = named(call);
    let found = Map {
        entries: named
            .iter()
            .filter_map(|(name, _)| Some((Value::from(name.as_str()), known.get(name)?.clone())))
            .collect(),
    };
    match found.is_empty() {
        true => Err(CommandError::invalid_options("no option found to get")),
        false => call.answer(&found),
    }
}

/// Parameters cannot be changed; setting the present value is no error.
fn set(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let known = known(call);
    match named(call).into_iter().find(|(name, value)| known.get(name) != Some(value)) {
        None => Ok(call.reply()),
        Some((name, _)) if known.contains(&name) => {
            let message = format!("the parameter {name} cannot be changed: it is an argument of the program");
            Err(CommandError::illegal_operation(message))
        }
        Some((name, _)) => {
            let message = format!("attempted to set unrecognized parameter [{name}], use help:true to see options");
            Err(CommandError::invalid_options(message))
        }
    }
}

fn command_line(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut parsed = Map::new();
    if let Some(name) = &call.shared.config.replica_set {
        parsed.push("replication", Map::from([("replSet", Value::from(name.as_str()))]));
    }
    let path = call.shared.db.path().display().to_string();
    parsed.push("storage", Map::from([("dbPath", Value::from(path))]));
    call.answer(&Map::from([("argv", Value::Array(vec![Value::from("alluvium")])), ("parsed", Value::Map(parsed))]))
}
