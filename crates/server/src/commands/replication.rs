//! `replSetGetStatus`, `replSetGetConfig`, `replSetInitiate`, `replSetReconfig`: the configuration of a replica set of one
//! member.

use super::{Command, Writes};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::host::Host;
use crate::replica_set::{Present, Stored};
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

pub(super) const INITIATE: Command = Command {
    writes: Writes::Always,
    ..command("replSetInitiate", Access::Server(Action::ReplSetConfigure), initiate).audited()
};

pub(super) const RECONFIG: Command = Command {
    fields: &[
        required("replSetReconfig", Kind::Document),
        optional("force", Kind::Flag),
        optional("maxTimeMS", Kind::Number),
    ],
    writes: Writes::Always,
    ..command("replSetReconfig", Access::Server(Action::ReplSetConfigure), reconfig).audited()
};

/// The replica set of the server.
///
/// # Errors
/// Error 76 for a standalone server.
pub(super) fn set(shared: &Shared) -> CommandResult<Present> {
    shared.replica_set.require()
}

fn status(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let shared = call.shared;
    let set = set(shared)?.config;
    let uptime = shared.env.clock.now().saturating_sub(shared.started).as_secs();
    let now = Value::DateTime(shared.env.clock.unix_millis());
    let optime = Map::from([("ts", Value::Timestamp(shared.time())), ("t", Value::Int64(1))]);
    let member = Map::from([
        ("_id", Value::Int32(0)),
        ("name", Value::from(call.host().as_str())),
        ("health", Value::from(1.0)),
        ("state", Value::Int32(1)),
        ("stateStr", Value::from("PRIMARY")),
        ("uptime", Value::Int64(uptime.cast_signed())),
        ("optime", Value::Map(optime.clone())),
        ("optimeDate", now.clone()),
        ("configVersion", Value::Int32(set.version)),
        ("configTerm", Value::Int32(1)),
        ("self", Value::Bool(true)),
    ]);
    call.answer(&Map::from([
        ("set", Value::from(set.name)),
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
    let set = set(call.shared)?.config;
    let member = Map::from([
        ("_id", Value::Int32(0)),
        ("host", Value::from(call.host().as_str())),
        ("arbiterOnly", Value::Bool(false)),
        ("buildIndexes", Value::Bool(true)),
        ("hidden", Value::Bool(false)),
        ("priority", Value::from(1.0)),
        ("tags", Value::Map(Map::new())),
        ("votes", Value::Int32(1)),
    ]);
    let config = Map::from([
        ("_id", Value::from(set.name)),
        ("version", Value::Int32(set.version)),
        ("term", Value::Int64(1)),
        ("members", Value::Array(vec![Value::Map(member)])),
        ("protocolVersion", Value::Int64(1)),
        ("writeConcernMajorityJournalDefault", Value::Bool(true)),
    ]);
    call.answer(&Map::from([("config", Value::Map(config))]))
}

fn invalid(message: String) -> CommandError {
    CommandError::new(93, "InvalidReplicaSetConfig", message)
}

fn incompatible(message: String) -> CommandError {
    CommandError::new(103, "NewReplicaSetConfigurationIncompatible", message)
}

/// Checks the options of a member. The only member of a set must have the default values.
fn check_member(member: &Map) -> CommandResult<()> {
    for (option, is_refused) in [
        ("arbiterOnly", member.flag("arbiterOnly")),
        ("hidden", member.flag("hidden")),
        ("priority", member.get("priority").is_some_and(|priority| priority.as_f64().is_none_or(|n| n <= 0.0))),
        ("votes", member.get("votes").is_some_and(|votes| votes.as_f64() != Some(1.0))),
        ("secondaryDelaySecs", member.get("secondaryDelaySecs").is_some_and(|delay| delay.as_f64() != Some(0.0))),
        ("tags", member.document("tags").is_some_and(|tags| !tags.is_empty())),
        ("horizons", member.contains("horizons")),
    ] {
        if is_refused {
            return Err(invalid(format!("members[0].{option} is not supported for the only member of a set")));
        }
    }
    Ok(())
}

/// The address of the only member of a configuration.
///
/// # Errors
/// Error 93 for a member that is not valid; the error that `others` returns if the set does not have exactly one
/// member.
fn host(config: &Map, others: impl Fn(String) -> CommandError) -> CommandResult<Host> {
    let members = config.elements("members").unwrap_or_default();
    let names = |members: &[Value]| {
        let hosts = members.iter().map(|member| member.as_map().and_then(|map| map.text("host")).unwrap_or("no host"));
        hosts.collect::<Vec<_>>().join(", ")
    };
    let [member] = members else {
        let (count, names) = (members.len(), names(members));
        return Err(others(format!("the set has one member, this server; the configuration has {count}: {names}")));
    };
    let member = member.as_map().ok_or_else(|| invalid("members[0] is not a document".to_owned()))?;
    check_member(member)?;
    let host = member.text("host").ok_or_else(|| invalid("members[0].host is missing: write HOST:PORT".to_owned()))?;
    host.parse().map_err(|error| invalid(format!("members[0].host: {error}")))
}

/// The name of the set in a configuration.
fn name(config: &Map) -> CommandResult<&str> {
    let name = config.text("_id").filter(|name| !name.is_empty() && !name.contains('\0'));
    name.ok_or_else(|| invalid("_id has to be the name of the set".to_owned()))
}

/// Names the replica set, which exists from the start, and sets the address that clients are given.
fn initiate(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let given = call.argument().as_map().filter(|config| !config.is_empty());
    call.shared.replica_set.change(|present| {
        if present.is_initiated {
            return Err(CommandError::new(23, "AlreadyInitialized", "already initialized"));
        }
        let Some(config) = given else {
            return Ok(Stored { name: present.config.name.clone(), version: 1, host: None });
        };
        let (name, host) = (name(config)?, host(config, invalid)?);
        if present.fixed_name && name != present.config.name {
            let own = &present.config.name;
            return Err(invalid(format!(
                "the configuration names the set '{name}', and the server was started with '{own}'"
            )));
        }
        check_host(present, &host, invalid)?;
        if config.contains("version") && config.integer("version") != Some(1) {
            let message = "the configuration that a set is initiated with has the version 1";
            return Err(invalid(message.to_owned()));
        }
        Ok(Stored { name: name.to_owned(), version: 1, host: Some(host) })
    })?;
    Ok(call.reply())
}

/// Checks that the address does not differ from an address in the server's settings, which is fixed.
fn check_host(present: &Present, host: &Host, error: fn(String) -> CommandError) -> CommandResult<()> {
    match &present.fixed_host {
        Some(fixed) if fixed != host => {
            Err(error(format!("members[0].host is {host}, and the server was started with the address {fixed}")))
        }
        _ => Ok(()),
    }
}

/// Changes the address that clients are given.
fn reconfig(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let empty = Map::new();
    let config = call.argument().as_map().unwrap_or(&empty);
    let force = call.body.flag("force");
    let reached = &call.client.peer.reached;
    call.shared.replica_set.change(|present| {
        let own = &present.config;
        if name(config)? != own.name {
            return Err(incompatible(format!("the name of the set, '{}', cannot be changed", own.name)));
        }
        let host = host(config, incompatible)?;
        check_host(present, &host, incompatible)?;
        let next = own.version.checked_add(1).ok_or_else(|| incompatible("the version is the last one".to_owned()))?;
        let version = match config.get("version") {
            Some(_) => config.integer("version").and_then(|version| i32::try_from(version).ok()).unwrap_or(0),
            None => next,
        };
        if version < next && !force {
            return Err(incompatible(format!(
                "the version has to be higher than {}, that of the present configuration",
                own.version
            )));
        }
        // Clients often read the configuration and send it again with a new version. If no address was stored, an
        // address that this client only used to connect is not stored for all clients.
        let host = if own.host.is_none() && host == *reached { None } else { Some(host) };
        Ok(Stored { name: own.name.clone(), version: version.max(next), host })
    })?;
    Ok(call.reply())
}
