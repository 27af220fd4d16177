//! `startSession`, `refreshSessions`, `endSessions`, `killSessions` and its relatives.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, required};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::server_stages::sessions::users;
use crate::sessions::SessionId;
use alluvium::{Binary, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const START: Command =
    Command { access: Access::Login, ..Command::reading("startSession", start).control() };

pub(super) const REFRESH: Command = Command {
    fields: &[required("refreshSessions", Kind::Documents)],
    access: Access::Login,
    ..Command::reading("refreshSessions", refresh).stable().control().strict()
};

pub(super) const END: Command = Command {
    fields: &[required("endSessions", Kind::Documents)],
    access: Access::Open,
    ..Command::reading("endSessions", end).stable().control().strict()
};

pub(super) const KILL: Command = Command {
    fields: &[required("killSessions", Kind::Array)],
    access: Access::Login,
    ..Command::reading("killSessions", kill).control()
};

pub(super) const KILL_ALL: Command = Command {
    fields: &[required("killAllSessions", Kind::Array)],
    access: Access::Server(Action::KillAnySession),
    ..Command::reading("killAllSessions", kill_all).audited().control()
};

pub(super) const KILL_BY_PATTERN: Command = Command {
    fields: &[required("killAllSessionsByPattern", Kind::Documents)],
    access: Access::Server(Action::KillAnySession),
    ..Command::reading("killAllSessionsByPattern", kill_by_pattern).audited().control()
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
    let wrong = |found: &str| {
        let message =
            format!("BSON field '{0}.{0}' has an element of the type '{found}', expected 'object'", call.name);
        CommandError::type_mismatch(message)
    };
    let session = |value: &Value| match value {
        Value::Null | Value::Undefined => None,
        Value::Map(session) => Some(SessionId::of(session, user.clone())),
        other => Some(Err(wrong(other.type_name()))),
    };
    sessions.iter().filter_map(session).collect()
}

fn refresh(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    for session in listed(call)? {
        call.shared.sessions.touch(&session)?;
    }
    Ok(call.reply())
}

fn end(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let sessions = listed(call)?;
    call.shared.cursors.kill_of_sessions(&sessions);
    // Ends running statements of transactions, too.
    call.shared.sessions.abort_transactions(&sessions);
    call.shared.end_sessions(call.shared.sessions.end(&sessions));
    Ok(call.reply())
}

/// Ends the cursors, the commands and the transactions of sessions; of all sessions of the user for an empty list. The records of retryable writes remain, because clients may repeat
/// the writes.
fn kill(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut sessions = listed(call)?;
    if call.argument().as_array().is_some_and(<[_]>::is_empty) {
        let user = call.client.user();
        sessions = call.shared.sessions.all().into_iter().filter(|session| session.user == user).collect();
    }
    kill_listed(call, &sessions);
    Ok(call.reply())
}

fn kill_listed(call: &Call<'_>, sessions: &[SessionId]) {
    // The command does not end its own session's operations, which include itself.
    let own = call.session.as_ref();
    let others: Vec<SessionId> = sessions.iter().filter(|session| Some(*session) != own).cloned().collect();
    call.shared.operations.kill_of_sessions(&others);
    call.shared.cursors.kill_of_sessions(sessions);
    call.shared.sessions.abort_transactions(sessions);
}

/// Ends the operations in the sessions of some users. An empty list means all users.
fn kill_all(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let given = call.argument().as_array().unwrap_or_default();
    let named = users(&format!("{0}.{0}", call.name), given)?;
    let is_meant = |session: &SessionId| match given {
        [] => true,
        _ => session.user.as_ref().is_some_and(|user| named.contains(user)),
    };
    let sessions: Vec<SessionId> = call.shared.sessions.all().into_iter().filter(is_meant).collect();
    kill_listed(call, &sessions);
    Ok(call.reply())
}

/// Ends operations as [`kill_all`] does, by patterns. A pattern names a session or users.
fn kill_by_pattern(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let patterns: Vec<Map> =
        call.argument().as_array().unwrap_or_default().iter().filter_map(Value::as_map).cloned().collect();
    let mut meant = Vec::new();
    for pattern in &patterns {
        let lsid = pattern.document("lsid").map(|id| SessionId::of(id, None)).transpose()?;
        let users = users("killAllSessionsByPattern.users", pattern.elements("users").unwrap_or_default())?;
        meant.push((lsid.map(|id| id.uuid), users));
    }
    let is_meant = |session: &SessionId| {
        let fits = |(uuid, users): &(Option<[u8; 16]>, Vec<String>)| {
            uuid.is_none_or(|uuid| uuid == session.uuid)
                && (users.is_empty() || session.user.as_ref().is_some_and(|user| users.contains(user)))
        };
        meant.is_empty() || meant.iter().any(fits)
    };
    let sessions: Vec<SessionId> = call.shared.sessions.all().into_iter().filter(is_meant).collect();
    kill_listed(call, &sessions);
    Ok(call.reply())
}
