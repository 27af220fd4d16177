//! `startSession`, `refreshSessions`, `endSessions`, `killSessions` and its relatives.

use super::Command;
use crate::access::{Access, Action};
use crate::batch::FirstBatch;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, required};
use crate::listing;
use crate::sessions::SessionId;
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
    ..Command::reading("killSessions", kill)
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
    let rng = &call.shared.env.rng;
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
    uuid[8..].copy_from_slice(&rng.next_u64().to_le_bytes());
    // A random UUID: version 4, and the variant of RFC 9562.
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    call.shared.sessions.touch(&SessionId { uuid, user: call.client.user() })?;
    let bytes = uuid.to_vec();
    let id = Map::from([("id", Value::Binary(Binary { subtype: 4, bytes }))]);
    call.answer(&Map::from([("id", Value::Map(id)), ("timeoutMinutes", Value::Int32(30))]))
}

/// The sessions that a command lists.
fn listed(call: &Call<'_>) -> CommandResult<Vec<SessionId>> {
    let sessions = call.argument().as_array().unwrap_or_default();
    if sessions.len() > 10_000 {
        return Err(CommandError::invalid_length("Too many ids: there may be 10000"));
    }
    let user = call.client.user();
    sessions.iter().filter_map(Value::as_map).map(|session| SessionId::of(session, user.clone())).collect()
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

/// Closes the cursors of sessions. The records of their retryable writes stay: the clients may repeat them.
fn kill(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.shared.cursors.kill_of_sessions(&listed(call)?);
    Ok(call.reply())
}

fn kill_all(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.shared.cursors.kill_of_sessions(&call.shared.sessions.all());
    Ok(call.reply())
}

/// A pipeline that begins with `$listLocalSessions` or `$listSessions`: over the sessions of the user.
pub(super) fn pipeline(call: &Call<'_>) -> CommandResult<BsonBuilder> {
    let user = call.client.user();
    let own = call.shared.sessions.all().into_iter().filter(|session| session.user == user);
    let list = own.map(|session| {
        let uuid = Value::Binary(Binary { subtype: 4, bytes: session.uuid.to_vec() });
        let mut entry = Map::from([("_id", Value::Map(Map::from([("id", uuid)])))]);
        if let Some(user) = session.user {
            entry.push("user", user);
        }
        entry
    });
    let mut stages = vec![listing::stage(list.collect())];
    stages.extend(call.body.elements("pipeline").unwrap_or_default().iter().skip(1).cloned());
    let cursor = call.collection_called("list").aggregate(Value::Array(stages)).run()?;
    FirstBatch::of(cursor, format!("{}.$cmd.aggregate", call.db)).reply(call)
}
