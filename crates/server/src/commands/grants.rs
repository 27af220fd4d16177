//! `grantRolesToUser`, `revokeRolesFromUser`, `grantRolesToRole`, `revokeRolesFromRole`, `grantPrivilegesToRole`,
//! `revokePrivilegesFromRole`.

use super::Command;
use super::roles::{self, checked};
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Field, Fields, Kind, required};
use crate::security::access::Access;
use crate::security::directory::Change;
use crate::security::name::Name;
use crate::security::needs::{Rule, administration};
use crate::security::records::parse_privileges;
use alluvium_document::BsonBuilder;

type Run = fn(&mut Call<'_>) -> CommandResult<BsonBuilder>;

const fn command(name: &'static str, fields: &'static [Field], needs: Rule, run: Run) -> Command {
    Command { fields, access: Access::ByFields(needs), ..Command::writing(name, run).audited().strict() }
}

const fn fields(name: &'static str, list: &'static str) -> [Field; 2] {
    [required(name, Kind::Text), required(list, Kind::Array)]
}

pub(super) const GRANT_TO_USER: Command =
    command("grantRolesToUser", &fields("grantRolesToUser", "roles"), administration::grant_roles, |call| {
        change_user(call, true)
    });
pub(super) const REVOKE_FROM_USER: Command =
    command("revokeRolesFromUser", &fields("revokeRolesFromUser", "roles"), administration::revoke_roles, |call| {
        change_user(call, false)
    });
pub(super) const GRANT_TO_ROLE: Command =
    command("grantRolesToRole", &fields("grantRolesToRole", "roles"), administration::grant_roles, |call| {
        change_role(call, true)
    });
pub(super) const REVOKE_FROM_ROLE: Command =
    command("revokeRolesFromRole", &fields("revokeRolesFromRole", "roles"), administration::revoke_roles, |call| {
        change_role(call, false)
    });
pub(super) const GRANT_PRIVILEGES: Command = command(
    "grantPrivilegesToRole",
    &fields("grantPrivilegesToRole", "privileges"),
    administration::grant_privileges,
    |call| change_privileges(call, true),
);
pub(super) const REVOKE_PRIVILEGES: Command = command(
    "revokePrivilegesFromRole",
    &fields("revokePrivilegesFromRole", "privileges"),
    administration::revoke_privileges,
    |call| change_privileges(call, false),
);

/// Adds names to a list, or removes them from it.
fn merge(list: &mut Vec<Name>, names: &[Name], grant: bool) {
    list.retain(|name| !names.contains(name));
    if grant {
        list.extend_from_slice(names);
    }
}

fn listed_roles(call: &Call<'_>) -> CommandResult<Vec<Name>> {
    Name::parse_all(call.body.elements("roles").unwrap_or_default(), "role", &call.db)
}

fn change_user(call: &mut Call<'_>, grant: bool) -> CommandResult<BsonBuilder> {
    let (name, roles) = (Name::parse(call.argument(), "user", &call.db)?, listed_roles(call)?);
    call.shared.security.directory.change(|content| {
        let mut user = content.user(&name)?.clone();
        content.check_roles(&roles)?;
        merge(&mut user.roles, &roles, grant);
        Ok(vec![Change::Put(user)])
    })?;
    Ok(call.reply())
}

fn change_role(call: &mut Call<'_>, grant: bool) -> CommandResult<BsonBuilder> {
    let (name, roles) = (roles::named(call)?, listed_roles(call)?);
    call.shared.security.directory.change(|content| {
        let mut role = content.role(&name)?.clone();
        content.check_roles(&roles)?;
        merge(&mut role.roles, &roles, grant);
        Ok(vec![Change::PutRole(checked(content, role)?)])
    })?;
    Ok(call.reply())
}

fn change_privileges(call: &mut Call<'_>, grant: bool) -> CommandResult<BsonBuilder> {
    let name = roles::named(call)?;
    let privileges = parse_privileges(call.body.elements("privileges").unwrap_or_default())?;
    call.shared.security.directory.change(|content| {
        let mut role = content.role(&name)?.clone();
        match grant {
            true => role.privileges.add(privileges.list().iter().cloned()),
            false => role.privileges.remove(privileges.list()),
        }
        Ok(vec![Change::PutRole(checked(content, role)?)])
    })?;
    Ok(call.reply())
}
