//! Common parts of commands that write.

use crate::body::Body;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
pub(crate) use crate::numbers::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

/// The most statements of one command, as `hello` announces it.
pub(crate) const STATEMENTS_MAX: usize = 100_000;

/// True unless the command sets `ordered` to false.
pub(crate) fn is_ordered(body: &Body) -> bool {
    !body.contains("ordered") || body.flag("ordered")
}

/// Refuses a command without statements, or with too many.
///
/// # Errors
/// Error 16.
pub(crate) fn check_count(statements: usize) -> CommandResult<()> {
    match statements {
        1..=STATEMENTS_MAX => Ok(()),
        _ => {
            let message =
                format!("Write batch sizes must be between 1 and {STATEMENTS_MAX}. Got {statements} operations.");
            Err(CommandError::invalid_length(message))
        }
    }
}

/// The results of the statements of a command.
pub(crate) struct Outcome {
    ordered: bool,
    over: bool,
    /// The number of documents that were inserted, matched or deleted.
    pub matched: u64,
    /// The number of documents that updates have changed.
    pub modified: u64,
    /// The positions of upserts, and the inserted `_id`s.
    pub upserted: Vec<(usize, Value)>,
    errors: Vec<Value>,
    retried: Vec<Value>,
    /// The error of the whole command.
    failed: Option<CommandError>,
}

impl Outcome {
    pub(crate) fn new(ordered: bool) -> Self {
        Self {
            ordered,
            over: false,
            matched: 0,
            modified: 0,
            upserted: Vec::new(),
            errors: Vec::new(),
            retried: Vec::new(),
            failed: None,
        }
    }

    /// True if no further statement may run.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Notes that an earlier attempt carried out the statement.
    pub(crate) fn retried(&mut self, call: &Call<'_>, at: usize) {
        self.retried.extend(call.retry.as_ref().map(|retry| Value::Int32(retry.statement(at))));
    }

    /// Notes that a statement failed. In a transaction, no further statement runs.
    pub(crate) fn fail(&mut self, call: &Call<'_>, at: usize, error: CommandError) {
        self.over |= self.ordered || error.is_fatal() || call.transaction.is_some();
        if let Err(error) = call.note_failed(&error) {
            self.failed = Some(error);
            return;
        }
        let mut described = Map::from([("index", int(at as u64))]);
        error.describe(&mut described);
        self.errors.push(Value::Map(described));
    }

    /// The reply with `n`, `upserted` and `writeErrors`, and for updates with `nModified`.
    ///
    /// # Errors
    /// Error 22 if a value cannot be encoded; the error of the whole command.
    pub(crate) fn reply(self, call: &Call<'_>, modified: Option<u64>) -> CommandResult<BsonBuilder> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut builder = call.reply();
        builder.put("n", &int(self.matched + self.upserted.len() as u64))?;
        if let Some(modified) = modified {
            builder.put("nModified", &int(modified))?;
        }
        if !self.upserted.is_empty() {
            let each = |(at, id): (usize, Value)| Value::Map(Map::from([("index", int(at as u64)), ("_id", id)]));
            builder.put("upserted", &Value::Array(self.upserted.into_iter().map(each).collect()))?;
        }
        if !self.errors.is_empty() && !call.write_concern.unacknowledged {
            builder.put("writeErrors", &Value::Array(self.errors))?;
        }
        if !self.retried.is_empty() {
            builder.put("retriedStmtIds", &Value::Array(self.retried))?;
        }
        Ok(builder)
    }
}
