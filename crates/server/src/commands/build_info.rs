//! `buildInfo`: the version of the server.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::security::access::Access;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const VERSION: &str = crate::config::MONGODB_VERSION;

pub(super) const COMMAND: Command =
    Command { aliases: &["buildinfo"], access: Access::Open, ..Command::reading("buildInfo", run).control().strict() };

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let numbers = VERSION.split('.').filter_map(|part| part.parse::<i32>().ok());
    let version_array: Vec<Value> = numbers.chain([0]).map(Value::Int32).collect();
    call.answer(&Map::from([
        ("version", Value::from(VERSION)),
        ("gitVersion", Value::from(env!("CARGO_PKG_VERSION"))),
        ("modules", Value::Array(Vec::new())),
        ("allocator", Value::from("system")),
        ("javascriptEngine", Value::from("none")),
        ("sysInfo", Value::from("deprecated")),
        ("versionArray", Value::Array(version_array)),
        ("openssl", Value::Map(Map::from([("running", Value::from("disabled"))]))),
        ("bits", Value::Int32(64)),
        ("debug", Value::Bool(cfg!(debug_assertions))),
        ("maxBsonObjectSize", Value::Int32(16 << 20)),
        ("storageEngines", Value::Array(vec![Value::from("alluvium")])),
        ("alluvium", Value::Map(Map::from([("version", Value::from(env!("CARGO_PKG_VERSION")))]))),
    ]))
}

/// The description of the server in explanations.
pub(super) fn server_info(call: &Call<'_>) -> Map {
    let address = call.host();
    let (host, port) = address.parts();
    Map::from([
        ("host", Value::from(host)),
        ("port", Value::Int32(port.into())),
        ("version", Value::from(VERSION)),
        ("gitVersion", Value::from(env!("CARGO_PKG_VERSION"))),
    ])
}
