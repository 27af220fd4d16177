//! Small commands: `isSelf`, `driverOIDTest`, `invalidateUserCache`, `logApplicationMessage`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Kind, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

/// Members of a replica set use this command to detect that an address is their own.
pub(super) const IS_SELF: Command = Command { aliases: &["_isSelf"], ..Command::reading("isSelf", is_self) };

fn is_self(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.answer(&Map::from([("id", Value::ObjectId(call.shared.election_id))]))
}

/// Tests of drivers use this command to compare the text of an object id.
pub(super) const OID_TEST: Command = Command {
    fields: &[required("driverOIDTest", Kind::Any)],
    access: Access::Open,
    ..Command::reading("driverOIDTest", oid_test)
};

fn oid_test(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let Value::ObjectId(id) = call.argument() else {
        return Err(CommandError::bad_value("not oid"));
    };
    let text: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    call.answer(&Map::from([("oid", Value::ObjectId(*id)), ("str", Value::from(text))]))
}

/// Has no effect: every command reads the current users, and no cache exists.
pub(super) const INVALIDATE_USERS: Command = Command {
    access: Access::Server(Action::InvalidateUserCache),
    admin_only: true,
    ..Command::reading("invalidateUserCache", |call| Ok(call.reply())).strict()
};

pub(super) const LOG_MESSAGE: Command = Command {
    fields: &[required("logApplicationMessage", Kind::Text)],
    access: Access::Server(Action::ApplicationMessage),
    admin_only: true,
    ..Command::reading("logApplicationMessage", log_message).strict()
};

/// Appends a line to the audit log.
fn log_message(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.shared.config.audit.is_none() {
        return Err(CommandError::command_not_found("there is no audit log: start the server with --audit FILE"));
    }
    let text = call.argument().as_str().unwrap_or_default();
    call.shared.security.note(&call.client.peer, "logApplicationMessage", text);
    Ok(call.reply())
}
