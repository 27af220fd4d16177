//! `$currentOp`: the running operations, idle connections and open cursors.

use super::options;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Fields, Kind, optional};
use crate::operations::Operation;
use crate::sessions::OpenTransaction;
use alluvium::{Binary, Map, Value};

const OPTIONS: &[Field] = &[
    optional("allUsers", Kind::Bool).not_null(),
    optional("idleConnections", Kind::Bool).not_null(),
    optional("idleCursors", Kind::Bool).not_null(),
    optional("idleSessions", Kind::Bool).not_null(),
    optional("localOps", Kind::Bool).not_null(),
    optional("targetAllNodes", Kind::Bool).not_null(),
    optional("truncateOps", Kind::Bool).not_null(),
];

/// A command with more characters than this is truncated, if the client asks for truncation.
const COMMAND_CHARACTERS_MAX: usize = 1_000;

/// Selects the operations in the list, and their form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Which {
    /// Include connections without a running operation.
    pub idle_connections: bool,
    /// Include cursors that no command is reading.
    pub idle_cursors: bool,
    /// Include transactions without a running statement.
    pub idle_sessions: bool,
    /// Truncate long commands.
    pub cut: bool,
}

pub(super) fn documents(call: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let options = options("$currentOp", operand, OPTIONS, (14, "TypeMismatch"))?;
    if options.flag("targetAllNodes") {
        let message = "The 'targetAllNodes' parameter of $currentOp is for routers of sharded clusters";
        return Err(CommandError::failed_to_parse(message));
    }
    Ok(list(
        call,
        Which {
            idle_connections: options.flag("idleConnections"),
            idle_cursors: options.flag("idleCursors"),
            idle_sessions: !options.contains("idleSessions") || options.flag("idleSessions"),
            cut: options.flag("truncateOps"),
        },
    ))
}

/// The operations, as `currentOp` shows them.
pub(crate) fn list(call: &Call<'_>, which: Which) -> Vec<Map> {
    let running = call.shared.operations.list();
    let busy: Vec<i32> = running.iter().map(|(_, operation)| operation.client.id).collect();
    let mut list: Vec<Map> =
        running.into_iter().map(|(number, operation)| describe(call, number, operation, which)).collect();
    if which.idle_connections {
        let idle = call.shared.operations.connections().into_iter().filter(|(number, _)| !busy.contains(number));
        list.extend(idle.map(|(number, address)| {
            let mut entry = connection(call, number, address);
            entry.push("active", false);
            entry
        }));
    }
    if which.idle_cursors {
        list.extend(call.shared.cursors.idle().into_iter().map(|(id, namespace)| {
            let mut entry = Map::from([("type", Value::from("idleCursor"))]);
            entry.push("host", call.host().as_str());
            entry.push("ns", namespace);
            entry.push("cursor", Map::from([("cursorId", Value::Int64(id))]));
            entry
        }));
    }
    if which.idle_sessions {
        let idle = call.shared.sessions.open_transactions().into_iter().filter(|transaction| !transaction.is_active);
        list.extend(idle.map(|transaction| idle_session(call, &transaction)));
    }
    list
}

/// A transaction without a running statement.
fn idle_session(call: &Call<'_>, open: &OpenTransaction) -> Map {
    let id = Binary { subtype: 4, bytes: open.session.uuid.to_vec() };
    let micros = i64::try_from(open.open.as_micros()).unwrap_or(i64::MAX);
    let parameters = Map::from([("txnNumber", Value::Int64(open.number)), ("autocommit", Value::Bool(false))]);
    Map::from([
        ("type", Value::from("idleSession")),
        ("host", Value::from(call.host().as_str())),
        ("desc", Value::from("inactive transaction")),
        ("active", Value::Bool(false)),
        ("lsid", Value::Map(Map::from([("id", Value::Binary(id))]))),
        (
            "transaction",
            Value::Map(Map::from([
                ("parameters", Value::Map(parameters)),
                ("startWallClockTime", Value::DateTime(open.began_millis)),
                ("timeOpenMicros", Value::Int64(micros)),
            ])),
        ),
    ])
}

fn connection(call: &Call<'_>, number: i32, address: String) -> Map {
    Map::from([
        ("type", Value::from("op")),
        ("host", Value::from(call.host().as_str())),
        ("desc", Value::from(format!("conn{number}"))),
        ("connectionId", Value::Int32(number)),
        ("client", Value::from(address)),
    ])
}

fn describe(call: &Call<'_>, number: i32, operation: Operation, which: Which) -> Map {
    let time = call.shared.env.clock.now().saturating_sub(operation.began);
    let cursor = operation.shown.integer("getMore");
    let mut entry = connection(call, operation.client.id, operation.client.address.clone());
    entry.push("active", true);
    entry.push("opid", number);
    entry.push("secs_running", i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    entry.push("microsecs_running", i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
    entry.push("op", operation.op);
    entry.push("ns", &*operation.namespace);
    entry.push("waitingForLock", operation.waits_for_lock);
    entry.push("command", if which.cut { cut(&operation.shown) } else { (*operation.shown).clone() });
    if let Some(id) = cursor {
        let cursor = [("cursorId", Value::Int64(id)), ("operationUsingCursorId", Value::Int32(number))];
        entry.push("cursor", Map::from(cursor));
    }
    entry
}

/// A command; if it is long, the beginning of its text, together with its comment.
fn cut(body: &Map) -> Map {
    let text = Value::Map(body.clone()).to_string();
    let Some((end, _)) = text.char_indices().nth(COMMAND_CHARACTERS_MAX) else { return body.clone() };
    let mut map = Map::from([("$truncated", Value::from(&text[..end]))]);
    if let Some(comment) = body.get("comment") {
        map.push("comment", comment.clone());
    }
    map
}
