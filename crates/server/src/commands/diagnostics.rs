//! Small commands about the server: `getLog`, `hostInfo`, `whatsmyuri`, `connectionStatus`, `listCommands`, `profile`,
//! `top`.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const GET_LOG: Command = Command {
    fields: &[required("getLog", Kind::Text)],
    access: Access::Server(Action::GetLog),
    admin_only: true,
    ..Command::reading("getLog", get_log)
};

fn get_log(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    match call.argument().as_str() {
        Some("*") => {
            let names = vec![Value::from("global"), Value::from("startupWarnings")];
            call.answer(&Map::from([("names", Value::Array(names))]))
        }
        Some("global" | "startupWarnings") => {
            let fields = [("totalLinesWritten", Value::Int32(0)), ("log", Value::Array(Vec::new()))];
            call.answer(&Map::from(fields))
        }
        other => {
            let message = format!("No log named '{}'", other.unwrap_or_default());
            Err(CommandError::new(96, "OperationFailed", message))
        }
    }
}

pub(super) const HOST_INFO: Command = Command {
    aliases: &["hostinfo"],
    access: Access::Server(Action::HostInfo),
    ..Command::reading("hostInfo", host_info)
};

fn host_info(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let system = Map::from([
        ("currentTime", Value::DateTime(call.shared.env.clock.unix_millis())),
        ("hostname", Value::from(call.shared.address.as_str())),
        ("cpuAddrSize", Value::Int32(64)),
        ("memSizeMB", Value::Int64((call.shared.db.stats().memory_budget_bytes >> 20) as i64)),
        ("numCores", Value::Int32(i32::try_from(alluvium_env::thread::available_parallelism()).unwrap_or(1))),
        ("cpuArch", Value::from(std::env::consts::ARCH)),
    ]);
    let os = Map::from([("type", Value::from("Linux")), ("name", Value::from(std::env::consts::OS))]);
    call.answer(&Map::from([("system", Value::Map(system)), ("os", Value::Map(os)), ("extra", Value::Map(Map::new()))]))
}

pub(super) const WHATS_MY_URI: Command =
    Command { access: Access::Open, ..Command::reading("whatsmyuri", whats_my_uri) };

fn whats_my_uri(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.answer(&Map::from([("you", Value::from(call.client.address.as_str()))]))
}

pub(super) const LIST_COMMANDS: Command =
    Command { access: Access::Open, ..Command::reading("listCommands", list_commands) };

fn list_commands(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let each = super::all().map(|command| {
        let about = Map::from([
            ("help", Value::from("")),
            ("requiresAuth", Value::Bool(command.access != Access::Open)),
            ("adminOnly", Value::Bool(command.admin_only)),
        ]);
        (Value::from(command.name), Value::Map(about))
    });
    let commands = Map { entries: each.collect() };
    call.answer(&Map::from([("commands", Value::Map(commands))]))
}

pub(super) const PROFILE: Command = Command {
    fields: &[
        required("profile", Kind::Integer),
        optional("slowms", Kind::Integer),
        optional("sampleRate", Kind::Any),
        optional("filter", Kind::Any),
    ],
    access: Access::Database(Action::EnableProfiler),
    ..Command::reading("profile", profile)
};

fn profile(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    match call.body.integer("profile") {
        Some(-1 | 0) => call.answer(&Map::from([
            ("was", Value::Int32(0)),
            ("slowms", Value::Int32(100)),
            ("sampleRate", Value::from(1.0)),
        ])),
        _ => Err(CommandError::not_supported("the profiler is not supported: slow operations are in the log")),
    }
}

pub(super) const TOP: Command =
    Command { access: Access::Server(Action::Top), admin_only: true, ..Command::reading("top", top) };

fn top(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let totals = Map::from([("note", Value::from("all times in microseconds"))]);
    call.answer(&Map::from([("totals", Value::Map(totals))]))
}
