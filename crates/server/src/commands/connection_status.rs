//! `connectionStatus`: the users of a connection.

use super::Command;
use crate::access::Access;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Kind, optional};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[optional("showPrivileges", Kind::Flag)],
    access: Access::Open,
    ..Command::reading("connectionStatus", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let empty = || Value::Array(Vec::new());
    let info = Map::from([("authenticatedUsers", empty()), ("authenticatedUserRoles", empty())]);
    call.answer(&Map::from([("authInfo", Value::Map(info))]))
}
