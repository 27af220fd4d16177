//! Small commands about the server: `getLog`, `whatsmyuri`, `listCommands`, `profile`.

use super::Command;
use crate::api;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::slow::Level;
use crate::writes::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const GET_LOG: Command = Command {
    fields: &[required("getLog", Kind::Text)],
    access: Access::Server(Action::GetLog),
    admin_only: true,
    ..Command::reading("getLog", get_log).control().strict()
};

fn get_log(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    match call.argument().as_str() {
        Some("*") => {
            let names = vec![Value::from("global"), Value::from("startupWarnings")];
            call.answer(&Map::from([("names", Value::Array(names))]))
        }
        Some(name @ ("global" | "startupWarnings")) => {
            let recent = call.shared.log.get();
            let (written, lines) = match name {
                "global" => (recent.written, recent.lines.into_iter().collect()),
                _ => (recent.warnings.len() as u64, recent.warnings),
            };
            let lines = lines.into_iter().map(Value::from).collect();
            call.answer(&Map::from([("totalLinesWritten", int(written)), ("log", Value::Array(lines))]))
        }
        other => {
            let message = format!("No log named '{}'", other.unwrap_or_default());
            Err(CommandError::new(96, "OperationFailed", message))
        }
    }
}

pub(super) const WHATS_MY_URI: Command =
    Command { access: Access::Open, ..Command::reading("whatsmyuri", whats_my_uri).control() };

fn whats_my_uri(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.answer(&Map::from([("you", Value::from(call.client.address.as_str()))]))
}

pub(super) const LIST_COMMANDS: Command =
    Command { access: Access::Open, ..Command::reading("listCommands", list_commands).control() };

fn list_commands(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let has_all = call.shared.config.test_commands;
    let each = super::all().filter(|command| has_all || !command.is_for_tests).map(|command| {
        let about = Map::from([
            ("help", Value::from("")),
            ("requiresAuth", Value::Bool(!command.access.is_open())),
            ("secondaryOk", Value::Bool(!command.may_write())),
            ("adminOnly", Value::Bool(command.admin_only)),
            ("apiVersions", Value::Array(api::versions(command.is_stable).map(Value::from).collect())),
            ("deprecatedApiVersions", Value::Array(Vec::new())),
        ]);
        (Value::from(command.name), Value::Map(about))
    });
    let commands = Map { entries: each.collect() };
    call.answer(&Map::from([("commands", Value::Map(commands))]))
}

pub(super) const PROFILE: Command = Command {
    fields: &[
        required("profile", Kind::Number),
        optional("slowms", Kind::Number),
        optional("sampleRate", Kind::Number),
        optional("filter", Kind::Any),
    ],
    access: Access::Database(Action::EnableProfiler),
    ..Command::reading("profile", profile).audited().strict()
};

/// Sets the profiling level of a database. The threshold of slow operations and the share of slow operations that are
/// kept apply to all databases, as in MongoDB.
fn profile(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let slow = &call.shared.slow;
    let was = match slow.level(&call.db) {
        Level::Off => 0,
        Level::Slow => 1,
        Level::All => 2,
    };
    let threshold = i32::try_from(slow.threshold_ms()).unwrap_or(i32::MAX);
    let mut reply = Map::from([
        ("was", Value::Int32(was)),
        ("slowms", Value::Int32(threshold)),
        ("sampleRate", Value::from(slow.sample_rate())),
    ]);
    if let Some(filter) = slow.filter(&call.db) {
        reply.push("filter", filter);
        let note = "When a filter expression is set, slowms and sampleRate are not used for profiling.";
        reply.push("note", note);
    }
    let level = match call.body.truncated("profile") {
        Some(0) => Some(Level::Off),
        Some(1) => Some(Level::Slow),
        Some(2) => Some(Level::All),
        _ => None,
    };
    let rate = call.body.get("sampleRate").and_then(Value::as_f64);
    if let Some(rate) = rate.filter(|rate| !(0.0..=1.0).contains(rate)) {
        return Err(CommandError::bad_value(format!("'sampleRate' must be between 0.0 and 1.0 inclusive, not {rate}")));
    }
    let filter = match call.body.get("filter") {
        Some(Value::Map(filter)) => {
            // An invalid filter is refused before it is stored.
            listing::filtered(call, Vec::new(), Some(filter))?;
            Some(Some(normalized(filter)))
        }
        Some(Value::String(unset)) if &**unset == "unset" => Some(None),
        None => None,
        Some(_) => return Err(CommandError::bad_value("Expected an object, or the string 'unset'.")),
    };
    if let Some(level) = level {
        slow.set_level(&call.db, level);
    }
    if let Some(millis) = call.body.truncated("slowms") {
        slow.set_threshold_ms(millis);
    }
    if let Some(rate) = rate {
        slow.set_sample_rate(rate);
    }
    if let Some(filter) = filter {
        slow.set_filter(&call.db, filter);
    }
    call.answer(&reply)
}

/// Returns a filter in which plain values are replaced by `$eq` conditions.
fn normalized(filter: &Map) -> Map {
    let is_operator = |name: &Value| name.as_str().is_some_and(|name| name.starts_with('$'));
    let each = filter.iter().map(|(name, value)| {
        let is_plain =
            !is_operator(name) && !value.as_map().is_some_and(|map| map.iter().any(|(name, _)| is_operator(name)));
        (name.clone(), if is_plain { Value::Map(Map::from([("$eq", value.clone())])) } else { value.clone() })
    });
    Map { entries: each.collect() }
}
