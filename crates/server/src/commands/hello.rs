//! `hello`: what clients ask first, and again every ten seconds.

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

/// The newest version of the protocol that is spoken: that of MongoDB 8.0.
pub(super) const WIRE_VERSION_MAX: i32 = 25;

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
    add_replica_set(shared, &mut fields);
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
    let known = asked.filter_map(Value::as_str).filter(|name| Compressor::by_name(name).is_some());
    let compression: Vec<Value> = known.map(Value::from).collect();
    if !compression.is_empty() {
        fields.push("compression", Value::Array(compression));
    }
    fields.push("topologyVersion", topology_version(shared));
    super::login::add_to_hello(call, &mut fields)?;
    call.answer(&fields)
}

/// The version of the answer, which never changes while the server runs.
fn topology_version(shared: &Shared) -> Map {
    Map::from([("processId", Value::ObjectId(shared.election_id)), ("counter", Value::Int64(0))])
}

/// How long a client wants to wait for another answer than the one that it knows; `None` if it wants an answer now.
fn waits(shared: &Shared, body: &Map) -> Option<Duration> {
    let known = body.document("topologyVersion")?;
    if known.get("processId") != Some(&Value::ObjectId(shared.election_id)) {
        return None;
    }
    let millis = u64::try_from(body.integer("maxAwaitTimeMS")?).ok()?;
    Some(Duration::from_millis(millis))
}

/// The time that a `hello` waits, since its answer never changes.
fn wait(shared: &Shared, body: &Map) -> Duration {
    waits(shared, body).unwrap_or_default()
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The fields of the only member of a replica set.
fn add_replica_set(shared: &Shared, fields: &mut Map) {
    let Some(name) = &shared.config.replica_set else { return };
    let address = shared.address.as_str();
    fields.push("secondary", false);
    fields.push("setName", name.as_str());
    fields.push("setVersion", 1);
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
