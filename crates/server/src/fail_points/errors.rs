//! The errors of fail points: the MongoDB codes that tests use, with their names.

use crate::error::CommandError;
use crate::fields::Fields;
use alluvium::Map;

const NAMES: [(i32, &str); 61] = [
    (1, "InternalError"),
    (2, "BadValue"),
    (4, "NoSuchKey"),
    (6, "HostUnreachable"),
    (7, "HostNotFound"),
    (8, "UnknownError"),
    (9, "FailedToParse"),
    (10, "CannotMutateObject"),
    (11, "UserNotFound"),
    (13, "Unauthorized"),
    (14, "TypeMismatch"),
    (18, "AuthenticationFailed"),
    (20, "IllegalOperation"),
    (26, "NamespaceNotFound"),
    (43, "CursorNotFound"),
    (48, "NamespaceExists"),
    (50, "MaxTimeMSExpired"),
    (59, "CommandNotFound"),
    (63, "StaleShardVersion"),
    (64, "WriteConcernFailed"),
    (72, "InvalidOptions"),
    (79, "UnknownReplWriteConcern"),
    (89, "NetworkTimeout"),
    (91, "ShutdownInProgress"),
    (96, "OperationFailed"),
    (100, "UnsatisfiableWriteConcern"),
    (112, "WriteConflict"),
    (115, "CommandNotSupported"),
    (121, "DocumentValidationFailure"),
    (133, "FailedToSatisfyReadPreference"),
    (134, "ReadConcernMajorityNotAvailableYet"),
    (136, "CappedPositionLost"),
    (150, "StaleEpoch"),
    (175, "QueryPlanKilled"),
    (189, "PrimarySteppedDown"),
    (211, "KeyNotFound"),
    (222, "CloseChangeStream"),
    (225, "TransactionTooOld"),
    (234, "RetryChangeStream"),
    (237, "CursorKilled"),
    (244, "TransactionAborted"),
    (251, "NoSuchTransaction"),
    (256, "TransactionCommitted"),
    (262, "ExceededTimeLimit"),
    (263, "OperationNotSupportedInTransaction"),
    (267, "PreparedTransactionInProgress"),
    (286, "ChangeStreamHistoryLost"),
    (290, "TransactionExceededLifetimeLimitSeconds"),
    (314, "ObjectIsBusy"),
    (322, "APIVersionError"),
    (323, "APIStrictError"),
    (391, "ReauthenticationRequired"),
    (462, "IngressRequestRateLimitExceeded"),
    (9001, "SocketException"),
    (10107, "NotWritablePrimary"),
    (11000, "DuplicateKey"),
    (11600, "InterruptedAtShutdown"),
    (11601, "Interrupted"),
    (11602, "InterruptedDueToReplStateChange"),
    (13435, "NotPrimaryNoSecondaryOk"),
    (13436, "NotPrimaryOrSecondary"),
];

/// The name of a code. A code that is not listed has the name of error 8.
pub(super) fn name(code: i32) -> &'static str {
    let at = NAMES.binary_search_by_key(&code, |(code, _)| *code);
    at.ok().and_then(|at| NAMES.get(at)).map_or("UnknownError", |(_, name)| name)
}

/// The message of an error that a fail point causes.
pub(super) fn message(point: &str) -> String {
    format!("Failing command via '{point}' failpoint")
}

/// The error whose code is in this field of the data.
pub(super) fn error(data: &Map, field: &str, point: &str) -> Option<CommandError> {
    let code = i32::try_from(data.integer(field)?).ok()?;
    Some(CommandError::new(code, name(code), message(point)))
}
