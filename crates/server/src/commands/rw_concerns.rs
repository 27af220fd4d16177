//! `getDefaultRWConcern`, `setDefaultRWConcern`: the default concerns, for commands that set none.

use super::Command;
use crate::call::Call;
use crate::concern::WriteConcern;
use crate::default_concerns::Defaults;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Map, Timestamp, Value};
use alluvium_document::BsonBuilder;

pub(super) const GET: Command = Command {
    fields: &[optional("inMemory", Kind::Bool)],
    access: Access::Server(Action::GetDefaultRwConcern),
    admin_only: true,
    ..Command::reading("getDefaultRWConcern", get).strict()
};

pub(super) const SET: Command = Command {
    fields: &[optional("defaultReadConcern", Kind::Document), optional("defaultWriteConcern", Kind::Document)],
    access: Access::Server(Action::SetDefaultRwConcern),
    admin_only: true,
    ..Command::writing("setDefaultRWConcern", set).audited().strict()
};

/// The fields of a default read concern, which cannot have a time.
const READ_FIELDS: &[Field] = &[optional("level", Kind::Text).not_null()];

fn require_set(call: &Call<'_>) -> CommandResult<()> {
    match call.shared.config.replica_set.is_some() {
        true => Ok(()),
        false => {
            let message = format!("'{}' is not supported on standalone nodes.", call.name);
            Err(CommandError::new(51_300, "Location51300", message))
        }
    }
}

fn get(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    require_set(call)?;
    let mut reply = to_map(call, &call.shared.default_concerns.get());
    if call.body.flag("inMemory") {
        reply.push("inMemory", true);
    }
    call.answer(&reply)
}

fn to_map(call: &Call<'_>, defaults: &Defaults) -> Map {
    let source = |is_set: bool| Value::from(if is_set { "global" } else { "implicit" });
    let level = defaults.read.as_deref().unwrap_or("local");
    // The write concern that this server uses if neither the write nor a default sets one.
    let implicit = || Map::from([("w", Value::Int32(1)), ("wtimeout", Value::Int32(0))]);
    let write = defaults.write.clone().unwrap_or_else(implicit);
    let mut map = Map::from([
        ("defaultReadConcern", Value::Map(Map::from([("level", Value::from(level))]))),
        ("defaultWriteConcern", Value::Map(write)),
    ]);
    if let Some((time, at)) = defaults.updated {
        map.push("updateOpTime", Value::Timestamp(time));
        map.push("updateWallClockTime", Value::DateTime(at));
    }
    map.push("defaultWriteConcernSource", source(defaults.write.is_some()));
    map.push("defaultReadConcernSource", source(defaults.read.is_some()));
    map.push("localUpdateWallClockTime", Value::DateTime(call.shared.env.clock.unix_millis()));
    map
}

/// Sets the given defaults. An empty read concern removes the default; the default write concern cannot be removed
/// after it was set.
fn set(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    require_set(call)?;
    if let Some(error) = call.write_concern.unsatisfiable.take() {
        return Err(error);
    }
    let (read, write) = (call.body.document("defaultReadConcern"), call.body.document("defaultWriteConcern"));
    if read.is_none() && write.is_none() {
        let message = "At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" fields must be present";
        return Err(CommandError::bad_value(message));
    }
    let defaults = call.shared.default_concerns.change(&call.shared.db, |mut defaults, mut synced| {
        if let Some(read) = read {
            defaults.read = read_level(read)?;
        }
        if let Some(write) = write {
            (defaults.write, synced) = write_default(write, defaults.write.as_ref())?;
        }
        // Each change has a later time than the previous change.
        let time = call.shared.time();
        let after = |(last, _): (Timestamp, i64)| Timestamp { increment: last.increment.saturating_add(1), ..last };
        let time = defaults
            .updated
            .map(after)
            .filter(|after| (after.time, after.increment) > (time.time, time.increment))
            .unwrap_or(time);
        defaults.updated = Some((time, call.shared.env.clock.unix_millis()));
        Ok((defaults, synced))
    })?;
    let reply = to_map(call, &defaults);
    call.answer(&reply)
}

/// The level of a default read concern; `None` if the concern is empty.
fn read_level(given: &Map) -> CommandResult<Option<String>> {
    fields::check("defaultReadConcern", READ_FIELDS, given)?;
    fields::refuse_unknown("defaultReadConcern", READ_FIELDS, given.iter().map(|(name, _)| name))?;
    match given.text("level") {
        None => Ok(None),
        Some(level @ ("local" | "available" | "majority")) => Ok(Some(level.to_owned())),
        Some(other) => {
            let message = format!("level: '{other}' is not suitable for the default read concern");
            Err(CommandError::bad_value(message))
        }
    }
}

/// A default write concern, and whether it waits for the disk.
fn write_default(given: &Map, present: Option<&Map>) -> CommandResult<(Option<Map>, bool)> {
    if given.is_empty() {
        return match present {
            None => Ok((None, false)),
            Some(_) => {
                let message = "The global default write concern cannot be unset once it is set.";
                Err(CommandError::illegal_operation(message))
            }
        };
    }
    if given.get("w") == Some(&Value::Null) {
        let message = "No write concern mode named '' found in replica set configuration";
        return Err(CommandError::new(79, "UnknownReplWriteConcern", message));
    }
    let body = Map::from([("writeConcern", Value::Map(given.clone()))]);
    let mut concern = WriteConcern::parse(&body, true)?;
    if let Some(error) = concern.unsatisfiable.take() {
        return Err(error);
    }
    if !given.contains("w") || given.truncated("w") == Some(0) {
        return Err(CommandError::bad_value("the default write concern has a 'w' that is not 0"));
    }
    let mut kept = given.clone();
    if !kept.contains("wtimeout") {
        kept.push("wtimeout", 0);
    }
    Ok((Some(kept), concern.synced))
}
