//! `createRole`, `updateRole`, `dropRole`, `dropAllRolesFromDatabase`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::built_in;
use crate::security::directory::{Change, Content};
use crate::security::name::{ADMIN, Name};
use crate::security::needs;
use crate::security::privilege::Pattern;
use crate::security::records::{Role, parse_privileges};
use crate::writes::int;
use alluvium::Map;
use alluvium_document::BsonBuilder;

pub(super) const CREATE: Command = Command {
    fields: &[
        required("createRole", Kind::Text),
        required("privileges", Kind::Documents),
        required("roles", Kind::Array),
        optional("authenticationRestrictions", Kind::Documents),
    ],
    access: Access::ByFields(needs::administration::create_role),
    ..Command::writing("createRole", create).audited().strict()
};

pub(super) const UPDATE: Command = Command {
    fields: &[
        required("updateRole", Kind::Text),
        optional("privileges", Kind::Documents),
        optional("roles", Kind::Array),
        optional("authenticationRestrictions", Kind::Documents),
    ],
    access: Access::ByFields(needs::administration::update_role),
    ..Command::writing("updateRole", update).audited().strict()
};

pub(super) const DROP: Command = Command {
    fields: &[required("dropRole", Kind::Text)],
    access: Access::Database(Action::DropRole),
    ..Command::writing("dropRole", drop_role).audited().strict()
};

pub(super) const DROP_ALL: Command = Command {
    access: Access::Database(Action::DropRole),
    ..Command::writing("dropAllRolesFromDatabase", drop_all).audited().strict()
};

/// The role that a command names.
///
/// # Errors
/// Error 2 for an empty name, or a database that cannot have roles.
pub(super) fn named(call: &Call<'_>) -> CommandResult<Name> {
    Name::parse(call.argument(), "role", &call.db)
}

fn check_restrictions(body: &Map) -> CommandResult<()> {
    match body.elements("authenticationRestrictions") {
        None | Some([]) => Ok(()),
        Some(_) => Err(CommandError::not_supported("authenticationRestrictions are not supported")),
    }
}

/// Checks a role before it is stored. A role must not inherit from itself, and a role outside of `admin` may only refer
/// to its own database.
///
/// # Errors
/// Error 55 if the role breaks these rules.
pub(super) fn checked(content: &Content, role: Role) -> CommandResult<Role> {
    let wrong = |message: String| Err(CommandError::new(55, "InvalidRoleModification", message));
    if content.inherited(&role.roles).contains(&role.name) {
        return wrong(format!("{} would inherit from itself", role.name));
    }
    let db = &role.name.db;
    if db != ADMIN {
        if role.roles.iter().any(|other| other.db != *db) {
            return wrong(format!("Roles on the '{db}' database cannot be granted roles from other databases"));
        }
        let is_own = |pattern: &Pattern| matches!(pattern, Pattern::Collections { db: of, .. } if of == db);
        if role.privileges.list().iter().any(|privilege| !is_own(&privilege.pattern)) {
            let message = format!(
                "Roles on the '{db}' database cannot be granted privileges that target other databases or the cluster"
            );
            return wrong(message);
        }
    }
    Ok(role)
}

fn create(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (name, body) = (named(call)?, &call.body);
    check_restrictions(body)?;
    let privileges = parse_privileges(body.elements("privileges").unwrap_or_default())?;
    let roles = Name::parse_all(body.elements("roles").unwrap_or_default(), "role", &call.db)?;
    call.shared.security.directory.change(|content| {
        if content.roles.contains_key(&name) || built_in::privileges(&name).is_some() {
            return Err(CommandError::new(51002, "Location51002", format!("Role \"{name}\" already exists")));
        }
        content.check_roles(&roles)?;
        Ok(vec![Change::PutRole(checked(content, Role { name, privileges, roles })?)])
    })?;
    Ok(call.reply())
}

fn update(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (name, body) = (named(call)?, &call.body);
    check_restrictions(body)?;
    let privileges = match body.elements("privileges") {
        Some(privileges) => Some(parse_privileges(privileges)?),
        None => None,
    };
    let roles = match body.elements("roles") {
        Some(roles) => Some(Name::parse_all(roles, "role", &call.db)?),
        None => None,
    };
    if privileges.is_none() && roles.is_none() {
        return Err(CommandError::bad_value("Must specify at least one field to update in updateRole"));
    }
    call.shared.security.directory.change(|content| {
        let mut role = content.role(&name)?.clone();
        role.privileges = privileges.unwrap_or(role.privileges);
        if let Some(roles) = roles {
            content.check_roles(&roles)?;
            role.roles = roles;
        }
        Ok(vec![Change::PutRole(checked(content, role)?)])
    })?;
    Ok(call.reply())
}

/// The changes that remove roles. The roles are first removed from the users and roles that have them. After a crash in
/// between, no user can therefore gain the privileges of a later role with the same name.
fn removal(content: &Content, names: &[Name]) -> Vec<Change> {
    let has = |roles: &[Name]| roles.iter().any(|role| names.contains(role));
    let without = |roles: &[Name]| roles.iter().filter(|role| !names.contains(role)).cloned().collect::<Vec<_>>();
    let mut changes = Vec::new();
    for user in content.users.values().filter(|user| has(&user.roles)) {
        let mut user = user.clone();
        user.roles = without(&user.roles);
        changes.push(Change::Put(user));
    }
    for role in content.roles.values().filter(|role| has(&role.roles) && !names.contains(&role.name)) {
        let mut role = role.clone();
        role.roles = without(&role.roles);
        changes.push(Change::PutRole(role));
    }
    changes.extend(names.iter().cloned().map(Change::RemoveRole));
    changes
}

fn drop_role(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = named(call)?;
    call.shared.security.directory.change(|content| {
        content.role(&name)?;
        Ok(removal(content, &[name]))
    })?;
    Ok(call.reply())
}

fn drop_all(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut count = 0;
    call.shared.security.directory.change(|content| {
        let names: Vec<Name> = content.roles.keys().filter(|name| name.db == call.db).cloned().collect();
        count = names.len();
        Ok(removal(content, &names))
    })?;
    call.answer(&Map::from([("n", int(count as u64))]))
}
