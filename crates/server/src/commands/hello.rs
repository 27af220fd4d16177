//! `hello`: the first request of every client, which clients repeat every ten seconds.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional};
use crate::security::access::Access;
use crate::shared::Shared;
use crate::writes::STATEMENTS_MAX;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_wire::MAX_MESSAGE_BYTES;
use alluvium_wire::compression::Compressor;
use std::time::Duration;

/// The newest supported version of the wire protocol, which is the version of MongoDB 8.2.
pub(super) const WIRE_VERSION_MAX: i32 = 27;

const FIELDS: &[crate::fields::Field] = &[
    optional("helloOk", Kind::Flag),
    optional("client", Kind::Document),
    optional("compression", Kind::Array),
    optional("saslSupportedMechs", Kind::Any),
    optional("speculativeAuthenticate", Kind::Document).secret(),
    optional("topologyVersion", Kind::Document),
    optional("maxAwaitTimeMS", Kind::Integer),
    optional("loadBalanced", Kind::Flag),
    optional("backpressure", Kind::Any),
];

pub(super) const COMMAND: Command = Command {
    fields: FIELDS,
    access: Access::Open,
    wait,
    ..Command::reading("hello", |call| run(call, false)).stable().control()
};

pub(super) const LEGACY: Command = Command {
    fields: FIELDS,
    aliases: &["ismaster"],
    access: Access::Open,
    wait,
    ..Command::reading("isMaster", |call| run(call, true)).control()
};

fn run(call: &mut Call<'_>, legacy: bool) -> CommandResult<BsonBuilder> {
    let shared = call.shared;
    if let Some(metadata) = call.body.document("client") {
        *call.client.metadata.lock() = Some(metadata.clone());
    }
    call.has_more.set(call.exhaust_allowed && waits(call.shared, &call.body).is_some());
    let mut fields = Map::new();
    if call.body.flag("helloOk") {
        fields.push("helloOk", true);
    }
    fields.push(if legacy { "ismaster" } else { "isWritablePrimary" }, !shared.db.is_read_only());
    add_replica_set(call, &mut fields);
    fields.push("maxBsonObjectSize", 16 << 20);
    fields.push("maxMessageSizeBytes", int(MAX_MESSAGE_BYTES));
    fields.push("maxWriteBatchSize", int(STATEMENTS_MAX));
    fields.push("localTime", Value::DateTime(shared.env.clock.unix_millis()));
    fields.push("logicalSessionTimeoutMinutes", 30);
    fields.push("connectionId", call.client.id);
    fields.push("minWireVersion", 0);
    fields.push("maxWireVersion", WIRE_VERSION_MAX);
    fields.push("readOnly", shared.db.is_read_only());
    let asked = call.body.elements("compression").unwrap_or_default().iter();
    let offered = &shared.config.compressors;
    let known = asked.filter_map(Value::as_str);
    let known = known.filter(|name| Compressor::by_name(name).is_some_and(|compressor| offered.contains(&compressor)));
    let compression: Vec<Value> = known.map(Value::from).collect();
    if !compression.is_empty() {
        fields.push("compression", Value::Array(compression));
    }
    fields.push("topologyVersion", topology_version(shared));
    super::login::add_to_hello(call, &mut fields)?;
    call.answer(&fields)
}

/// The version of the answer. The version changes with the configuration of the replica set.
fn topology_version(shared: &Shared) -> Map {
    let counter = Value::Int64(shared.replica_set.changes());
    Map::from([("processId", Value::ObjectId(shared.election_id)), ("counter", counter)])
}

/// The time that a client wants to wait for a changed answer; `None` if the client does not wait.
fn waits(shared: &Shared, body: &Map) -> Option<Duration> {
    let known = body.document("topologyVersion")?;
    if *known != topology_version(shared) {
        return None;
    }
    let millis = u64::try_from(body.integer("maxAwaitTimeMS")?).ok()?;
    Some(Duration::from_millis(millis))
}

/// The time that a `hello` waits before its answer is made. An earlier change does not end the wait.
fn wait(shared: &Shared, body: &Map) -> Duration {
    waits(shared, body).unwrap_or_default()
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Adds the replica set fields, for a set of one member.
fn add_replica_set(call: &Call<'_>, fields: &mut Map) {
    let shared = call.shared;
    let Some(set) = shared.replica_set.present() else { return };
    let host = call.host();
    let address = host.as_str();
    fields.push("secondary", false);
    fields.push("setName", set.config.name);
    fields.push("setVersion", set.config.version);
    fields.push("hosts", Value::Array(vec![Value::from(address)]));
    fields.push("primary", address);
    fields.push("me", address);
    fields.push("electionId", Value::ObjectId(shared.election_id));
    let now = Value::DateTime(shared.env.clock.unix_millis());
    let time = shared.time();
    let op_time =
        |time: alluvium::Timestamp| Value::Map(Map::from([("ts", Value::Timestamp(time)), ("t", Value::Int64(1))]));
    fields.push(
        "lastWrite",
        Map::from([
            ("opTime", op_time(time)),
            ("lastWriteDate", now.clone()),
            ("majorityOpTime", op_time(time)),
            ("majorityWriteDate", now),
        ]),
    );
}
