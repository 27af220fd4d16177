//! `getParameter`, `setParameter`, `getClusterParameter`, `setClusterParameter`, `setFeatureCompatibilityVersion`,
//! `getCmdLineOpts`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::parameters::{DEFAULT_MAX_TIME, FEATURE_VERSIONS, cluster_names};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::directory::SCHEMA_VERSION;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::atomic::Ordering;

pub(super) const GET: Command = Command {
    fields: &[required("getParameter", Kind::Any)],
    access: Access::Server(Action::GetParameter),
    admin_only: true,
    ..Command::reading("getParameter", get).control()
};

pub(super) const SET: Command = Command {
    access: Access::Server(Action::SetParameter),
    admin_only: true,
    ..Command::reading("setParameter", set).audited().control()
};

pub(super) const COMMAND_LINE: Command = Command {
    access: Access::Server(Action::GetCmdLineOpts),
    admin_only: true,
    ..Command::reading("getCmdLineOpts", command_line).control().strict()
};

pub(super) const GET_OF_CLUSTER: Command = Command {
    fields: &[required("getClusterParameter", Kind::Any)],
    access: Access::Server(Action::GetClusterParameter),
    admin_only: true,
    ..Command::reading("getClusterParameter", get_of_cluster)
};

pub(super) const SET_OF_CLUSTER: Command = Command {
    fields: &[required("setClusterParameter", Kind::Document)],
    access: Access::Server(Action::SetClusterParameter),
    admin_only: true,
    ..Command::reading("setClusterParameter", set_of_cluster).audited()
};

pub(super) const SET_FEATURES: Command = Command {
    fields: &[
        required("setFeatureCompatibilityVersion", Kind::Text),
        optional("confirm", Kind::Flag),
        optional("dryRun", Kind::Flag),
        optional("fromConfigServer", Kind::Flag),
    ],
    access: Access::Server(Action::SetFeatureCompatibilityVersion),
    admin_only: true,
    ..Command::writing("setFeatureCompatibilityVersion", set_features).audited().strict()
};

/// The parameters that clients can read.
fn known(call: &Call<'_>) -> Map {
    let parameters = call.shared.parameters.lock();
    let version = Map::from([("version", Value::from(parameters.features.as_str()))]);
    let mechanisms = vec![Value::from("SCRAM-SHA-1"), Value::from("SCRAM-SHA-256")];
    let mut known = Map::from([
        ("featureCompatibilityVersion", Value::Map(version)),
        ("authenticationMechanisms", Value::Array(mechanisms)),
        ("authSchemaVersion", Value::Int32(SCHEMA_VERSION)),
        ("enableTestCommands", Value::Bool(call.shared.config.test_commands)),
        ("requireApiVersion", Value::Bool(false)),
        ("allowDiskUseByDefault", Value::Bool(true)),
        ("localLogicalSessionTimeoutMinutes", Value::Int32(30)),
    ]);
    known.entries.extend(parameters.to_map().entries);
    known
}

/// The parameters in the fields of a command.
fn named(call: &Call<'_>) -> Vec<(String, Value)> {
    let others = call.body.entries.iter().skip(1);
    others
        .filter_map(|(name, value)| Some((name.as_str()?, value)))
        .filter(|(name, _)| !fields::is_common(name) && *name != "allParameters")
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

/// The options of `getParameter`, if its argument is a document.
const GET_OPTIONS: &[Field] =
    &[optional("showDetails", Kind::Flag), optional("allParameters", Kind::Flag), optional("setAt", Kind::Text)];

fn get(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let known = known(call);
    let (mut all, mut details, mut set_at) = (false, false, None);
    match call.argument() {
        Value::String(text) => all = &**text == "*",
        Value::Map(options) => {
            fields::check("getParameter", GET_OPTIONS, options)?;
            fields::refuse_unknown("getParameter", GET_OPTIONS, options.entries.iter().map(|(name, _)| name))?;
            (all, details) = (options.flag("allParameters"), options.flag("showDetails"));
            set_at = options.text("setAt").map(str::to_owned);
        }
        _ => {}
    }
    let at_runtime = call.shared.parameters.lock().to_map();
    let is_shown = |name: &str| match set_at.as_deref().filter(|_| all) {
        None => true,
        Some("runtime") => at_runtime.contains(name),
        Some(_) => !at_runtime.contains(name),
    };
    if let Some(other) = set_at.as_deref().filter(|at| !["runtime", "startup"].contains(at)) {
        let message = format!("Enumeration value '{other}' for field 'getParameter.setAt' is not a valid value.");
        return Err(CommandError::bad_value(message));
    }
    let named = named(call);
    let is_wanted = |name: &str| (all || named.iter().any(|(wanted, _)| wanted == name)) && is_shown(name);
    let mut found = Map::new();
    for (name, value) in known.iter().filter(|(name, _)| name.as_str().is_some_and(is_wanted)) {
        let runtime = name.as_str().is_some_and(|name| at_runtime.contains(name));
        let shown = match details {
            false => value.clone(),
            true => Value::Map(Map::from([
                ("value", value.clone()),
                ("settableAtRuntime", Value::Bool(runtime)),
                ("settableAtStartup", Value::Bool(name.as_str() != Some("authSchemaVersion"))),
            ])),
        };
        found.push(name.clone(), shown);
    }
    match found.is_empty() && !all {
        true => Err(CommandError::invalid_options("no option found to get")),
        false => call.answer(&found),
    }
}

/// Sets all given parameters, or none of them. Only the parameters of [`crate::parameters`] can be changed. Setting
/// another parameter to its present value is not an error.
fn set(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let known = known(call);
    let named = named(call);
    let Some((first, _)) = named.first() else {
        return Err(CommandError::invalid_options("no option found to set, use help:true to see options "));
    };
    let was = known.get(first).cloned();
    let mut parameters = call.shared.parameters.lock();
    let mut changed = parameters.clone();
    for (name, value) in &named {
        if changed.set(name, value)? {
            continue;
        }
        match known.get(name) {
            Some(present) if present == value => {}
            Some(_) => {
                let message = format!("the parameter {name} cannot be changed by setParameter");
                return Err(CommandError::illegal_operation(message));
            }
            None => {
                let message = format!("attempted to set unrecognized parameter [{name}], use help:true to see options");
                return Err(CommandError::invalid_options(message));
            }
        }
    }
    let interval = changed.expiry_interval();
    let is_new = interval != parameters.expiry_interval();
    *parameters = changed;
    drop(parameters);
    if is_new {
        call.shared.db.set_expiry_interval(interval);
    }
    let mut reply = Map::new();
    if let Some(was) = was {
        reply.push("was", was);
    }
    call.answer(&reply)
}

/// Returns cluster parameters, which the client gives by one name, several names, or `"*"`.
fn get_of_cluster(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let names: Vec<String> = match call.argument() {
        Value::String(all) if &**all == "*" => cluster_names().map(str::to_owned).collect(),
        Value::String(name) => vec![name.to_string()],
        Value::Array(names) if !names.is_empty() => {
            let name = |name: &Value| name.as_str().map(str::to_owned);
            let wrong = || CommandError::type_mismatch("getClusterParameter takes names of parameters");
            names.iter().map(name).collect::<Option<_>>().ok_or_else(wrong)?
        }
        Value::Array(_) => return Err(CommandError::bad_value("getClusterParameter takes at least one name")),
        other => {
            let message = format!("getClusterParameter takes names of parameters, or \"*\", not {}", other.type_name());
            return Err(CommandError::type_mismatch(message));
        }
    };
    let parameters = call.shared.parameters.lock();
    let mut found = Vec::new();
    for name in names {
        let Some(value) = parameters.of_cluster(&name) else {
            return Err(CommandError::no_such_key(format!("Unknown server parameter: {name}")));
        };
        let mut entry = Map::from([("_id", Value::from(name))]);
        entry.entries.extend(value.entries);
        found.push(Value::Map(entry));
    }
    drop(parameters);
    call.answer(&Map::from([("clusterParameters", Value::Array(found))]))
}

fn set_of_cluster(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    match call.argument().as_map().map(|map| map.entries.as_slice()).unwrap_or_default() {
        [] => Err(CommandError::no_such_key("setClusterParameter takes a parameter and its value")),
        [(name, value)] => {
            let mut parameters = call.shared.parameters.lock();
            parameters.set_of_cluster(name.as_str().unwrap_or_default(), value)?;
            let limit = parameters.of_cluster(DEFAULT_MAX_TIME).and_then(|limit| limit.integer("readOperations"));
            call.shared.read_millis_max.store(limit.unwrap_or(0).unsigned_abs(), Ordering::Relaxed);
            drop(parameters);
            Ok(call.reply())
        }
        _ => Err(CommandError::invalid_options("setClusterParameter only supports setting exactly one parameter")),
    }
}

/// Stores the feature compatibility version. All features are available in every version.
fn set_features(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let version = call.body.text("setFeatureCompatibilityVersion").unwrap_or_default();
    if !FEATURE_VERSIONS.contains(&version) {
        let message = format!("Invalid feature compatibility version value '{version}'; expected '8.0' or '8.2'");
        return Err(CommandError::new(4_926_900, "Location4926900", message));
    }
    if !call.body.flag("confirm") {
        let message = "the change of the feature compatibility version has to be confirmed: set 'confirm: true'";
        return Err(CommandError::new(7_369_100, "Location7369100", message));
    }
    if !call.body.flag("dryRun") {
        call.shared.parameters.lock().store_features(&call.shared.db, version)?;
    }
    Ok(call.reply())
}

fn command_line(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut parsed = Map::new();
    if let Some(set) = call.shared.replica_set.present() {
        parsed.push("replication", Map::from([("replSet", Value::from(set.config.name))]));
    }
    let path = call.shared.db.path().display().to_string();
    parsed.push("storage", Map::from([("dbPath", Value::from(path))]));
    call.answer(&Map::from([("argv", Value::Array(vec![Value::from("alluvium")])), ("parsed", Value::Map(parsed))]))
}
