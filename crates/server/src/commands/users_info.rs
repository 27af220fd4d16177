//! `usersInfo`: users, their roles, and their privileges.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional, required};
use crate::listing;
use crate::security::access::Access;
use crate::security::directory::Content;
use crate::security::name::Name;
use crate::security::needs;
use crate::security::records::{User, roles_to_value};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("usersInfo", Kind::Any),
        optional("showCredentials", Kind::Flag),
        optional("showCustomData", Kind::Flag),
        optional("showPrivileges", Kind::Flag),
        optional("showAuthenticationRestrictions", Kind::Flag),
        optional("authenticatedMechanism", Kind::Text),
        optional("filter", Kind::Document),
    ],
    access: Access::ByFields(needs::administration::users_info),
    ..Command::reading("usersInfo", run).strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let content = call.shared.security.directory.content()?;
    let users: Vec<&User> = match call.argument() {
        Value::Map(map) if map.contains("forAllDBs") => content.users.values().collect(),
        name @ (Value::String(_) | Value::Map(_)) => named(call, &content, std::slice::from_ref(name))?,
        Value::Array(names) => named(call, &content, names)?,
        _ => content.users.values().filter(|user| user.name.db == call.db).collect(),
    };
    let shown = users.into_iter().map(|user| describe(call, &content, user)).collect();
    let shown = listing::filtered(call, shown, call.body.document("filter"))?;
    call.answer(&Map::from([("users", Value::Array(shown.into_iter().map(Value::Map).collect()))]))
}

fn named<'a>(call: &Call<'_>, content: &'a Content, names: &[Value]) -> CommandResult<Vec<&'a User>> {
    let names = Name::parse_all(names, "user", &call.db)?;
    Ok(names.iter().filter_map(|name| content.users.get(name)).collect())
}

fn describe(call: &Call<'_>, content: &Content, user: &User) -> Map {
    let body = &call.body;
    let mut map = if body.flag("showCredentials") { user.to_map() } else { user.described() };
    map.remove("roles");
    map.remove("customData");
    let shows_data = !body.contains("showCustomData") || body.flag("showCustomData");
    if let Some(data) = user.custom_data.as_ref().filter(|_| shows_data) {
        map.push("customData", data.clone());
    }
    map.push("roles", roles_to_value(&user.roles));
    map.push("mechanisms", user.mechanisms());
    if body.flag("showPrivileges") {
        let inherited: Vec<Name> = content.inherited(&user.roles).into_iter().collect();
        map.push("inheritedRoles", roles_to_value(&inherited));
        map.push("inheritedPrivileges", content.privileges_of_roles(&user.roles).to_value());
        map.push("inheritedAuthenticationRestrictions", Value::Array(Vec::new()));
    }
    if body.flag("showAuthenticationRestrictions") {
        map.push("authenticationRestrictions", Value::Array(Vec::new()));
    }
    map
}
