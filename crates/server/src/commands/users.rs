//! `createUser`, `updateUser`, `dropUser`, `dropAllUsersFromDatabase`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::directory::{Change, Changed};
use crate::security::name::{EXTERNAL, Name};
use crate::security::needs;
use crate::security::random;
use crate::security::records::User;
use crate::writes::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_wire::scram::{Credentials, Mechanism};

const fn user_fields(name: &'static str, roles: Field) -> [Field; 7] {
    [
        required(name, Kind::Text),
        optional("pwd", Kind::Text).secret(),
        optional("customData", Kind::Document),
        roles,
        optional("digestPassword", Kind::Flag),
        optional("mechanisms", Kind::Array),
        optional("authenticationRestrictions", Kind::Documents),
    ]
}

pub(super) const CREATE: Command = Command {
    fields: &user_fields("createUser", required("roles", Kind::Array)),
    access: Access::ByFields(needs::administration::create_user),
    ..Command::writing("createUser", create).audited().strict()
};

pub(super) const UPDATE: Command = Command {
    fields: &user_fields("updateUser", optional("roles", Kind::Array)),
    access: Access::ByFields(needs::administration::update_user),
    ..Command::writing("updateUser", update).audited().control().strict()
};

pub(super) const DROP: Command = Command {
    fields: &[required("dropUser", Kind::Text)],
    access: Access::Database(Action::DropUser),
    ..Command::writing("dropUser", drop_user).audited().control().strict()
};

pub(super) const DROP_ALL: Command = Command {
    access: Access::Database(Action::DropUser),
    ..Command::writing("dropAllUsersFromDatabase", drop_all).audited().strict()
};

/// The user that a command names.
///
/// # Errors
/// Error 2 for an empty name, or a database that cannot have users.
pub(super) fn named(call: &Call<'_>) -> CommandResult<Name> {
    Name::parse(call.argument(), "user", &call.db)
}

/// The mechanisms that a command lists; `None` if it lists none.
fn mechanisms(body: &Map) -> CommandResult<Option<Vec<Mechanism>>> {
    let Some(values) = body.elements("mechanisms") else { return Ok(None) };
    let parse = |value: &Value| {
        let name = value.as_str().unwrap_or_default();
        Mechanism::by_name(name).ok_or_else(|| {
            CommandError::bad_value(format!("Unknown auth mechanism '{name}': use SCRAM-SHA-256 or SCRAM-SHA-1"))
        })
    };
    let mechanisms = values.iter().map(parse).collect::<CommandResult<Vec<_>>>()?;
    match mechanisms.is_empty() {
        true => Err(CommandError::bad_value("mechanisms field must not be empty")),
        false => Ok(Some(mechanisms)),
    }
}

fn check_options(body: &Map) -> CommandResult<()> {
    if body.get("digestPassword").is_some() && !body.flag("digestPassword") {
        let message = "Use of SCRAM-SHA-256 requires undigested passwords: digestPassword has to be true";
        return Err(CommandError::bad_value(message));
    }
    match body.elements("authenticationRestrictions") {
        None | Some([]) => Ok(()),
        Some(_) => Err(CommandError::not_supported("authenticationRestrictions are not supported")),
    }
}

/// Derives the credentials from a password, with new salts.
fn derived(user: &Name, password: &str, mechanisms: &[Mechanism]) -> CommandResult<Vec<(Mechanism, Credentials)>> {
    if password.is_empty() {
        return Err(CommandError::bad_value("Password cannot be empty"));
    }
    let mut credentials = Vec::new();
    for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| mechanisms.contains(mechanism)) {
        let mut salt = vec![0; mechanism.salt_bytes()];
        random::fill(&mut salt)?;
        let kept = Credentials::derive(mechanism, &user.name, password, salt, mechanism.iterations());
        credentials.push((mechanism, kept.map_err(|error| CommandError::bad_value(error.to_string()))?));
    }
    Ok(credentials)
}

fn create(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (name, body) = (named(call)?, &call.body);
    check_options(body)?;
    let roles = Name::parse_all(body.elements("roles").unwrap_or_default(), "role", &call.db)?;
    let is_external = call.db == EXTERNAL;
    let credentials = match (body.text("pwd"), is_external) {
        (Some(password), false) => {
            derived(&name, password, &mechanisms(body)?.unwrap_or_else(|| Mechanism::ALL.to_vec()))?
        }
        (None, true) => Vec::new(),
        (Some(_), true) => {
            return Err(CommandError::bad_value(
                "Cannot set the password for users defined on the '$external' database",
            ));
        }
        (None, false) => {
            let message = "Must provide a 'pwd' field for all user documents, except those with '$external' as the \
                           user's source db";
            return Err(CommandError::bad_value(message));
        }
    };
    let custom_data = body.document("customData").cloned();
    let user = User { name, id: random::uuid()?, credentials, is_external, roles, custom_data };
    let changed = call.shared.security.directory.change(|content| {
        if content.users.contains_key(&user.name) {
            return Err(CommandError::new(51003, "Location51003", format!("User \"{}\" already exists", user.name)));
        }
        content.check_roles(&user.roles)?;
        Ok(vec![Change::Put(user)])
    })?;
    changed_reply(call, changed)
}

/// The reply to a command that has created users. If the new users make the server require logins from now on, the
/// reply has a note.
///
/// # Errors
/// Errors of encoding BSON.
pub(super) fn changed_reply(call: &Call<'_>, changed: Changed) -> CommandResult<BsonBuilder> {
    match changed.closes {
        true => call.answer(&Map::from([("note", "every connection, open ones included, needs a login from now on")])),
        false => Ok(call.reply()),
    }
}

fn update(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (name, body) = (named(call)?, &call.body);
    check_options(body)?;
    let wanted = mechanisms(body)?;
    let credentials = match body.text("pwd") {
        Some(_) if name.db == EXTERNAL => {
            return Err(CommandError::bad_value(
                "Cannot set the password for users defined on the '$external' database",
            ));
        }
        Some(password) => Some(derived(&name, password, wanted.as_deref().unwrap_or(&Mechanism::ALL))?),
        None => None,
    };
    let roles = match body.elements("roles") {
        Some(roles) => Some(Name::parse_all(roles, "role", &call.db)?),
        None => None,
    };
    if credentials.is_none() && roles.is_none() && wanted.is_none() && !body.contains("customData") {
        return Err(CommandError::bad_value("Must specify at least one field to update in updateUser"));
    }
    call.shared.security.directory.change(|content| {
        let mut user = content.user(&name)?.clone();
        match (credentials, wanted) {
            (Some(credentials), _) => user.credentials = credentials,
            (None, Some(wanted)) => {
                if wanted.iter().any(|mechanism| user.credentials_for(*mechanism).is_none()) {
                    let message = "mechanisms field must be a subset of previously set mechanisms";
                    return Err(CommandError::bad_value(message));
                }
                user.credentials.retain(|(mechanism, _)| wanted.contains(mechanism));
            }
            (None, None) => {}
        }
        if let Some(roles) = roles {
            content.check_roles(&roles)?;
            user.roles = roles;
        }
        if body.contains("customData") {
            user.custom_data = body.document("customData").cloned();
        }
        Ok(vec![Change::Put(user)])
    })?;
    Ok(call.reply())
}

fn drop_user(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = named(call)?;
    call.shared.security.directory.change(|content| {
        content.user(&name)?;
        Ok(vec![Change::Remove(name)])
    })?;
    Ok(call.reply())
}

fn drop_all(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut count = 0;
    call.shared.security.directory.change(|content| {
        let names = content.users.keys().filter(|name| name.db == call.db);
        let changes: Vec<Change> = names.cloned().map(Change::Remove).collect();
        count = changes.len();
        Ok(changes)
    })?;
    call.answer(&Map::from([("n", int(count as u64))]))
}
