//! The checks that a request passes before its command runs.

use crate::api;
use crate::client::Client;
use crate::commands::Command;
use crate::concern::WriteConcern;
use crate::error::{CommandError, CommandResult};
use crate::fail_points::Failure;
use crate::fields::{self, Fields};
use crate::read;
use crate::security::check::Wanted;
use crate::shared::Shared;
use alluvium::Map;
use alluvium_wire::Sequence;
use std::sync::atomic::Ordering;

/// A request whose command is known.
pub(super) struct Incoming<'a> {
    pub shared: &'a Shared,
    pub client: &'a Client,
    pub command: &'static Command,
    /// The database that it is sent to.
    pub db: &'a str,
    pub body: &'a Map,
    pub sequences: &'a [Sequence],
    /// The failure that a fail point sets for it.
    pub failure: Option<&'a Failure>,
    pub write_concern: &'a CommandResult<WriteConcern>,
    /// The full name of its collection, or its database.
    pub namespace: &'a str,
}

/// A check of a request.
type Gate = fn(&Incoming<'_>) -> CommandResult<()>;

/// The checks in their order. None of them changes anything.
const GATES: [Gate; 11] = [
    // A server that ends begins nothing.
    is_running,
    // Before the fields: errors about them would help those who may not run the command.
    is_allowed,
    // Later checks, and the command, rely on the types of fields.
    has_right_fields,
    // A client has promised to use the stable API only, so a command outside it is an error like an unknown field.
    keeps_to_api,
    has_right_time_limit,
    has_right_cluster_time,
    is_no_transaction,
    is_no_oplog,
    // A command that is wrong or not allowed fails as without a fail point.
    is_not_failed,
    // A write that is blocked is refused whatever concern it has.
    is_not_blocked,
    has_right_write_concern,
];

/// Passes a request through all checks.
///
/// # Errors
/// The error of the first check that refuses it.
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

/// A server of its own has no cluster time, and does not look at that of another one.
fn has_right_cluster_time(incoming: &Incoming<'_>) -> CommandResult<()> {
    match incoming.body.document("$clusterTime").filter(|_| incoming.shared.config.replica_set.is_some()) {
        Some(given) => incoming.shared.cluster_time.check(given).map(drop),
        None => Ok(()),
    }
}

fn is_no_transaction(incoming: &Incoming<'_>) -> CommandResult<()> {
    let body = incoming.body;
    if body.flag("startTransaction") || body.get("autocommit").is_some() {
        let message = "Transactions are not supported yet: write each document by itself, or several by bulkWrite";
        return Err(CommandError::illegal_operation(message));
    }
    Ok(())
}

/// A program that follows the operation log would wait for ever at the end of an empty collection.
fn is_no_oplog(incoming: &Incoming<'_>) -> CommandResult<()> {
    let Incoming { command, body, namespace, .. } = *incoming;
    match command.is_query() || command.writes(body) {
        true => read::refuse_oplog(namespace),
        false => Ok(()),
    }
}

/// Fails with the error that a fail point sets; a fail point may also make every command with a
/// time limit exceed it.
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
