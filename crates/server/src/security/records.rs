//! Users and roles as documents, in MongoDB's form.

use super::name::Name;
use super::privilege::{Privilege, Privileges};
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Binary, Map, Value};
use alluvium_wire::scram::{Credentials, Mechanism};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The binary subtype of UUIDs.
const UUID: u8 = 4;

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// The name.
    pub name: Name,
    /// The UUID of the user. A user who is dropped and created again has a new UUID.
    pub id: Vec<u8>,
    /// The credentials derived from the password, for each mechanism.
    pub credentials: Vec<(Mechanism, Credentials)>,
    /// True for a user whom another authority identifies.
    pub is_external: bool,
    /// The roles that were granted.
    pub roles: Vec<Name>,
    /// Custom data, which the administrator sets.
    pub custom_data: Option<Map>,
}

/// A role that is not built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    /// The name.
    pub name: Name,
    /// The role's own privileges.
    pub privileges: Privileges,
    /// The roles whose privileges the role inherits.
    pub roles: Vec<Name>,
}

fn damaged(what: &str) -> CommandError {
    CommandError::new(206, "NoSuchKey", format!("the stored record has no valid field '{what}'"))
}

/// Roles as an array of `{role, db}`.
pub(crate) fn roles_to_value(roles: &[Name]) -> Value {
    Value::Array(roles.iter().map(|role| Value::Map(role.to_map("role"))).collect())
}

fn roles_of(map: &Map, db: &str) -> CommandResult<Vec<Name>> {
    Name::parse_all(map.elements("roles").unwrap_or_default(), "role", db)
}

impl User {
    /// The document in `admin.system.users`.
    pub(crate) fn to_map(&self) -> Map {
        let mut map = self.described();
        let mut credentials = Map::new();
        if self.is_external {
            credentials.push("external", true);
        }
        for (mechanism, kept) in &self.credentials {
            credentials.push(mechanism.name(), credentials_to_map(kept));
        }
        map.push("credentials", credentials);
        if let Some(data) = &self.custom_data {
            map.push("customData", data.clone());
        }
        map.push("roles", roles_to_value(&self.roles));
        map
    }

    /// The fields that identify the user.
    pub(crate) fn described(&self) -> Map {
        Map::from([
            ("_id", Value::from(self.name.id())),
            ("userId", Value::Binary(Binary { subtype: UUID, bytes: self.id.clone() })),
            ("user", Value::from(self.name.name.as_str())),
            ("db", Value::from(self.name.db.as_str())),
        ])
    }

    /// Reads a user from a document of `admin.system.users`.
    ///
    /// # Errors
    /// Error 206 if the document does not describe a user.
    pub(crate) fn from_map(map: &Map) -> CommandResult<Self> {
        let (Some(name), Some(db)) = (map.text("user"), map.text("db")) else { return Err(damaged("user")) };
        let id = match map.get("userId") {
            Some(Value::Binary(id)) => id.bytes.clone(),
            _ => return Err(damaged("userId")),
        };
        let kept = map.document("credentials").ok_or_else(|| damaged("credentials"))?;
        let mut credentials = Vec::new();
        for mechanism in Mechanism::ALL {
            if let Some(kept) = kept.document(mechanism.name()) {
                credentials.push((mechanism, credentials_from_map(kept)?));
            }
        }
        let custom_data = map.document("customData").cloned();
        let (is_external, roles) = (kept.flag("external"), roles_of(map, db)?);
        Ok(Self { name: Name::new(db, name), id, credentials, is_external, roles, custom_data })
    }

    /// The credentials for a mechanism.
    pub(crate) fn credentials_for(&self, mechanism: Mechanism) -> Option<&Credentials> {
        self.credentials.iter().find(|(of, _)| *of == mechanism).map(|(_, kept)| kept)
    }

    /// The names of the mechanisms that the user can log in with.
    pub(crate) fn mechanisms(&self) -> Vec<Value> {
        let external = self.is_external.then(|| Value::from("external"));
        self.credentials.iter().rev().map(|(mechanism, _)| Value::from(mechanism.name())).chain(external).collect()
    }
}

fn credentials_to_map(kept: &Credentials) -> Map {
    let text = |bytes: &[u8]| Value::from(BASE64.encode(bytes));
    Map::from([
        ("iterationCount", Value::from(i64::from(kept.iterations))),
        ("salt", text(&kept.salt)),
        ("storedKey", text(&kept.stored_key)),
        ("serverKey", text(&kept.server_key)),
    ])
}

fn credentials_from_map(map: &Map) -> CommandResult<Credentials> {
    let bytes = |name: &str| {
        let decoded = map.text(name).and_then(|text| BASE64.decode(text).ok());
        decoded.filter(|bytes| !bytes.is_empty()).ok_or_else(|| damaged(name))
    };
    let iterations = map.integer("iterationCount").and_then(|count| u32::try_from(count).ok());
    Ok(Credentials {
        iterations: iterations.filter(|count| *count > 0).ok_or_else(|| damaged("iterationCount"))?,
        salt: bytes("salt")?,
        stored_key: bytes("storedKey")?,
        server_key: bytes("serverKey")?,
    })
}

impl Role {
    /// The document in `admin.system.roles`.
    pub(crate) fn to_map(&self) -> Map {
        Map::from([
            ("_id", Value::from(self.name.id())),
            ("role", Value::from(self.name.name.as_str())),
            ("db", Value::from(self.name.db.as_str())),
            ("privileges", self.privileges.to_value()),
            ("roles", roles_to_value(&self.roles)),
        ])
    }

    /// Reads a role from a document of `admin.system.roles`.
    ///
    /// # Errors
    /// Error 206 if the document does not describe a role.
    pub(crate) fn from_map(map: &Map) -> CommandResult<Self> {
        let (Some(name), Some(db)) = (map.text("role"), map.text("db")) else { return Err(damaged("role")) };
        let privileges = parse_privileges(map.elements("privileges").unwrap_or_default())?;
        Ok(Self { name: Name::new(db, name), privileges, roles: roles_of(map, db)? })
    }
}

/// The privileges in an array.
///
/// # Errors
/// The errors of [`Privilege::parse`].
pub(crate) fn parse_privileges(values: &[Value]) -> CommandResult<Privileges> {
    values.iter().map(Privilege::parse).collect()
}
