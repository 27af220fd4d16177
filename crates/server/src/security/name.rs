//! Names of users and roles.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Map, Value};

/// The database of users whom another authority identifies, by certificates.
pub(crate) const EXTERNAL: &str = "$external";
/// The database of the roles that apply to all databases.
pub(crate) const ADMIN: &str = "admin";

/// The name of a user or a role, which is unique within its database.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    /// The database.
    pub db: String,
    /// The name within the database.
    pub name: String,
}

/// `name@db`, as in MongoDB's messages.
impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.name, self.db)
    }
}

impl Name {
    pub(crate) fn new(db: &str, name: &str) -> Self {
        Self { db: db.to_owned(), name: name.to_owned() }
    }

    /// The `_id` of the document, `db.name`. Database names contain no dots.
    pub(crate) fn id(&self) -> String {
        format!("{}.{}", self.db, self.name)
    }

    /// The name as `{role, db}` or `{user, db}`.
    pub(crate) fn to_map(&self, kind: &'static str) -> Map {
        Map::from([(kind, Value::from(self.name.as_str())), ("db", Value::from(self.db.as_str()))])
    }

    /// The name in `{role, db}` or `{user, db}`, or in a string; a string means a name in the database `db`.
    ///
    /// # Errors
    /// Error 2 for another form.
    pub(crate) fn parse(value: &Value, kind: &str, db: &str) -> CommandResult<Self> {
        let found = match value {
            Value::String(name) => Some(Self::new(db, name)),
            Value::Map(map) => match (map.text(kind), map.text("db")) {
                (Some(name), Some(db)) => Some(Self::new(db, name)),
                _ => None,
            },
            _ => None,
        };
        found
            .filter(|found| !found.name.is_empty() && !found.db.is_empty() && !found.db.contains(['.', '\0']))
            .ok_or_else(|| {
                CommandError::bad_value(format!("a {kind} is given by its name, or as {{{kind}: name, db: database}}"))
            })
    }

    /// The names in an array.
    ///
    /// # Errors
    /// The errors of [`Name::parse`].
    pub(crate) fn parse_all(values: &[Value], kind: &str, db: &str) -> CommandResult<Vec<Self>> {
        let mut names = Vec::new();
        for value in values {
            let name = Self::parse(value, kind, db)?;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }
}
