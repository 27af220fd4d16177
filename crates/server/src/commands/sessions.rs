//! `startSession`, `refreshSessions`, `endSessions`, `killSessions` and its relatives.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Kind, required};
use crate::sessions;
use alluvium::{Binary, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const START: Command = Command { access: Access::Login, ..Command::reading("startSession", start) };

pub(super) const REFRESH: Command = Command {
    fields: &[required("refreshSessions", Kind::Documents)],
    access: Access::Login,
    ..Command::reading("refreshSessions", refresh)
};

pub(super) const END: Command = Command {
    fields: &[required("endSessions", Kind::Documents)],
    access: Access::Open,
    ..Command::reading("endSessions", end)
};

pub(super) const KILL: Command = Command {
    fields: &[required("killSessions", Kind::Documents)],
    access: Access::Login,
    ..Command::reading("killSessions", end)
};

pub(super) const KILL_ALL: Command = Command {
    fields: &[required("killAllSessions", Kind::Documents)],
    access: Access::Server(Action::KillAnySession),
    ..Command::reading("killAllSessions", kill_all)
};

pub(super) const KILL_BY_PATTERN: Command = Command {
    fields: &[required("killAllSessionsByPattern", Kind::Documents)],
    access: Access::Server(Action::KillAnySession),
    ..Command::reading("killAllSessionsByPattern", kill_all)
};

fn start(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut bytes = Vec::with_capacity(16);
    for _ in 0..2 {
        bytes.extend_from_slice(&call.shared.env.rng.next_u64().to_le_bytes());
    }
    // A random UUID: version 4, and the variant of RFC 9562.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    call.shared.sessions.touch(&bytes)?;
    let id = Map::from([("id", Value::Binary(Binary { subtype: 4, bytes }))]);
    call.answer(&Map::from([("id", Value::Map(id)), ("timeoutMinutes", Value::Int32(30))]))
}

/// The sessions that a command lists.
fn listed(call: &Call<'_>) -> CommandResult<Vec<Vec<u8>>> {
    let sessions = call.argument().as_array().unwrap_or_default();
    if sessions.len() > 10_000 {
        return Err(CommandError::invalid_length("Too many ids: there may be 10000"));
    }
    sessions.iter().filter_map(Value::as_map).map(sessions::of).collect()
}

fn refresh(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    for session in listed(call)? {
        call.shared.sessions.touch(&session)?;
    }
    Ok(call.reply())
}

fn end(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let sessions = listed(call)?;
    call.shared.sessions.end(&sessions);
    call.shared.end_sessions(&sessions);
    Ok(call.reply())
}

fn kill_all(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let sessions = call.shared.sessions.all();
    call.shared.sessions.end(&sessions);
    call.shared.end_sessions(&sessions);
    Ok(call.reply())
}
