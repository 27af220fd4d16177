//! The effect of `failCommand` on a command.

use super::errors;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional};
use alluvium::{Map, Value};
use std::time::Duration;

const FIELDS: &[Field] = &[
    optional("failCommands", Kind::Array),
    optional("failAllCommands", Kind::Flag),
    optional("failInternalCommands", Kind::Flag),
    optional("appName", Kind::Text),
    optional("namespace", Kind::Text),
    optional("errorCode", Kind::Integer),
    optional("errorExtraInfo", Kind::Document),
    optional("errorLabels", Kind::Array),
    optional("writeConcernError", Kind::Document),
    optional("closeConnection", Kind::Flag),
    optional("blockConnection", Kind::Flag),
    optional("blockTimeMS", Kind::Integer),
];

/// The failures for a command, in the order in which they happen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// It waits for so long.
    pub wait: Duration,
    /// The connection is closed instead of a reply.
    pub closes: bool,
    /// It is not carried out, and has this error.
    pub error: Option<CommandError>,
    /// Its reply has this error of the write concern.
    pub write_concern_error: Option<Map>,
    /// The labels of the error, in place of those that it would have.
    pub labels: Option<Vec<Value>>,
}

impl Failure {
    /// The failure that the data of the fail point describe.
    pub(super) fn of(data: &Map, point: &str) -> Self {
        let millis = data.integer("blockTimeMS").filter(|_| data.flag("blockConnection"));
        let wait = Duration::from_millis(millis.and_then(|millis| u64::try_from(millis).ok()).unwrap_or(0));
        let mut error = errors::error(data, "errorCode", point);
        if let (Some(error), Some(more)) = (&mut error, data.document("errorExtraInfo")) {
            error.fields.entries.extend(more.entries.iter().cloned());
        }
        Self {
            wait,
            closes: data.flag("closeConnection"),
            error,
            write_concern_error: data.document("writeConcernError").cloned(),
            labels: data.elements("errorLabels").map(<[Value]>::to_vec),
        }
    }
}

impl Failure {
    /// The same for a command with these fields: one that would wait for longer than its time limit exceeds it. The limit
    /// of `getMore` is another one.
    pub(crate) fn within_limit(mut self, body: &Map) -> Self {
        let limit = body.integer("maxTimeMS").and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        if let Some(limit) = limit.filter(|limit| !limit.is_zero() && *limit < self.wait && !body.contains("getMore")) {
            self.wait = limit;
            self.closes = false;
            self.error = Some(CommandError::time_limit());
        }
        self
    }
}

/// Checks the data of the fail point.
///
/// # Errors
/// Error 14 for a field of another type, 9 for fields that do not fit together.
pub(super) fn check(data: &Map) -> CommandResult<()> {
    fields::check("configureFailPoint.data", FIELDS, data)?;
    let is_text = |value: &Value| matches!(value, Value::String(_));
    for name in ["failCommands", "errorLabels"] {
        if !data.elements(name).unwrap_or_default().iter().all(is_text) {
            return Err(CommandError::type_mismatch(format!(
                "the field data.{name} of failCommand has other values than texts"
            )));
        }
    }
    if data.flag("blockConnection") && data.integer("blockTimeMS").is_none_or(|millis| millis < 0) {
        let message = "must specify a 'blockTimeMS' that is not negative if 'blockConnection' is true";
        return Err(CommandError::failed_to_parse(message));
    }
    match data.entries.iter().find(|(name, _)| !FIELDS.iter().any(|field| name.as_str() == Some(field.name))) {
        Some((name, _)) => {
            Err(CommandError::not_supported(format!("the field data.{name} of failCommand is not supported")))
        }
        None => Ok(()),
    }
}

/// A command that may fail.
pub(crate) struct Candidate<'a> {
    /// The name of the command, as in the registry.
    pub name: &'static str,
    /// The fields.
    pub body: &'a Map,
    /// The name in the registry of a command with a name or an alias.
    pub resolve: fn(&str) -> Option<&'static str>,
    /// The name that the client has given itself.
    pub application: &'a dyn Fn() -> Option<String>,
}

/// True if a command is one of those that fail.
pub(super) fn applies(data: &Map, candidate: &Candidate<'_>) -> bool {
    let is_this = |listed: &Value| listed.as_str().and_then(candidate.resolve) == Some(candidate.name);
    let is_listed = data.elements("failCommands").unwrap_or_default().iter().any(is_this);
    if !is_listed && !data.flag("failAllCommands") {
        return false;
    }
    let body = candidate.body;
    if let Some(namespace) = data.text("namespace") {
        let first = body.entries.first().and_then(|(_, value)| value.as_str()).unwrap_or_default();
        if format!("{}.{first}", body.text("$db").unwrap_or_default()) != namespace {
            return false;
        }
    }
    data.text("appName").is_none_or(|wanted| (candidate.application)().as_deref() == Some(wanted))
}
