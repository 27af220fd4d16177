//! `$listLocalSessions`, `$listSessions`: the sessions of this server.

use super::options;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use alluvium::{Map, Value};

const OPTIONS: &[Field] = &[optional("allUsers", Kind::Bool), optional("users", Kind::Array)];
const USER: &[Field] = &[required("user", Kind::Text), required("db", Kind::Text)];

pub(super) fn documents(call: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let options = options("$listLocalSessions", operand, OPTIONS, (14, "TypeMismatch"))?;
    let named = users("$listLocalSessions.users", options.elements("users").unwrap_or_default())?;
    let all = options.flag("allUsers");
    if all && !named.is_empty() {
        let message = "$listLocalSessions may not specify {allUsers:true} and {users:[...]} at the same time";
        return Err(CommandError::new(12, "UnsupportedFormat", message));
    }
    let own = call.client.user();
    let (now, unix) = (call.shared.env.clock.now(), call.shared.env.clock.unix_millis());
    let is_listed = |user: &Option<String>| match named.as_slice() {
        [] => all || *user == own,
        named => user.as_ref().is_some_and(|user| named.contains(user)),
    };
    let sessions = call.shared.sessions.with_last_use().into_iter().filter(|(session, _)| is_listed(&session.user));
    let describe = |(session, last_used): (crate::sessions::SessionId, std::time::Duration)| {
        let idle = i64::try_from(now.saturating_sub(last_used).as_millis()).unwrap_or(i64::MAX);
        let mut entry =
            Map::from([("_id", Value::Map(session.to_map())), ("lastUse", Value::DateTime(unix.saturating_sub(idle)))]);
        if let Some(user) = session.user_at_db() {
            entry.push("user", user);
        }
        entry
    };
    Ok(sessions.map(describe).collect())
}

/// Converts a list of documents with a user name and a database to names in the form of the server. Null entries are
/// skipped.
///
/// # Errors
/// Error 14 for another type, 40414 for a missing field, 40415 for an unknown field.
pub(crate) fn users(owner: &str, list: &[Value]) -> CommandResult<Vec<String>> {
    let mut users = Vec::new();
    for entry in list.iter().filter(|entry| !matches!(entry, Value::Null | Value::Undefined)) {
        let Some(user) = entry.as_map() else {
            let found = entry.type_name();
            let message = format!("BSON field '{owner}' has an element of the wrong type '{found}', expected 'object'");
            return Err(CommandError::type_mismatch(message));
        };
        fields::refuse_unknown(owner, USER, user.entries.iter().map(|(name, _)| name))?;
        fields::check(owner, USER, user)?;
        users.push(format!("{}.{}", user.text("db").unwrap_or_default(), user.text("user").unwrap_or_default()));
    }
    Ok(users)
}
