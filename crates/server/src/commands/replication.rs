//! `replSetGetStatus`, `replSetGetConfig`, `replSetInitiate`: a replica set of one member.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::shared::Shared;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

const fn command(name: &'static str, access: Access, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Command {
    Command { access, admin_only: true, ..Command::reading(name, run) }
}

pub(super) const STATUS: Command =
    command("replSetGetStatus", Access::Server(Action::ReplSetGetStatus), status).control();
pub(super) const CONFIG: Command =
    command("replSetGetConfig", Access::Server(Action::ReplSetGetConfig), config).control();
pub(super) const INITIATE: Command =
    command("replSetInitiate", Access::Server(Action::ReplSetConfigure), initiate).audited();

/// The name of the replica set.
pub(super) fn set(shared: &Shared) -> CommandResult<&str> {
    let alone = || CommandError::no_replication("not running with --replica-set");
    shared.config.replica_set.as_deref().ok_or_else(alone)
}

fn status(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let shared = call.shared;
    let set = set(shared)?;
    let uptime = shared.env.clock.now().saturating_sub(shared.started).as_secs();
    let now = Value::DateTime(shared.env.clock.unix_millis());
    let optime = Map::from([("ts", Value::Timestamp(shared.time())), ("t", Value::Int64(1))]);
    let member = Map::from([
        ("_id", Value::Int32(0)),
        ("name", Value::from(shared.address.as_str())),
        ("health", Value::from(1.0)),
        ("state", Value::Int32(1)),
        ("stateStr", Value::from("PRIMARY")),
        ("uptime", Value::Int64(uptime.cast_signed())),
        ("optime", Value::Map(optime.clone())),
        ("optimeDate", now.clone()),
        ("configVersion", Value::Int32(1)),
        ("configTerm", Value::Int32(1)),
        ("self", Value::Bool(true)),
    ]);
    call.answer(&Map::from([
        ("set", Value::from(set)),
        ("date", now),
        ("myState", Value::Int32(1)),
        ("term", Value::Int64(1)),
        ("heartbeatIntervalMillis", Value::Int64(2000)),
        ("majorityVoteCount", Value::Int32(1)),
        ("writeMajorityCount", Value::Int32(1)),
        ("votingMembersCount", Value::Int32(1)),
        ("writableVotingMembersCount", Value::Int32(1)),
        ("optimes", Value::Map(Map::from([("lastCommittedOpTime", Value::Map(optime))]))),
        ("members", Value::Array(vec![Value::Map(member)])),
    ]))
}

fn config(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let set = set(call.shared)?;
    let member = Map::from([
        ("_id", Value::Int32(0)),
        ("host", Value::from(call.shared.address.as_str())),
        ("arbiterOnly", Value::Bool(false)),
        ("buildIndexes", Value::Bool(true)),
        ("hidden", Value::Bool(false)),
        ("priority", Value::from(1.0)),
        ("tags", Value::Map(Map::new())),
        ("votes", Value::Int32(1)),
    ]);
    let config = Map::from([
        ("_id", Value::from(set)),
        ("version", Value::Int32(1)),
        ("term", Value::Int64(1)),
        ("members", Value::Array(vec![Value::Map(member)])),
        ("protocolVersion", Value::Int64(1)),
        ("writeConcernMajorityJournalDefault", Value::Bool(true)),
    ]);
    call.answer(&Map::from([("config", Value::Map(config))]))
}

/// The set exists from the start: a configuration that names it, and no more than one member, is accepted as done.
fn initiate(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = set(call.shared)?;
    let Some(config) = call.argument().as_map() else { return Ok(call.reply()) };
    let invalid = |message: String| Err(CommandError::new(93, "InvalidReplicaSetConfig", message));
    if let Some(given) = config.text("_id").filter(|given| *given != name) {
        return invalid(format!("the configuration names the set '{given}', and the server was started with '{name}'"));
    }
    match config.elements("members").unwrap_or_default() {
        [] | [_] => Ok(call.reply()),
        members => invalid(format!("the set has one member, this server; the configuration has {}", members.len())),
    }
}
