//! The privileges for the administration of users and roles.
//!
//! A user who grants a role or a privilege needs the action `grantRole` on its database. Users therefore cannot gain
//! rights that they may not give to others.

use super::{Needs, Subject, argument};
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::security::action::Action;
use crate::security::name::{ADMIN, Name};
use crate::security::privilege::{Need, Pattern, Privilege};
use alluvium::Value;

/// The needs of `_mergeAuthzCollections`. A dump can contain any user with any role.
pub(crate) fn merge_authorization<'a>(_: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let actions = [
        Action::CreateUser,
        Action::DropUser,
        Action::ChangePassword,
        Action::ChangeCustomData,
        Action::CreateRole,
        Action::DropRole,
        Action::GrantRole,
        Action::RevokeRole,
    ];
    Ok(actions.map(Need::any_database).to_vec())
}

pub(crate) fn create_user<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = vec![Need::database(subject.db, Action::CreateUser)];
    add_roles(subject, Action::GrantRole, &mut needs)?;
    Ok(needs)
}

pub(crate) fn update_user<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    let is_own = |user: &Name| user.db == subject.db && argument(body) == Some(&user.name);
    let own = subject.user.is_some_and(is_own);
    let mut needs = Vec::new();
    let mut add = |action, on_own| {
        let need = Need::database(subject.db, action);
        needs.push(if own { need.or(on_own) } else { need });
    };
    let is_other = |name: &str| !["pwd", "mechanisms", "digestPassword", "roles", "customData"].contains(&name);
    let fields = || body.entries.iter().skip(1).filter_map(|(name, _)| name.as_str());
    if ["pwd", "mechanisms", "digestPassword"].iter().any(|field| body.contains(field)) {
        add(Action::ChangePassword, Action::ChangeOwnPassword);
    }
    // A command that changes nothing needs the weakest privilege.
    if body.contains("customData") || fields().all(is_other) {
        add(Action::ChangeCustomData, Action::ChangeOwnCustomData);
    }
    if body.contains("authenticationRestrictions") {
        needs.push(Need::database(subject.db, Action::SetAuthenticationRestriction));
    }
    if body.contains("roles") {
        needs.push(Need::any_database(Action::RevokeRole));
        add_roles(subject, Action::GrantRole, &mut needs)?;
    }
    Ok(needs)
}

pub(crate) fn grant_roles<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    of_roles(subject, Action::GrantRole)
}

pub(crate) fn revoke_roles<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    of_roles(subject, Action::RevokeRole)
}

pub(crate) fn grant_privileges<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    of_privileges(subject, Action::GrantRole)
}

pub(crate) fn revoke_privileges<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    of_privileges(subject, Action::RevokeRole)
}

pub(crate) fn create_role<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = vec![Need::database(subject.db, Action::CreateRole)];
    add_roles(subject, Action::GrantRole, &mut needs)?;
    add_privileges(subject, Action::GrantRole, &mut needs)?;
    Ok(needs)
}

pub(crate) fn update_role<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = vec![Need::any_database(Action::RevokeRole)];
    add_roles(subject, Action::GrantRole, &mut needs)?;
    add_privileges(subject, Action::GrantRole, &mut needs)?;
    Ok(needs)
}

/// The needs of `usersInfo`: all users of a database, or users by name. Users may always see their own entry.
pub(crate) fn users_info<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = Vec::new();
    match subject.body.entries.first().map(|(_, value)| value) {
        Some(Value::Map(map)) if map.contains("forAllDBs") => needs.push(Need::any_database(Action::ViewUser)),
        Some(value @ (Value::String(_) | Value::Map(_))) => {
            add_views(subject, std::slice::from_ref(value), "user", Action::ViewUser, &mut needs)?;
        }
        Some(Value::Array(names)) => add_views(subject, names, "user", Action::ViewUser, &mut needs)?,
        _ => needs.push(Need::database(subject.db, Action::ViewUser)),
    }
    if subject.body.flag("showCredentials") {
        needs.push(Need::any_database(Action::ViewUser));
    }
    Ok(needs)
}

pub(crate) fn roles_info<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = Vec::new();
    match subject.body.entries.first().map(|(_, value)| value) {
        Some(value @ (Value::String(_) | Value::Map(_))) => {
            add_views(subject, std::slice::from_ref(value), "role", Action::ViewRole, &mut needs)?;
        }
        Some(Value::Array(names)) => add_views(subject, names, "role", Action::ViewRole, &mut needs)?,
        _ => needs.push(Need::database(subject.db, Action::ViewRole)),
    }
    Ok(needs)
}

fn add_views<'a>(
    subject: &Subject<'a>,
    names: &[Value],
    kind: &str,
    action: Action,
    needs: &mut Needs<'a>,
) -> CommandResult<()> {
    for name in Name::parse_all(names, kind, subject.db)? {
        if kind != "user" || subject.user != Some(&name) {
            needs.push(Need::database(name.db, action));
        }
    }
    Ok(())
}

fn of_roles<'a>(subject: &Subject<'a>, action: Action) -> CommandResult<Needs<'a>> {
    let mut needs = Vec::new();
    add_roles(subject, action, &mut needs)?;
    if needs.is_empty() {
        needs.push(Need::database(subject.db, action));
    }
    Ok(needs)
}

fn of_privileges<'a>(subject: &Subject<'a>, action: Action) -> CommandResult<Needs<'a>> {
    let mut needs = Vec::new();
    add_privileges(subject, action, &mut needs)?;
    if needs.is_empty() {
        needs.push(Need::database(subject.db, action));
    }
    Ok(needs)
}

/// Needs an action on the database of each role that the command names.
fn add_roles<'a>(subject: &Subject<'a>, action: Action, needs: &mut Needs<'a>) -> CommandResult<()> {
    let roles = subject.body.elements("roles").unwrap_or_default();
    for role in Name::parse_all(roles, "role", subject.db)? {
        needs.push(Need::database(role.db, action));
    }
    Ok(())
}

/// Needs an action on the database of each privilege in the command; for a privilege on more than one database, the
/// action on `admin`.
fn add_privileges<'a>(subject: &Subject<'a>, action: Action, needs: &mut Needs<'a>) -> CommandResult<()> {
    for privilege in subject.body.elements("privileges").unwrap_or_default() {
        let db = match Privilege::parse(privilege)?.pattern {
            Pattern::Collections { db, .. } if !db.is_empty() => db,
            _ => ADMIN.to_owned(),
        };
        needs.push(Need::database(db, action));
    }
    Ok(())
}
