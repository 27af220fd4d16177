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
    /// The time that the command waits.
    pub wait: Duration,
    /// True if the connection is closed instead of a reply.
    pub closes: bool,
    /// If set, the command is not carried out and fails with this error.
    pub error: Option<CommandError>,
    /// If set, the reply has this write concern error.
    pub write_concern_error: Option<Map>,
    /// The labels that replace the usual labels of the error.
    pub labels: Option<Vec<Value>>,
}

impl Failure {
    /// The failure that the data of a fail point describes.
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
    /// Limits the wait to the time limit of the command: a command that would wait longer fails with the error of its
    /// time limit. `maxTimeMS` of a `getMore` has another meaning and is ignored.
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
/// Error 14 for a field of another type, 9 for fields that contradict each other.
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

/// A command that a fail point may select.
pub(crate) struct Candidate<'a> {
    /// The name of the command, as in the registry.
    pub name: &'static str,
    /// The fields.
    pub body: &'a Map,
    /// Resolves a name or an alias to the name of the command in the registry.
    pub resolve: fn(&str) -> Option<&'static str>,
    /// The application name of the client.
    pub application: &'a dyn Fn() -> Option<String>,
}

/// True if the data of the fail point selects a command.
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
