//! Privileges, and the needs that are compared with them.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::security::action::Action;
use alluvium::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The resources of a privilege.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pattern {
    /// Collections. An empty database name means every database except `config` and `local`. An empty collection name
    /// means every collection whose name does not begin with `system.`, and the database itself.
    Collections {
        /// The database.
        db: String,
        /// The collection.
        collection: String,
    },
    /// The server.
    Server,
    /// All resources.
    Any,
}

/// Actions that are allowed on some resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Privilege {
    /// The resources.
    pub pattern: Pattern,
    /// The actions.
    pub actions: BTreeSet<Action>,
}

/// The resource that a command uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// A collection: database and name.
    Collection(Cow<'a, str>, Cow<'a, str>),
    /// A database as a whole.
    Database(Cow<'a, str>),
    /// Every database.
    AnyDatabase,
    /// The server.
    Server,
}

/// An action on a resource that a command needs to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need<'a> {
    /// The resource.
    pub target: Target<'a>,
    /// The action.
    pub action: Action,
    /// Another action that also satisfies the need.
    pub or: Option<Action>,
}

impl<'a> Need<'a> {
    /// An action on a collection.
    pub(crate) fn collection(db: impl Into<Cow<'a, str>>, collection: impl Into<Cow<'a, str>>, action: Action) -> Self {
        Self { target: Target::Collection(db.into(), collection.into()), action, or: None }
    }

    /// An action on a database.
    pub(crate) fn database(db: impl Into<Cow<'a, str>>, action: Action) -> Self {
        Self { target: Target::Database(db.into()), action, or: None }
    }

    /// An action on every database.
    pub(crate) fn any_database(action: Action) -> Self {
        Self { target: Target::AnyDatabase, action, or: None }
    }

    /// An action on the server.
    pub(crate) fn server(action: Action) -> Self {
        Self { target: Target::Server, action, or: None }
    }

    /// The same need without borrowed data.
    pub(crate) fn into_owned(self) -> Need<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let target = match self.target {
            Target::Collection(db, collection) => Target::Collection(owned(db), owned(collection)),
            Target::Database(db) => Target::Database(owned(db)),
            Target::AnyDatabase => Target::AnyDatabase,
            Target::Server => Target::Server,
        };
        Need { target, action: self.action, or: self.or }
    }

    /// The same need, which another action also satisfies.
    pub(crate) fn or(self, action: Action) -> Self {
        Self { or: Some(action), ..self }
    }
}

/// True for collections that a pattern covers only by their name.
fn is_reserved(collection: &str) -> bool {
    collection.starts_with("system.")
}

/// True if a pattern covers a database. An empty name in the pattern means all databases.
fn covers_database(of: &str, db: &str) -> bool {
    // `config` and `local` contain records about other users.
    of == db || of.is_empty() && !["config", "local"].contains(&db)
}

impl Pattern {
    /// The pattern of a database; an empty name means all databases.
    pub(crate) fn database(db: &str) -> Self {
        Self::collection(db, "")
    }

    /// The pattern of a collection.
    pub(crate) fn collection(db: &str, collection: &str) -> Self {
        Self::Collections { db: db.to_owned(), collection: collection.to_owned() }
    }

    fn covers(&self, target: &Target<'_>) -> bool {
        let (of, name) = match (self, target) {
            (Self::Any, _) | (Self::Server, Target::Server) => return true,
            (Self::Server, _) | (_, Target::Server) => return false,
            (Self::Collections { db, collection }, _) => (db, collection),
        };
        match target {
            Target::Collection(db, collection) => {
                covers_database(of, db) && (name == collection || name.is_empty() && !is_reserved(collection))
            }
            Target::Database(db) => name.is_empty() && covers_database(of, db),
            Target::AnyDatabase => name.is_empty() && of.is_empty(),
            Target::Server => false,
        }
    }

    /// Parses the resource of a privilege in the form of `createRole`.
    ///
    /// # Errors
    /// Error 9 for another form.
    pub(crate) fn parse(resource: &Map) -> CommandResult<Self> {
        match (resource.text("db"), resource.text("collection")) {
            (Some(db), Some(collection)) if resource.len() == 2 => Ok(Self::collection(db, collection)),
            (None, None) if resource.len() == 1 && resource.flag("cluster") => Ok(Self::Server),
            (None, None) if resource.len() == 1 && resource.flag("anyResource") => Ok(Self::Any),
            _ => {
                let message = "a resource is {db: database, collection: collection}, {cluster: true} or \
                               {anyResource: true}";
                Err(CommandError::failed_to_parse(message))
            }
        }
    }

    /// The resource in the form of `createRole`.
    pub(crate) fn to_map(&self) -> Map {
        match self {
            Self::Collections { db, collection } => {
                Map::from([("db", Value::from(db.as_str())), ("collection", Value::from(collection.as_str()))])
            }
            Self::Server => Map::from([("cluster", Value::Bool(true))]),
            Self::Any => Map::from([("anyResource", Value::Bool(true))]),
        }
    }
}

impl Privilege {
    pub(crate) fn new(pattern: Pattern, actions: impl IntoIterator<Item = Action>) -> Self {
        Self { pattern, actions: actions.into_iter().collect() }
    }

    /// Parses a privilege of the form `{resource, actions}`.
    ///
    /// # Errors
    /// Error 9 for another form, or an unknown action.
    pub(crate) fn parse(privilege: &Value) -> CommandResult<Self> {
        let wrong = || CommandError::failed_to_parse("a privilege is {resource: {...}, actions: [...]}");
        let map = privilege.as_map().ok_or_else(wrong)?;
        let pattern = Pattern::parse(map.document("resource").ok_or_else(wrong)?)?;
        let mut actions = BTreeSet::new();
        for action in map.elements("actions").ok_or_else(wrong)? {
            let name = action.as_str().ok_or_else(wrong)?;
            let unknown = || CommandError::failed_to_parse(format!("Unrecognized action privilege strings: {name}"));
            actions.insert(Action::by_name(name).ok_or_else(unknown)?);
        }
        match actions.is_empty() {
            true => Err(wrong()),
            false => Ok(Self { pattern, actions }),
        }
    }

    /// The privilege in the form `{resource, actions}`.
    pub(crate) fn to_map(&self) -> Map {
        let actions = self.actions.iter().map(|action| Value::from(action.name())).collect();
        Map::from([("resource", Value::Map(self.pattern.to_map())), ("actions", Value::Array(actions))])
    }

    fn allows(&self, action: Action) -> bool {
        self.actions.contains(&action) || self.actions.contains(&Action::AnyAction)
    }
}

/// The privileges of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Privileges {
    list: Vec<Privilege>,
}

impl Privileges {
    /// Adds privileges. Privileges on the same resources are merged.
    pub(crate) fn add(&mut self, privileges: impl IntoIterator<Item = Privilege>) {
        for privilege in privileges {
            match self.list.iter_mut().find(|own| own.pattern == privilege.pattern) {
                Some(own) => own.actions.extend(privilege.actions),
                None => self.list.push(privilege),
            }
        }
    }

    /// Removes actions from the privileges. Privileges without actions are removed.
    pub(crate) fn remove(&mut self, privileges: &[Privilege]) {
        for privilege in privileges {
            if let Some(own) = self.list.iter_mut().find(|own| own.pattern == privilege.pattern) {
                own.actions.retain(|action| !privilege.actions.contains(action));
            }
        }
        self.list.retain(|own| !own.actions.is_empty());
    }

    /// The privileges, one for each pattern.
    pub(crate) fn list(&self) -> &[Privilege] {
        &self.list
    }

    /// True if the privileges satisfy a need.
    pub(crate) fn allow(&self, need: &Need<'_>) -> bool {
        self.list.iter().any(|privilege| {
            privilege.pattern.covers(&need.target)
                && (privilege.allows(need.action) || need.or.is_some_and(|action| privilege.allows(action)))
        })
    }

    /// True if there is a privilege on the database or on anything in it.
    pub(crate) fn reach(&self, database: &str) -> bool {
        self.list.iter().any(|privilege| match &privilege.pattern {
            Pattern::Collections { db, .. } => covers_database(db, database),
            Pattern::Server => false,
            Pattern::Any => true,
        })
    }

    /// The privileges as an array.
    pub(crate) fn to_value(&self) -> Value {
        Value::Array(self.list.iter().map(|privilege| Value::Map(privilege.to_map())).collect())
    }
}

impl FromIterator<Privilege> for Privileges {
    fn from_iter<I: IntoIterator<Item = Privilege>>(list: I) -> Self {
        let mut privileges = Self::default();
        privileges.add(list);
        privileges
    }
}

#[cfg(test)]
mod tests;
