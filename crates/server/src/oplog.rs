//! The name `local.oplog.rs`. The server shows the recorded changes under it if its settings say so; otherwise the name is
//! refused.

use crate::config::Config;
use crate::error::{CommandError, CommandResult};

/// The database of the log.
pub(crate) const DB: &str = "local";
/// The name of the log.
pub(crate) const NAME: &str = "oplog.rs";
/// The full names of operation logs. The second one was that of old servers.
const NAMES: [&str; 2] = ["local.oplog.rs", "local.oplog.$main"];

/// The use of a collection by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UseOfLog {
    /// The command reads documents.
    Reads,
    /// The command drops a collection.
    Drops,
    /// The command writes in another way.
    Writes,
    /// None of these.
    Other,
}

/// True if this is the log, and the server shows it.
pub(crate) fn is_shown(config: &Config, db: &str, collection: &str) -> bool {
    config.oplog && db == DB && collection == NAME
}

/// Checks that a request may use a collection. A program that follows a log which the server does not show would wait
/// forever, because the collection would be empty.
///
/// # Errors
/// Error 115 if the server does not show the log; 20 for its drop; 73 for other writes.
pub(crate) fn check(config: &Config, namespace: &str, how: UseOfLog) -> CommandResult<()> {
    if !config.oplog || namespace == NAMES[1] {
        return if how == UseOfLog::Other { Ok(()) } else { refuse(namespace) };
    }
    match how {
        UseOfLog::Reads | UseOfLog::Other => Ok(()),
        UseOfLog::Writes => refuse_write(config, namespace),
        UseOfLog::Drops if namespace != NAMES[0] => Ok(()),
        UseOfLog::Drops => Err(CommandError::illegal_operation("can't drop live oplog while replicating")),
    }
}

/// Refuses the names of operation logs.
///
/// # Errors
/// Error 115.
pub(crate) fn refuse(namespace: &str) -> CommandResult<()> {
    if !NAMES.contains(&namespace) {
        return Ok(());
    }
    let message = format!("{namespace} is not shown: begin `alluvium serve` with --oplog to read local.oplog.rs");
    Err(CommandError::not_supported(message))
}

/// Refuses writes to the log that the server shows.
///
/// # Errors
/// Error 73.
pub(crate) fn refuse_write(config: &Config, namespace: &str) -> CommandResult<()> {
    match config.oplog && namespace == NAMES[0] {
        true => Err(CommandError::invalid_namespace(format!("cannot write to {namespace}"))),
        false => Ok(()),
    }
}
