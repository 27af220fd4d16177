//! `logRotate`, `rotateCertificates`, `dropConnections`, `lockInfo`: files and connections of the server.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const LOG_ROTATE: Command = Command {
    fields: &[required("logRotate", Kind::FlagOrText)],
    access: Access::Server(Action::LogRotate),
    admin_only: true,
    ..Command::reading("logRotate", log_rotate).audited().strict()
};

/// Opens the audit log again, as SIGHUP does. The server log is written to standard error, which cannot be opened
/// again.
fn log_rotate(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let audits = call.shared.config.audit.is_some();
    match call.argument().as_str() {
        Some("server") => return Ok(call.reply()),
        Some("audit") if audits => {}
        Some(other) => return Err(CommandError::no_such_key(format!("Unknown log type '{other}' for logRotate"))),
        None => {}
    }
    let reopened = call.shared.security.audit.reopen();
    reopened.map_err(|error| CommandError::new(37, "FileRenameFailed", error.to_string()))?;
    Ok(call.reply())
}

pub(super) const ROTATE_CERTIFICATES: Command = Command {
    fields: &[required("rotateCertificates", Kind::Any), optional("message", Kind::Text)],
    access: Access::Server(Action::RotateCertificates),
    admin_only: true,
    ..Command::reading("rotateCertificates", rotate_certificates).audited().strict()
};

/// Reads the TLS certificates for later connections, as SIGHUP does.
fn rotate_certificates(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if let Some(tls) = &call.shared.tls {
        tls.reload().map_err(|error| CommandError::new(140, "InvalidSSLConfiguration", error.to_string()))?;
    }
    Ok(call.reply())
}

pub(super) const DROP_CONNECTIONS: Command = Command {
    fields: &[required("hostAndPort", Kind::Array)],
    access: Access::Server(Action::DropConnections),
    admin_only: true,
    ..Command::reading("dropConnections", drop_connections).audited().control().strict()
};

/// Drops the connections of this server to other servers. There are no such connections.
fn drop_connections(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    for host in call.body.elements("hostAndPort").unwrap_or_default() {
        match host {
            Value::Null | Value::Undefined => {}
            Value::String(text) if is_host(text) => {}
            Value::String(text) => {
                return Err(CommandError::failed_to_parse(format!("'{text}' is no host or host:port")));
            }
            other => {
                let found = other.type_name();
                let message = format!(
                    "BSON field 'dropConnections.hostAndPort' has an element of type '{found}', expected 'string'"
                );
                return Err(CommandError::type_mismatch(message));
            }
        }
    }
    Ok(call.reply())
}

/// True for a host with or without a port. An IPv6 address is in brackets.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => match port.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None => return false,
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    !host.is_empty() && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

pub(super) const LOCK_INFO: Command = Command {
    access: Access::Server(Action::ServerStatus),
    admin_only: true,
    ..Command::reading("lockInfo", lock_info).control().strict()
};

/// Lists the locks that clients hold, which are the locks of `fsync`.
fn lock_info(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let granted: Vec<Value> = (0..call.shared.writes.locks())
        .map(|_| Value::Map(Map::from([("mode", Value::from("S")), ("desc", Value::from("fsyncLockWorker"))])))
        .collect();
    let entry = |granted: Vec<Value>| {
        Value::Map(Map::from([
            ("resourceId", Value::from("Global")),
            ("granted", Value::Array(granted)),
            ("pending", Value::Array(Vec::new())),
        ]))
    };
    let entries = if granted.is_empty() { Vec::new() } else { vec![entry(granted)] };
    call.answer(&Map::from([("lockInfo", Value::Array(entries))]))
}
