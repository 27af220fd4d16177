//! `commitTransaction`, `abortTransaction`.

use super::{Command, InTransaction};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Kind, optional};
use crate::retries;
use crate::security::access::Access;
use crate::sessions::{End, Joining, transaction_too_old};
use alluvium::{ErrorKind, Transaction};
use alluvium_document::BsonBuilder;

/// The token is that of routers of sharded clusters; here, it has no effect.
const FIELDS: &[Field] = &[optional("recoveryToken", Kind::Document)];

pub(super) const COMMIT: Command = ending("commitTransaction", commit);
pub(super) const ABORT: Command = ending("abortTransaction", abort);

const fn ending(name: &'static str, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Command {
    Command {
        fields: FIELDS,
        access: Access::Login,
        admin_only: true,
        in_transaction: InTransaction::End,
        ..Command::writing(name, run).stable()
    }
}

/// Commits the transaction. A client may repeat the commit, also after a restart of the server: the commit of a transaction
/// that has written something leaves a record.
fn commit(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (Some(joined), Some(session)) = (&call.transaction, &call.session) else { return Err(outside(call)) };
    match (joined.before, joined.transaction()) {
        (Joining::Committed, _) => {}
        (Joining::Unknown, _) => return Err(unknown_outcome()),
        (Joining::Open, Some(transaction)) => {
            if transaction.has_writes()? {
                retries::record_commit(transaction, session, joined.number)?;
            }
            end(call, transaction)?;
        }
        (Joining::Unseen | Joining::Open, _) => match retries::last_commit(&call.shared.db, session)? {
            Some(number) if number == joined.number => {}
            Some(number) if number > joined.number => return Err(transaction_too_old(joined.number, number)),
            _ => {
                let message = format!("there is no transaction {}, or it was aborted: begin it again", joined.number);
                return Err(CommandError::no_such_transaction(message));
            }
        },
    }
    Ok(call.reply())
}

fn end(call: &Call<'_>, transaction: &Transaction) -> CommandResult<()> {
    let committed = match call.write_concern.durability() {
        None => transaction.commit(),
        Some(durability) => transaction.commit_with(durability),
    };
    let (end, result) = match committed {
        Ok(()) => (End::Committed, Ok(())),
        Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
            log::error!("the outcome of a commit is unknown: {error}");
            (End::Unknown, Err(unknown_outcome()))
        }
        Err(error) => (End::Aborted, Err(error.into())),
    };
    call.transaction_end.set(end);
    // A commit that was to be durable has waited for the disk itself.
    call.note_durable(result.is_ok());
    result
}

fn abort(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.transaction.is_none() {
        return Err(outside(call));
    }
    call.transaction_end.set(End::Aborted);
    Ok(call.reply())
}

fn outside(call: &Call<'_>) -> CommandError {
    CommandError::new(125, "CommandFailed", format!("{} must be run within a transaction", call.name))
}

/// The error after a commit that may have happened or not. A client repeats the commit after it, and not the transaction.
fn unknown_outcome() -> CommandError {
    let message = "the outcome of the commit is unknown, because the disk has failed: repeat the commit after a restart of \
                   the server";
    CommandError::new(262, "ExceededTimeLimit", message)
}
