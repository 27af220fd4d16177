//! Errors in the replies of commands.

use crate::shell_text;
use alluvium::{ErrorKind, Map, Value};

/// An error of a command, as a client sees it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name} ({code}): {message}")]
pub(crate) struct CommandError {
    /// The code in MongoDB.
    pub code: i32,
    /// The name of the code in MongoDB.
    pub name: &'static str,
    /// The failure, and how to correct it.
    pub message: String,
    /// Additional fields of the reply, such as `keyValue`.
    pub fields: Map,
    /// The number of the transaction that a write has to wait for.
    pub waits_for: Option<u64>,
    /// True if a change stream has ended with the error.
    pub is_of_stream: bool,
}

/// The result of a command.
pub(crate) type CommandResult<T> = Result<T, CommandError>;

macro_rules! codes {
    ($($function:ident = $code:literal $name:literal,)*) => {
        impl CommandError {
            $(
                #[doc = concat!("Error ", $code, ", ", $name, ".")]
                pub(crate) fn $function(message: impl Into<String>) -> Self {
                    Self::new($code, $name, message)
                }
            )*
        }
    };
}

codes! {
    internal = 1 "InternalError",
    bad_value = 2 "BadValue",
    no_such_key = 4 "NoSuchKey",
    failed_to_parse = 9 "FailedToParse",
    unauthorized = 13 "Unauthorized",
    type_mismatch = 14 "TypeMismatch",
    invalid_length = 16 "InvalidLength",
    illegal_operation = 20 "IllegalOperation",
    invalid_bson = 22 "InvalidBSON",
    namespace_not_found = 26 "NamespaceNotFound",
    cursor_not_found = 43 "CursorNotFound",
    namespace_exists = 48 "NamespaceExists",
    command_not_found = 59 "CommandNotFound",
    invalid_options = 72 "InvalidOptions",
    invalid_namespace = 73 "InvalidNamespace",
    no_replication = 76 "NoReplicationEnabled",
    not_supported_on_view = 166 "CommandNotSupportedOnView",
    unsatisfiable_write_concern = 100 "UnsatisfiableWriteConcern",
    not_supported = 115 "CommandNotSupported",
    no_such_transaction = 251 "NoSuchTransaction",
    not_in_transaction = 263 "OperationNotSupportedInTransaction",
    cursor_in_use = 12051 "Location12051",
    missing_field = 40414 "IDLFailedToParse",
    unknown_field = 40415 "Location40415",
}

impl CommandError {
    /// Creates an error with a code that has no function of its own.
    pub(crate) fn new(code: i32, name: &'static str, message: impl Into<String>) -> Self {
        Self { code, name, message: message.into(), fields: Map::new(), waits_for: None, is_of_stream: false }
    }

    /// Adds a field to the reply.
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.push(field, value);
        self
    }

    /// Adds the error to a reply, or to the error of one write: code, message and additional fields.
    pub(crate) fn describe(&self, map: &mut Map) {
        map.push("code", self.code);
        map.push("errmsg", self.message.as_str());
        for (name, value) in &self.fields.entries {
            map.push(name.clone(), value.clone());
        }
    }

    /// Error 50: a command has exceeded its time limit.
    pub(crate) fn time_limit() -> Self {
        Self::new(50, "MaxTimeMSExpired", "operation exceeded time limit")
    }

    /// True if no further write can succeed.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self.name, "ShutdownInProgress" | "WriteUnavailable")
    }
}

impl From<alluvium::Error> for CommandError {
    fn from(error: alluvium::Error) -> Self {
        let (code, name) = error.code().unwrap_or_else(|| by_kind(error.kind()));
        match error {
            alluvium::Error::DuplicateKey { collection, id } => duplicate_id(&collection, &id),
            alluvium::Error::DuplicateIndexKey { collection, index, key_value, key_pattern, .. } => {
                let shown = shell_text::of_map(&key_value);
                let message =
                    format!("E11000 duplicate key error collection: {collection} index: {index} dup key: {shown}");
                Self::new(11000, "DuplicateKey", message).with("keyPattern", *key_pattern).with("keyValue", *key_value)
            }
            alluvium::Error::Validation { details, .. } => {
                Self::new(code, name, "Document failed validation").with("errInfo", *details)
            }
            error => {
                let waits_for = transaction_of(&error);
                Self { waits_for, ..Self::new(code, name, error.to_string()) }
            }
        }
    }
}

/// The number of the transaction that a write has to wait for.
fn transaction_of(error: &alluvium::Error) -> Option<u64> {
    match error {
        alluvium::Error::Store(alluvium::kv::Error::Claimed { set }) => Some(*set),
        alluvium::Error::WriteMany { error, .. } => transaction_of(error),
        alluvium::Error::BulkWrite { errors, .. } => transaction_of(&errors.first()?.1),
        _ => None,
    }
}

/// True if the error says that a command was ended before its work was done.
pub(crate) fn is_interruption(code: i32) -> bool {
    const CODES: [i32; 3] = [50, 11600, 11601];
    CODES.contains(&code)
}

/// True if repeating a retryable write after an error with this code may succeed, according to the drivers'
/// specification.
pub(crate) fn is_worth_a_retry(code: i32) -> bool {
    const CODES: [i32; 12] = [6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436];
    CODES.contains(&code)
}

/// True if a change stream that has ended with an error of this code can be resumed, according to the drivers'
/// specification.
pub(crate) fn is_resumable(code: i32) -> bool {
    const OF_STREAMS: [i32; 5] = [63, 133, 150, 234, 13388];
    OF_STREAMS.contains(&code) || is_worth_a_retry(code)
}

/// True if a change stream that has ended with an error of this code cannot be resumed after its last token.
pub(crate) fn is_fatal_to_streams(code: i32) -> bool {
    const CODES: [i32; 2] = [280, 286];
    CODES.contains(&code)
}

/// True if repeating a whole transaction after an error with this code may succeed. The error of a commit or an abort says
/// less: a commit that was interrupted may have happened.
pub(crate) fn is_transient(code: i32, is_end: bool) -> bool {
    const CONFLICTS: [i32; 6] = [24, 112, 239, 246, 251, 267];
    CONFLICTS.contains(&code) || !is_end && is_worth_a_retry(code)
}

/// The error for an `_id` that exists already; `id` is extended JSON.
fn duplicate_id(collection: &str, id: &str) -> CommandError {
    let value = alluvium_document::json::parse(id.as_bytes()).unwrap_or(Value::Null);
    let value = Map::from([("_id", value)]);
    let shown = shell_text::of_map(&value);
    let message = format!("E11000 duplicate key error collection: {collection} index: _id_ dup key: {shown}");
    CommandError::new(11000, "DuplicateKey", message)
        .with("keyPattern", Map::from([("_id", Value::Int32(1))]))
        .with("keyValue", value)
}

/// The code for an error of the library that has no counterpart in MongoDB.
fn by_kind(kind: ErrorKind) -> (i32, &'static str) {
    match kind {
        ErrorKind::DuplicateKey => (11000, "DuplicateKey"),
        ErrorKind::Namespace => (26, "NamespaceNotFound"),
        ErrorKind::Invalid | ErrorKind::Open => (2, "BadValue"),
        ErrorKind::ReadOnly | ErrorKind::InUse => (20, "IllegalOperation"),
        ErrorKind::Corruption => (301, "DataCorruptionDetected"),
        ErrorKind::NoSpace => (14031, "OutOfDiskSpace"),
        ErrorKind::Poisoned | ErrorKind::OutcomeUnknown => (96, "OperationFailed"),
        ErrorKind::SnapshotTooOld => (239, "SnapshotTooOld"),
        ErrorKind::Closed => (91, "ShutdownInProgress"),
        ErrorKind::Stopped => (11601, "Interrupted"),
        ErrorKind::TimedOut => (50, "MaxTimeMSExpired"),
        _ => (8, "UnknownError"),
    }
}

impl From<alluvium_document::bson::BsonError> for CommandError {
    fn from(error: alluvium_document::bson::BsonError) -> Self {
        Self::invalid_bson(error.to_string())
    }
}

impl From<alluvium::DocumentError> for CommandError {
    fn from(error: alluvium::DocumentError) -> Self {
        Self::invalid_bson(error.to_string())
    }
}
