//! `saslStart`, `saslContinue`, `authenticate`, `logout`, and the logins that begin within `hello`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::login::{X509, payload};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

const START_FIELDS: &[Field] = &[
    required("mechanism", Kind::Text),
    required("payload", Kind::Any).secret(),
    optional("autoAuthorize", Kind::Any),
    optional("options", Kind::Document),
];

pub(super) const START: Command =
    Command { fields: START_FIELDS, access: Access::Open, ..Command::reading("saslStart", start).stable().control() };

pub(super) const CONTINUE: Command = Command {
    fields: &[required("conversationId", Kind::Integer), required("payload", Kind::Any).secret()],
    access: Access::Open,
    ..Command::reading("saslContinue", proceed).stable().control()
};

pub(super) const AUTHENTICATE: Command = Command {
    fields: &[optional("mechanism", Kind::Text), optional("user", Kind::Text), optional("key", Kind::Any).secret()],
    access: Access::Open,
    ..Command::reading("authenticate", authenticate).stable().control().strict()
};

pub(super) const LOGOUT: Command =
    Command { access: Access::Open, ..Command::reading("logout", log_out).audited().control().strict() };

fn start(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let reply = begin(call, &call.body, &call.db)?;
    call.answer(&reply)
}

/// Begins a conversation with the fields of `saslStart`.
fn begin(call: &Call<'_>, body: &Map, db: &str) -> CommandResult<Map> {
    let mechanism = body.text("mechanism").unwrap_or_default();
    let skips = body.document("options").is_some_and(|options| options.flag("skipEmptyExchange"));
    let payload = payload(body.get("payload"))?;
    call.shared.security.start(&call.client.peer, db, mechanism, &payload, skips)
}

fn proceed(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let conversation = call.body.integer("conversationId").unwrap_or(0);
    let payload = payload(call.body.get("payload"))?;
    let reply = call.shared.security.proceed(&call.client.peer, conversation, &payload)?;
    call.answer(&reply)
}

fn authenticate(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let reply = by_certificate(call, &call.body)?;
    call.answer(&reply)
}

fn by_certificate(call: &Call<'_>, body: &Map) -> CommandResult<Map> {
    match body.text("mechanism") {
        Some(X509) => call.shared.security.log_in_by_certificate(&call.client.peer, body.text("user")),
        other => {
            let message = format!("Auth mechanism {} is not supported by authenticate", other.unwrap_or_default());
            Err(CommandError::new(334, "MechanismUnavailable", message))
        }
    }
}

fn log_out(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.client.peer.log_out();
    Ok(call.reply())
}

/// The user whose mechanisms the client asks for. The client sends `db.user`, or a document with both names.
fn asked(given: Option<&Value>) -> CommandResult<Option<String>> {
    match given {
        None => Ok(None),
        Some(Value::String(user)) => Ok(Some(user.to_string())),
        Some(Value::Map(name)) => match (name.text("db"), name.text("user")) {
            (Some(db), Some(user)) => Ok(Some(format!("{db}.{user}"))),
            _ => Err(CommandError::bad_value("saslSupportedMechs has the fields 'db' and 'user'")),
        },
        Some(other) => {
            let found = other.type_name();
            let message = format!(
                "BSON field 'hello.saslSupportedMechs' is the wrong type '{found}', expected types '[string, object]'"
            );
            Err(CommandError::type_mismatch(message))
        }
    }
}

/// Adds the login fields to the reply of `hello`: the mechanisms of a user, and the first reply of a speculative login.
/// If the speculative login fails, its field is missing.
pub(super) fn add_to_hello(call: &Call<'_>, reply: &mut Map) -> CommandResult<()> {
    let asked = asked(call.body.get("saslSupportedMechs"))?;
    let mechanisms = asked.as_deref().map(|user| call.shared.security.mechanisms(user));
    let mechanisms = mechanisms.transpose()?;
    // A speculative login is answered only if the user has its mechanism: clients treat any answer as an answer for the
    // mechanism that they choose next.
    let may_succeed = |begun: &&Map| match (&mechanisms, begun.get("mechanism")) {
        (Some(known), Some(mechanism)) => !begun.contains("saslStart") || known.contains(mechanism),
        _ => true,
    };
    let speculative = call.body.document("speculativeAuthenticate").filter(may_succeed);
    if let Some(mechanisms) = &mechanisms {
        reply.push("saslSupportedMechs", mechanisms.clone());
    }
    if let Some(speculative) = speculative {
        let db = speculative.text("db").unwrap_or(&call.db);
        let answer = match speculative.contains("saslStart") {
            true => fields::check("saslStart", START_FIELDS, speculative).and_then(|()| begin(call, speculative, db)),
            // If the certificate belongs to no user, the client sees the error at its next attempt.
            false => by_certificate(call, speculative),
        };
        match answer {
            Ok(answer) => reply.push("speculativeAuthenticate", answer),
            Err(error) => log::debug!("a speculative login failed: {error}"),
        }
    }
    Ok(())
}
