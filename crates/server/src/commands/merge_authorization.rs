//! `_mergeAuthzCollections`: reads the users and roles of a dump from collections that `mongorestore` has filled.

use super::Command;
use super::users::changed_reply;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional};
use crate::security::access::Access;
use crate::security::directory::{Change, Content};
use crate::security::name::Name;
use crate::security::needs;
use crate::security::records::{Role, User};
use alluvium::Map;
use alluvium_document::BsonBuilder;
use std::collections::BTreeSet;

pub(super) const COMMAND: Command = Command {
    fields: &[
        optional("tempUsersCollection", Kind::Text),
        optional("tempRolesCollection", Kind::Text),
        optional("drop", Kind::Flag),
        optional("db", Kind::Text),
    ],
    access: Access::ByFields(needs::administration::merge_authorization),
    admin_only: true,
    ..Command::writing("_mergeAuthzCollections", merge).audited().strict()
};

/// The documents of a collection that a field names by its full name; `None` without the field.
fn documents(call: &Call<'_>, field: &str) -> CommandResult<Option<Vec<Map>>> {
    let Some(namespace) = call.body.text(field).filter(|namespace| !namespace.is_empty()) else { return Ok(None) };
    if !namespace.starts_with("admin.") {
        return Err(CommandError::bad_value(format!("{field} is a collection of admin, not '{namespace}'")));
    }
    let mut documents = Vec::new();
    for document in call.shared.db.collection(namespace).find(Map::new()).run()? {
        let document = document?.to_map().map_err(alluvium::Error::from)?;
        if document.elements("authenticationRestrictions").is_some_and(|restrictions| !restrictions.is_empty()) {
            let id = document.text("_id").unwrap_or_default();
            let message = format!("{id} has authenticationRestrictions, which are not supported");
            return Err(CommandError::not_supported(message));
        }
        documents.push(document);
    }
    Ok(Some(documents))
}

/// The writes that replace the current users and roles with the users and roles of a dump. Roles are written before the
/// users who have them, and drops come last. A crash in between therefore removes no user's login.
fn changes(
    content: &Content,
    users: Option<Vec<User>>,
    roles: Option<Vec<Role>>,
    drop: bool,
    is_meant: &dyn Fn(&Name) -> bool,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut dropped = Vec::new();
    if let Some(roles) = roles {
        let kept: BTreeSet<Name> = roles.iter().map(|role| role.name.clone()).collect();
        let others = content.roles.keys().filter(|name| drop && is_meant(name) && !kept.contains(name));
        dropped.extend(others.cloned().map(Change::RemoveRole));
        changes.extend(roles.into_iter().filter(|role| is_meant(&role.name)).map(Change::PutRole));
    }
    if let Some(users) = users {
        let kept: BTreeSet<Name> = users.iter().map(|user| user.name.clone()).collect();
        let others = content.users.keys().filter(|name| drop && is_meant(name) && !kept.contains(name));
        dropped.extend(others.cloned().map(Change::Remove));
        changes.extend(users.into_iter().filter(|user| is_meant(&user.name)).map(Change::Put));
    }
    changes.extend(dropped.into_iter().rev());
    changes
}

fn merge(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let users = documents(call, "tempUsersCollection")?;
    let roles = documents(call, "tempRolesCollection")?;
    if users.is_none() && roles.is_none() {
        let message = "Must provide at least one of \"tempUsersCollection\" and \"tempRolesCollection\"";
        return Err(CommandError::bad_value(message));
    }
    let users = users.map(|users| users.iter().map(User::from_map).collect::<CommandResult<Vec<_>>>()).transpose()?;
    let roles = roles.map(|roles| roles.iter().map(Role::from_map).collect::<CommandResult<Vec<_>>>()).transpose()?;
    let drop = call.body.flag("drop");
    let db = call.body.text("db").unwrap_or_default().to_owned();
    let is_meant = |name: &Name| db.is_empty() || name.db == db;
    let security = &call.shared.security;
    let mut names = Vec::new();
    let changed = security.directory.change(|content| {
        let changes = changes(content, users, roles, drop, &is_meant);
        names = changes.iter().map(|change| change.name().id()).collect();
        Ok(changes)
    })?;
    // The command itself names only collections. The audit log therefore has a line for each changed user and role.
    names.iter().for_each(|name| security.note_administration(&call.client.peer, call.name, name));
    changed_reply(call, changed)
}
