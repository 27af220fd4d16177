//! Commands within transactions.

use super::incoming::Incoming;
use crate::body::Body;
use crate::call::Call;
use crate::commands::{Command, InTransaction};
use crate::concern::{ReadConcern, ReadLevel};
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::retries;
use crate::sessions::{End, Joined, SessionId, Step, transaction_too_old};
use crate::shared::Shared;
use crate::waits::{Event, Wait};
use alluvium::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The longest wait of a write without a time limit for the transactions of others.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The namespace of the cursors of `bulkWrite`.
const BULK_WRITES: &str = "admin.$cmd.bulkWrite";

/// The databases that no transaction reads or writes.
const SERVERS_OWN: [&str; 3] = ["admin", "config", "local"];

/// True for a command within a transaction.
pub(super) fn is_within(body: &Body) -> bool {
    body.contains("autocommit")
}

/// Checks the fields of a command that are about transactions, and whether the command may run in one.
pub(super) fn check(incoming: &Incoming<'_>) -> CommandResult<()> {
    let Incoming { shared, command, body, .. } = *incoming;
    let wrong = |message: &str| Err(CommandError::invalid_options(message));
    let (is_numbered, starts) = (body.get("txnNumber").is_some(), body.get("startTransaction").is_some());
    if !is_within(body) {
        if starts {
            return wrong("'startTransaction' field requires 'autocommit' field to also be specified");
        }
        if command.in_transaction == InTransaction::End {
            let message = format!("{} must be run within a transaction", command.name);
            return Err(CommandError::new(125, "CommandFailed", message));
        }
        if is_numbered && !command.retryable {
            let message = format!(
                "txnNumber may only be provided for multi-document transactions and retryable write commands. \
                 autocommit:false was not provided, and {} is not a retryable write command.",
                command.name
            );
            return Err(CommandError::new(50_768, "NotARetryableWriteCommand", message));
        }
        return Ok(());
    }
    if body.flag("autocommit") {
        return wrong("Specifying autocommit=true is not allowed.");
    }
    if !is_numbered {
        return wrong("'autocommit' field requires a transaction number to also be specified");
    }
    if starts && !body.flag("startTransaction") {
        return wrong("Specifying startTransaction=false is not allowed.");
    }
    if shared.config.replica_set.is_none() {
        let message = "Transaction numbers are only allowed on a replica set member or mongos";
        return Err(CommandError::illegal_operation(message));
    }
    if body.document("lsid").is_none() {
        return wrong("Transaction number requires a session ID to also be specified");
    }
    if body.integer("txnNumber").is_some_and(|number| number < 0) {
        return wrong("Transaction number cannot be negative");
    }
    let refused = |what: String| Err(CommandError::not_in_transaction(what));
    match command.in_transaction {
        InTransaction::No if command.name == "count" => {
            return refused(
                "Cannot run 'count' in a multi-document transaction: use a pipeline with $count".to_owned(),
            );
        }
        InTransaction::No => return refused(format!("Cannot run '{}' in a multi-document transaction.", command.name)),
        InTransaction::End | InTransaction::Later if starts => {
            return refused(format!("Cannot start a transaction with {}", command.name));
        }
        _ => {}
    }
    if command.in_transaction != InTransaction::End && body.document("writeConcern").is_some() {
        return wrong("writeConcern is not allowed within a multi-statement transaction");
    }
    check_concern(body, starts)?;
    check_namespaces(incoming)
}

/// Only the first command of a transaction has a read concern, which is that of the whole transaction.
fn check_concern(body: &Body, starts: bool) -> CommandResult<()> {
    let Some(given) = body.document("readConcern") else { return Ok(()) };
    if !starts && !given.is_empty() {
        let message = "Only the first command in a transaction may specify a readConcern";
        return Err(CommandError::invalid_options(message));
    }
    let concern = ReadConcern::parse(body)?;
    if matches!(concern.level, ReadLevel::Available | ReadLevel::Linearizable) {
        let message = "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in \
                       a transaction";
        return Err(CommandError::invalid_options(message));
    }
    if concern.at.is_some() {
        let message = "a transaction reads the state at its begin: atClusterTime is for reads without a transaction";
        return Err(CommandError::invalid_options(message));
    }
    Ok(())
}

/// Refuses the collections of the server itself, as MongoDB does.
fn check_namespaces(incoming: &Incoming<'_>) -> CommandResult<()> {
    let Incoming { command, db, body, sequences, namespace, .. } = *incoming;
    if command.in_transaction == InTransaction::End {
        return Ok(());
    }
    if !command.admin_only {
        return check_namespace(db, namespace);
    }
    let sent_beside =
        sequences.iter().filter(|sequence| sequence.name == "nsInfo").flat_map(|sequence| sequence.iter());
    let sent_beside = sent_beside.flatten().filter_map(|raw| alluvium_document::bson::decode_document(raw).ok());
    let within = body.elements("nsInfo").unwrap_or_default().iter().filter_map(Value::as_map).cloned();
    sent_beside.chain(within).try_for_each(|info| {
        let name = info.text("ns").unwrap_or_default();
        check_namespace(name.split_once('.').map_or(name, |(db, _)| db), name)
    })
}

fn check_namespace(db: &str, namespace: &str) -> CommandResult<()> {
    if namespace == BULK_WRITES {
        return Ok(());
    }
    if SERVERS_OWN.contains(&db) {
        let message = format!("Cannot run command against the '{db}' database in a transaction.");
        return Err(CommandError::not_in_transaction(message));
    }
    match namespace.split_once('.') {
        Some((_, collection)) if collection.starts_with("system.") => {
            let message = format!("Cannot run command against the '{namespace}' namespace in a transaction.");
            Err(CommandError::not_in_transaction(message))
        }
        _ => Ok(()),
    }
}

/// Joins a command with the transaction of its session; `None` for a command outside of transactions.
///
/// # Errors
/// Those of [`crate::sessions::Sessions::join`].
pub(super) fn join<'a>(
    shared: &'a Shared,
    command: &Command,
    body: &Body,
    session: Option<&SessionId>,
    stop: &Arc<AtomicBool>,
) -> CommandResult<Option<Joined<'a>>> {
    if !is_within(body) {
        return Ok(None);
    }
    let (Some(session), Some(number)) = (session, body.integer("txnNumber")) else { return Ok(None) };
    let step = match command.name {
        "commitTransaction" => Step::Commit,
        "abortTransaction" => Step::Abort,
        _ if body.flag("startTransaction") => Step::Begin,
        _ => Step::Continue,
    };
    let mut joined = shared.sessions.join(session, number, step, stop)?;
    if joined.replaced {
        shared.cursors.kill_of_transaction(session);
    }
    if step == Step::Begin {
        let last = if joined.is_first { retries::last_number(&shared.db, session)? } else { None };
        if let Some(last) = last.filter(|last| *last >= number) {
            shared.sessions.forget_number(session);
            return Err(transaction_too_old(number, last));
        }
        retries::prepare(&shared.db)?;
        joined.begin(&shared.db)?;
    }
    Ok(Some(joined))
}

/// Makes a write wait for the end of the transaction with this number, if its time is not over.
///
/// # Errors
/// Error 50 or 11601 if the write may not wait any longer.
pub(super) fn wait(call: &Call<'_>, transaction: Option<u64>) -> CommandResult<()> {
    let limit = call.max_time();
    let limit = if limit.is_zero() { WAIT_MAX } else { limit };
    let until = call.client.waits.take_resumed().unwrap_or(call.began + limit);
    if until > call.shared.env.clock.now() {
        let ended = transaction.and_then(|number| call.shared.sessions.transactions.end_of(number));
        call.client.waits.begin(Wait { until, event: Event::Transaction(ended) });
        return Ok(());
    }
    match until.is_zero() {
        true => Err(CommandError::new(11601, "Interrupted", "operation was interrupted")),
        false if !call.max_time().is_zero() => Err(CommandError::time_limit()),
        // The error of the write itself.
        false => Ok(()),
    }
}

/// Ends a command of a transaction. The transaction ends with a command that fails.
pub(super) fn finish<T>(
    shared: &Shared,
    session: &SessionId,
    joined: &mut Joined<'_>,
    end: End,
    result: CommandResult<T>,
) -> CommandResult<T> {
    let end = if result.is_err() && end == End::None { End::Aborted } else { end };
    let (has_ended, expired) = joined.finish(end);
    if has_ended {
        shared.cursors.kill_of_transaction(session);
    }
    result.map_err(|error| expired.unwrap_or(error))
}
