//! `rolesInfo`: roles and their privileges.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::built_in;
use crate::security::directory::Content;
use crate::security::name::Name;
use crate::security::needs;
use crate::security::privilege::Privileges;
use crate::security::records::roles_to_value;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("rolesInfo", Kind::Any),
        optional("showPrivileges", Kind::Any),
        optional("showBuiltinRoles", Kind::Flag),
        optional("showAuthenticationRestrictions", Kind::Flag),
    ],
    access: Access::ByFields(needs::administration::roles_info),
    ..Command::reading("rolesInfo", run).strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let content = call.shared.security.directory.content()?;
    let names: Vec<Name> = match call.argument() {
        name @ (Value::String(_) | Value::Map(_)) => Name::parse_all(std::slice::from_ref(name), "role", &call.db)?,
        Value::Array(names) => Name::parse_all(names, "role", &call.db)?,
        _ => {
            let own = content.roles.keys().filter(|name| name.db == call.db).cloned();
            let built_in = built_in::names(&call.db).filter(|_| call.body.flag("showBuiltinRoles"));
            own.chain(built_in).collect()
        }
    };
    let shown = names.iter().filter_map(|name| describe(call, &content, name)).map(Value::Map).collect();
    call.answer(&Map::from([("roles", Value::Array(shown))]))
}

/// Describes a role; `None` if the role does not exist.
fn describe(call: &Call<'_>, content: &Content, name: &Name) -> Option<Map> {
    let built_in = built_in::privileges(name);
    let is_built_in = built_in.is_some();
    let (own, parents) = match built_in {
        Some(own) => (own.into_iter().collect::<Privileges>(), Vec::new()),
        None => content.roles.get(name).map(|role| (role.privileges.clone(), role.roles.clone()))?,
    };
    let inherited: Vec<Name> = content.inherited(&parents).into_iter().collect();
    let mut map = Map::from([
        ("_id", Value::from(name.id())),
        ("role", Value::from(name.name.as_str())),
        ("db", Value::from(name.db.as_str())),
        ("roles", roles_to_value(&parents)),
        ("inheritedRoles", roles_to_value(&inherited)),
        ("isBuiltin", Value::Bool(is_built_in)),
    ]);
    if call.body.flag("showPrivileges") {
        map.push("privileges", own.to_value());
        let all = content.privileges_of_roles(std::slice::from_ref(name));
        map.push("inheritedPrivileges", all.to_value());
    }
    Some(map)
}
