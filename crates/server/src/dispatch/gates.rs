//! The checks that a request passes before its command runs.

use super::incoming::Incoming;
use super::transactions;
use crate::api;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Fields};
use crate::oplog::{self, UseOfLog};
use crate::security::check::Wanted;
use std::sync::atomic::Ordering;

/// A check of a request.
type Gate = fn(&Incoming<'_>) -> CommandResult<()>;

/// The checks, in their order. No check changes state.
const GATES: [Gate; 11] = [
    // A server that is stopping starts no commands.
    is_running,
    // Rights are checked before fields: errors about fields would help clients that may not run the command.
    is_allowed,
    // The later checks and the command rely on the types of the fields.
    has_right_fields,
    // A client with `apiStrict` uses only the stable API. A command outside of it is an error like an unknown field.
    keeps_to_api,
    has_right_time_limit,
    has_right_cluster_time,
    transactions::check,
    may_use_oplog,
    // A command that is invalid or not allowed fails with its usual error, even if a fail point applies.
    is_not_failed,
    // A blocked write is refused before its write concern is checked.
    is_not_blocked,
    has_right_write_concern,
];

/// Passes a request through all checks.
///
/// # Errors
/// The error of the first check that refuses the request.
pub(super) fn pass(incoming: &Incoming<'_>) -> CommandResult<()> {
    GATES.iter().try_for_each(|gate| gate(incoming))
}

fn is_running(incoming: &Incoming<'_>) -> CommandResult<()> {
    match incoming.shared.stopping.load(Ordering::Relaxed) {
        true => Err(CommandError::new(91, "ShutdownInProgress", "the server is shutting down")),
        false => Ok(()),
    }
}

fn is_allowed(incoming: &Incoming<'_>) -> CommandResult<()> {
    let Incoming { shared, client, command, db, body, sequences, .. } = *incoming;
    shared.security.check(&client.peer, &Wanted { name: command.name, access: command.access, db, body, sequences })
}

fn has_right_fields(incoming: &Incoming<'_>) -> CommandResult<()> {
    let Incoming { command, body, sequences, .. } = *incoming;
    for sequence in sequences {
        let is_known = |field: &fields::Field| field.name == sequence.name && field.kind == fields::Kind::Documents;
        if !command.fields.iter().any(is_known) {
            let message = format!("BSON field '{}.{}' is an unknown field.", command.name, sequence.name);
            return Err(CommandError::unknown_field(message));
        }
    }
    let is_sent_beside = |name: &str| sequences.iter().any(|sequence| sequence.name == name);
    if !fields::are_right(command.fields, command.is_strict, body, is_sent_beside) {
        let in_body = command.fields.iter().filter(|field| !is_sent_beside(field.name)).copied().collect::<Vec<_>>();
        fields::check(command.name, &in_body, body)?;
        fields::check(command.name, fields::COMMON, body)?;
        if command.is_strict {
            let others = body.entries.iter().skip(1).map(|(name, _)| name);
            let others = others.filter(|name| !name.as_str().is_some_and(fields::is_common));
            fields::refuse_unknown(command.name, &in_body, others)?;
        }
    }
    Ok(())
}

fn keeps_to_api(incoming: &Incoming<'_>) -> CommandResult<()> {
    api::check(incoming.command.name, incoming.command.is_stable, incoming.body)
}

fn has_right_time_limit(incoming: &Incoming<'_>) -> CommandResult<()> {
    let body = incoming.body;
    let Some(given) = body.get("maxTimeMS").filter(|given| given.is_number()) else { return Ok(()) };
    match body.integer("maxTimeMS") {
        None => Err(CommandError::failed_to_parse(format!("maxTimeMS has to be a whole number, not {given}"))),
        Some(millis) if !(0..=i64::from(i32::MAX)).contains(&millis) => {
            let message = format!("{millis} value for maxTimeMS is out of range [0, 2147483647]");
            Err(CommandError::bad_value(message))
        }
        Some(_) => Ok(()),
    }
}

fn has_right_cluster_time(incoming: &Incoming<'_>) -> CommandResult<()> {
    incoming.cluster_time.as_ref().map(drop).map_err(Clone::clone)
}

fn may_use_oplog(incoming: &Incoming<'_>) -> CommandResult<()> {
    let Incoming { shared, command, db, body, namespace, .. } = *incoming;
    let how = match command.writes(body) {
        true if command.name == "drop" => UseOfLog::Drops,
        // The command refuses the names of logs itself.
        true if command.name == "renameCollection" => UseOfLog::Other,
        true => UseOfLog::Writes,
        false if command.is_query() => UseOfLog::Reads,
        false => UseOfLog::Other,
    };
    oplog::check(&shared.config, &command.written(db, body, namespace), how)?;
    match how {
        // A pipeline may write to one collection and read another.
        UseOfLog::Writes if !shared.config.oplog => oplog::refuse(namespace),
        _ => Ok(()),
    }
}

/// Fails with the error that a fail point sets. A fail point can also make every command with a time limit exceed the
/// limit.
fn is_not_failed(incoming: &Incoming<'_>) -> CommandResult<()> {
    if let Some(error) = incoming.failure.and_then(|failure| failure.error.clone()) {
        return Err(error);
    }
    let is_limited = incoming.body.integer("maxTimeMS").is_some_and(|millis| millis > 0);
    match is_limited && incoming.shared.fail_points.on_time_limit() {
        true => Err(CommandError::time_limit()),
        false => Ok(()),
    }
}

fn is_not_blocked(incoming: &Incoming<'_>) -> CommandResult<()> {
    if !incoming.command.writes(incoming.body) {
        return Ok(());
    }
    let db = incoming.namespace.split_once('.').map_or(incoming.namespace, |(db, _)| db);
    incoming.shared.write_block.check(db)
}

fn has_right_write_concern(incoming: &Incoming<'_>) -> CommandResult<()> {
    if let Err(error) = incoming.write_concern {
        return Err(error.clone());
    }
    match incoming.body.document("writeConcern").is_some() && !incoming.command.may_write() {
        true => Err(CommandError::invalid_options("Command does not support writeConcern")),
        false => Ok(()),
    }
}
