//! `currentOp`, `killOp`: the operations that run.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::server_stages::operations::{self, Which};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["currentop"],
    fields: &[optional("$ownOps", Kind::Flag), optional("$all", Kind::Flag)],
    access: Access::Server(Action::Inprog),
    admin_only: true,
    ..Command::reading("currentOp", run).control()
};

pub(super) const KILL: Command = Command {
    fields: &[optional("op", Kind::Number).not_null()],
    access: Access::Server(Action::KillOp),
    admin_only: true,
    ..Command::reading("killOp", kill).audited().control()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let which = Which { idle_connections: call.body.flag("$all"), idle_sessions: true, ..Which::default() };
    let mut filter = Map::clone(&call.body);
    let own =
        ["currentOp", "currentop", "$ownOps", "$all", "$db", "lsid", "$readPreference", "$clusterTime", "comment"];
    filter.entries.retain(|(name, _)| name.as_str().is_some_and(|name| !own.contains(&name)));
    let running = listing::filtered(call, operations::list(call, which), Some(&filter))?;
    call.answer(&Map::from([("inprog", Value::Array(running.into_iter().map(Value::Map).collect()))]))
}

fn kill(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let Some(given) = call.body.get("op").filter(|op| op.is_number()) else {
        return Err(CommandError::no_such_key("Did not provide \"op\" field"));
    };
    let Some(number) = call.body.integer("op") else {
        let message = format!("invalid op: {given}, which is no number of an operation");
        return Err(CommandError::bad_value(message));
    };
    let Ok(number) = i32::try_from(number) else {
        return Err(CommandError::new(26823, "Location26823", format!("invalid op : {given}")));
    };
    call.shared.operations.kill(number);
    call.answer(&Map::from([("info", Value::from("attempting to kill op"))]))
}
