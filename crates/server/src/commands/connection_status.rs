//! `connectionStatus`: the user of a connection.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional};
use crate::security::access::Access;
use crate::security::name::Name;
use crate::security::records::roles_to_value;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[optional("showPrivileges", Kind::Flag)],
    access: Access::Open,
    ..Command::reading("connectionStatus", run).control().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (mut users, mut roles, mut privileges) = (Vec::new(), Vec::new(), Value::Array(Vec::new()));
    if let Some(login) = call.client.peer.login() {
        let content = call.shared.security.directory.content()?;
        // A user who was dropped is no longer logged in.
        if let (Some(user), Some(allowed)) = (content.users.get(&login.name), login.privileges(&content)) {
            users.push(Value::Map(login.name.to_map("user")));
            roles = content.inherited(&user.roles).into_iter().collect::<Vec<Name>>();
            privileges = allowed.to_value();
        }
    }
    let mut info =
        Map::from([("authenticatedUsers", Value::Array(users)), ("authenticatedUserRoles", roles_to_value(&roles))]);
    if call.body.flag("showPrivileges") {
        info.push("authenticatedUserPrivileges", privileges);
    }
    let mut bytes = call.shared.election_id.to_vec();
    bytes.extend_from_slice(&call.client.id.to_be_bytes());
    let uuid = Value::Binary(alluvium::Binary::uuid(&bytes));
    call.answer(&Map::from([("authInfo", Value::Map(info)), ("uuid", uuid)]))
}
