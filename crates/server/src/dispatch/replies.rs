//! Replies: the fields that all replies have, and errors.

use super::transactions;
use crate::body::Body;
use crate::commands::{Command, InTransaction};
use crate::error::{self, CommandError, CommandResult};
use crate::fields::Fields;
use crate::server_stages::change_streams;
use crate::shared::Shared;
use alluvium::{Binary, Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_document::bson::encode_document;
use alluvium_wire::{Form, reply};
use std::sync::LazyLock;

/// The label of an error after which a whole transaction may be repeated.
const TRANSIENT: &str = "TransientTransactionError";
/// The label of an error after which a write or a commit may be repeated.
const RETRYABLE: &str = "RetryableWriteError";

/// The label of an error after which a change stream may be resumed.
const RESUMABLE: &str = "ResumableChangeStreamError";
/// The label of an error after which a change stream cannot be resumed.
const NOT_RESUMABLE: &str = "NonResumableChangeStreamError";

/// The labels of the error in a reply. Clients use labels to decide whether to retry.
pub(super) struct Labels {
    /// The part of its work that the client may repeat.
    repeated: Repeated,
    /// True if the command opens a change stream.
    opens_stream: bool,
    /// The labels that a fail point sets for the error.
    given: Option<Vec<Value>>,
}

/// The part of its work that a client may repeat after an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated {
    /// Not said.
    Unsaid,
    /// A retryable write.
    Write,
    /// The transaction of a statement.
    Transaction,
    /// The commit or the abort of a transaction, or the transaction.
    End,
}

impl Labels {
    /// The labels of the errors of a request. `given` are those of a fail point.
    pub(super) fn new(command: &Command, body: &Body, given: Option<Vec<Value>>) -> Self {
        let repeated = match command.in_transaction {
            _ if !body.contains("txnNumber") => Repeated::Unsaid,
            _ if !transactions::is_within(body) => Repeated::Write,
            InTransaction::End => Repeated::End,
            _ => Repeated::Transaction,
        };
        let opens_stream = command.name == "aggregate" && change_streams::is_wanted(body);
        Self { repeated, opens_stream, given }
    }

    /// The field with the labels of an error of a write concern.
    fn of_concern(&self, code: i32) -> Map {
        // The command itself has succeeded, so no transaction has to be repeated.
        let is_retryable = matches!(self.repeated, Repeated::Write | Repeated::End) && error::is_worth_a_retry(code);
        self.labelled(is_retryable.then_some(RETRYABLE))
    }

    /// The field with the labels of an error; empty if the error has no labels.
    pub(super) fn of(&self, error: &CommandError) -> Map {
        let code = error.code;
        let is_of_stream = self.opens_stream || error.is_of_stream;
        let label = match self.repeated {
            _ if is_of_stream && error::is_resumable(code) => Some(RESUMABLE),
            _ if is_of_stream && error::is_fatal_to_streams(code) => Some(NOT_RESUMABLE),
            Repeated::Transaction if error::is_transient(code, false) => Some(TRANSIENT),
            Repeated::End if error::is_transient(code, true) => Some(TRANSIENT),
            Repeated::Write | Repeated::End if error::is_worth_a_retry(code) => Some(RETRYABLE),
            _ => None,
        };
        self.labelled(label)
    }

    fn labelled(&self, label: Option<&str>) -> Map {
        let labels = self.given.clone().unwrap_or_else(|| label.into_iter().map(Value::from).collect());
        let labels = Some(labels).filter(|labels| !labels.is_empty());
        Map { entries: labels.into_iter().map(|labels| ("errorLabels".into(), Value::Array(labels))).collect() }
    }
}

/// The reply to a message that is not a valid request.
pub(crate) fn refused(form: Form, error: &CommandError) -> Vec<u8> {
    failed(form, error, Map::new())
}

/// Adds the error of a write concern to the reply of a command that has succeeded.
pub(super) fn put_concern_error(builder: &mut BsonBuilder, error: Map, labels: &Labels) -> CommandResult<()> {
    let code = error.integer("code").and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
    builder.put("writeConcernError", &Value::Map(error))?;
    for (name, value) in &labels.of_concern(code).entries {
        builder.put(name.as_str().unwrap_or_default(), value)?;
    }
    Ok(())
}

/// The error of a write concern as a document for a reply.
pub(super) fn describe(error: &CommandError) -> Map {
    let (code, name) = (Value::from(error.code), Value::from(error.name));
    Map::from([("code", code), ("codeName", name), ("errmsg", Value::from(error.message.as_str()))])
}

/// Completes the reply of a command that has succeeded. Its time is that of its own last write, with the number
/// `written`, or of all writes so far: others may have written since, and a change stream that begins at the time has the
/// client's own write.
///
/// # Errors
/// Error 22 if a document in it cannot be encoded.
pub(super) fn complete(shared: &Shared, mut builder: BsonBuilder, written: Option<u64>) -> CommandResult<Vec<u8>> {
    builder.put("ok", &Value::from(1.0))?;
    if shared.config.replica_set.is_some() {
        let time = shared.time();
        builder.open_document("$clusterTime")?;
        builder.put("clusterTime", &Value::Timestamp(time))?;
        builder.put_encoded("signature", &SIGNATURE_BYTES)?;
        builder.close()?;
        let own = written.and_then(|number| shared.cluster_time.time_of_write(number));
        builder.put("operationTime", &Value::Timestamp(own.map_or(time, |own| own.min(time))))?;
    }
    Ok(builder.finish()?)
}

/// The signature in every cluster time. It is constant, because no signature is verified.
static SIGNATURE: LazyLock<Map> = LazyLock::new(|| {
    let hash = Value::Binary(Binary { subtype: 0, bytes: vec![0; 20] });
    Map::from([("hash", hash), ("keyId", Value::Int64(0))])
});

/// The signature in BSON.
static SIGNATURE_BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    // The encoding cannot fail, because BSON can hold these fields.
    let _encoded = encode_document(&SIGNATURE, &mut bytes);
    bytes
});

/// The fields that a member of a replica set adds to every reply.
pub(super) fn cluster_time(shared: &Shared) -> Map {
    if shared.config.replica_set.is_none() {
        return Map::new();
    }
    let time = Value::Timestamp(shared.time());
    let cluster = Map::from([("clusterTime", time.clone()), ("signature", Value::Map(SIGNATURE.clone()))]);
    Map::from([("$clusterTime", Value::Map(cluster)), ("operationTime", time)])
}

/// The reply of a failed command, with additional fields.
pub(super) fn failed(form: Form, error: &CommandError, more: Map) -> Vec<u8> {
    let mut fields = Map::from([("ok", Value::from(0.0))]);
    fields.push("errmsg", error.message.as_str());
    fields.push("code", error.code);
    fields.push("codeName", error.name);
    fields.entries.extend(error.fields.entries.iter().cloned());
    fields.entries.extend(more.entries);
    let mut bytes = reply::begin(form);
    // The encoding cannot fail, because no name or text here is invalid in BSON. If it failed, an empty document would
    // still be a valid reply.
    if encode_document(&fields, &mut bytes).is_err() {
        bytes.extend_from_slice(&[5, 0, 0, 0, 0]);
    }
    bytes
}
