//! Entries of an operation log.

use crate::call::Call;
use crate::commands::{self, Command};
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::security::action::Action;
use crate::security::needs::{Needs, Subject};
use crate::security::privilege::Need;
use alluvium::{Map, Value};

/// How deep entries may be nested, as in MongoDB.
const DEPTH_MAX: usize = 10;
/// The collection of view definitions, which each database of MongoDB has.
const VIEWS: &str = "system.views";

/// An entry.
pub(super) enum Entry {
    /// An entry without an operation.
    Nothing,
    /// A change to one document.
    Document { db: String, collection: String, uuid: Option<Value>, change: Change },
    /// A command that changes collections, indexes or views.
    Ddl(Ddl),
    /// Entries nested in an entry.
    Nested(Vec<Value>),
}

/// A change to the document with an `_id`.
pub(super) enum Change {
    Insert(Value, Map),
    Replace(Value, Map),
    /// A change by update operators.
    Update(Value, Map),
    /// A change by a delta of version 2.
    Delta(Value, Map),
    Delete(Value),
}

/// A command of an entry.
pub(super) struct Ddl {
    pub db: String,
    command: &'static Command,
    object: Map,
    uuid: bool,
    /// True if the command defines a view. The view may exist already with another definition.
    is_view: bool,
}

/// The commands of operation logs, the names that they have here, and the error codes which show that the effect of the
/// command exists already.
const COMMANDS: [(&str, &str, &[i32]); 12] = [
    ("create", "create", &[48]),
    ("drop", "drop", &[26]),
    ("dropDatabase", "dropDatabase", &[26]),
    ("renameCollection", "renameCollection", &[26, 48]),
    ("createIndexes", "createIndexes", &[]),
    ("commitIndexBuild", "createIndexes", &[]),
    ("dropIndexes", "dropIndexes", &[26, 27]),
    ("deleteIndexes", "dropIndexes", &[26, 27]),
    ("dropIndex", "dropIndexes", &[26, 27]),
    ("deleteIndex", "dropIndexes", &[26, 27]),
    ("collMod", "collMod", &[26, 27]),
    ("convertToCapped", "convertToCapped", &[26]),
];

/// Commands without an effect of their own. Some of them are followed by an entry that has the effect.
const WITHOUT_EFFECT: [&str; 3] = ["startIndexBuild", "abortIndexBuild", "setMultikeyMetadata"];

impl Entry {
    /// Parses an entry at a depth of nested entries.
    ///
    /// # Errors
    /// The errors of MongoDB 8.2 for malformed entries, taken from its functional tests; error 115 for entries that are
    /// not supported.
    pub(super) fn parse(entry: &Value, depth: usize) -> CommandResult<Self> {
        let Value::Map(entry) = entry else {
            let message = format!("an entry of applyOps is an object, not {}", entry.type_name());
            return Err(CommandError::type_mismatch(message));
        };
        let op = match entry.get("op") {
            None => return Err(CommandError::no_such_key("an entry of applyOps without 'op'")),
            Some(Value::String(op)) => &**op,
            Some(other) => {
                let message = format!("'op' of an entry is a string, not {}", other.type_name());
                return Err(CommandError::type_mismatch(message));
            }
        };
        if op == "n" {
            return Ok(Self::Nothing);
        }
        let namespace = entry.text("ns").filter(|namespace| !op.is_empty() && !namespace.is_empty());
        let Some(namespace) = namespace else {
            return Err(CommandError::illegal_operation("'op' and 'ns' of an entry are strings that are not empty"));
        };
        if !["i", "u", "d", "c"].contains(&op) {
            return Err(CommandError::bad_value(format!("applyOps has no operation '{op}': it has c, d, i, n and u")));
        }
        let object = match entry.get("o") {
            Some(Value::Map(object)) => object,
            None => {
                return Err(CommandError::missing_field(
                    "BSON field 'OplogEntryBase.o' is missing but a required field",
                ));
            }
            Some(other) => {
                let message = format!("'o' of an entry is an object, not {}", other.type_name());
                return Err(CommandError::type_mismatch(message));
            }
        };
        let Some((db, collection)) = namespace.split_once('.').filter(|(db, rest)| !db.is_empty() && !rest.is_empty())
        else {
            return Err(CommandError::invalid_namespace(format!("invalid ns: {namespace}")));
        };
        let uuid = entry.get("ui").filter(|uuid| **uuid != Value::Null);
        match (op, collection) {
            ("c", _) => Self::of_command(db, object, uuid.is_some(), depth),
            (_, VIEWS) => Self::of_view(db, op, object, entry.document("o2")),
            ("i", "system.indexes") => Self::of_command(db, &old_index(object)?, false, depth),
            _ => {
                let change = Change::parse(op, object, entry.document("o2"))?;
                let (db, collection) = (db.to_owned(), collection.to_owned());
                Ok(Self::Document { db, collection, uuid: uuid.cloned(), change })
            }
        }
    }

    fn of_command(db: &str, object: &Map, uuid: bool, depth: usize) -> CommandResult<Self> {
        let name = object.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
        if name == "applyOps" {
            if depth >= DEPTH_MAX {
                return Err(CommandError::failed_to_parse("Too many nested applyOps commands"));
            }
            let ops = object.elements("applyOps").unwrap_or_default();
            ops.iter().try_for_each(|op| Self::parse(op, depth + 1).map(drop))?;
            return Ok(Self::Nested(ops.to_vec()));
        }
        if WITHOUT_EFFECT.contains(&name) {
            return Ok(Self::Nothing);
        }
        let known = COMMANDS.iter().find(|(known, ..)| *known == name);
        match known.and_then(|(_, here, _)| commands::find(here)) {
            Some(command) => {
                Ok(Self::Ddl(Ddl { db: db.to_owned(), command, object: object.clone(), uuid, is_view: false }))
            }
            None => Err(CommandError::not_supported(format!("applyOps does not support the command '{name}'"))),
        }
    }

    /// Parses an entry of the view collection, in which the `_id` of a document is the full name of a view.
    fn of_view(db: &str, op: &str, object: &Map, query: Option<&Map>) -> CommandResult<Self> {
        let id = query.filter(|_| op == "u").unwrap_or(object).text("_id").unwrap_or_default();
        let Some(name) = id.strip_prefix(db).and_then(|rest| rest.strip_prefix('.')).filter(|name| !name.is_empty())
        else {
            return Err(CommandError::no_such_key(format!("'{id}' is not the _id of a view of {db}")));
        };
        let named = |command: &'static str| Map::from([(command, name)]);
        if op == "d" {
            return Self::of_command(db, &named("drop"), false, 0);
        }
        if object.contains("$v") {
            return Err(CommandError::not_supported("applyOps does not support a delta of the definition of a view"));
        }
        let mut object = object.clone();
        object.remove("_id");
        object.entries.splice(0..0, named("create").entries);
        let command = commands::find("create").ok_or_else(|| CommandError::internal("there is no create"))?;
        Ok(Self::Ddl(Ddl { db: db.to_owned(), command, object, uuid: false, is_view: true }))
    }

    /// Adds the privileges that the entry needs.
    pub(super) fn add_needs(&self, needs: &mut Needs<'_>) -> CommandResult<()> {
        let mut add = |need: Need<'static>| {
            if !needs.contains(&need) {
                needs.push(need);
            }
        };
        match self {
            Self::Nothing => add(Need::server(Action::AppendOplogNote)),
            Self::Document { db, collection, uuid, change } => {
                let actions: &[Action] = match change {
                    Change::Insert(..) => &[Action::Insert, Action::Update],
                    Change::Delete(_) => &[Action::Remove],
                    _ => &[Action::Update],
                };
                actions.iter().for_each(|action| add(Need::collection(db.clone(), collection.clone(), *action)));
                if uuid.is_some() {
                    add(Need::server(Action::UseUuid));
                }
            }
            Self::Ddl(ddl) => {
                let object = ddl.renamed(ddl.command);
                let subject = Subject { db: &ddl.db, body: &object, sequences: &[], user: None, exact: true };
                for need in ddl.command.access.needs(&subject)? {
                    add(need.into_owned());
                }
                if ddl.uuid {
                    add(Need::server(Action::UseUuid));
                }
            }
            Self::Nested(ops) => {
                for entry in ops.iter().filter_map(|op| Self::parse(op, 1).ok()) {
                    entry.add_needs(needs)?;
                }
            }
        }
        Ok(())
    }
}

/// The command for an index that an old log describes as a document of `system.indexes`.
fn old_index(object: &Map) -> CommandResult<Map> {
    let namespace = object.text("ns").and_then(|namespace| namespace.split_once('.'));
    let Some((_, collection)) = namespace else {
        return Err(CommandError::no_such_key("a document of system.indexes without 'ns'"));
    };
    let mut command = Map::from([("createIndexes", collection)]);
    command.entries.extend(object.entries.iter().cloned());
    Ok(command)
}

impl Change {
    fn parse(op: &str, object: &Map, query: Option<&Map>) -> CommandResult<Self> {
        let id = match op {
            "u" => query.and_then(|query| query.get("_id")),
            _ => object.get("_id"),
        };
        let Some(id) = id.cloned() else {
            return Err(CommandError::no_such_key(format!("an entry of the operation '{op}' without an _id")));
        };
        match op {
            "i" => Ok(Self::Insert(id, object.clone())),
            "d" => Ok(Self::Delete(id)),
            _ => Self::parse_update(id, object),
        }
    }

    fn parse_update(id: Value, object: &Map) -> CommandResult<Self> {
        match object.get("$v") {
            None if object
                .entries
                .first()
                .and_then(|(name, _)| name.as_str())
                .is_some_and(|name| name.starts_with('$')) =>
            {
                Ok(Self::Update(id, object.clone()))
            }
            None => Ok(Self::Replace(id, object.clone())),
            Some(version @ (Value::Int32(_) | Value::Int64(_))) => match (version.as_i64(), object.get("diff")) {
                (Some(2), Some(Value::Map(delta))) => Ok(Self::Delta(id, delta.clone())),
                (Some(2), found) => {
                    let found = found.map_or("missing", Value::type_name);
                    let message = format!("Expected 'diff' field to be an object, instead got type: {found}");
                    Err(CommandError::new(4_772_601, "Location4772601", message))
                }
                (Some(1), _) => {
                    let mut update = object.clone();
                    update.remove("$v");
                    Ok(Self::Update(id, update))
                }
                _ => {
                    Err(CommandError::not_supported(format!("applyOps does not support updates of version {version}")))
                }
            },
            Some(other) => {
                let message =
                    format!("Expected $v field to be missing or an integer, but got type: {}", other.type_name());
                Err(CommandError::new(4_772_600, "Location4772600", message))
            }
        }
    }
}

impl Ddl {
    /// True if the command drops a whole database.
    pub(super) fn drops_database(&self) -> bool {
        self.command.name == "dropDatabase"
    }

    /// True if an error code shows that the effect of the command exists already.
    pub(super) fn is_done(&self, code: i32) -> bool {
        let name = self.object.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
        COMMANDS.iter().any(|(known, _, codes)| *known == name && codes.contains(&code))
    }

    /// The command to run. For a view that exists, this is `collMod`.
    pub(super) fn command(&self, call: &Call<'_>) -> &'static Command {
        let full = format!("{}.{}", self.db, self.object.text("create").unwrap_or_default());
        let exists = self.is_view && call.shared.db.views().iter().any(|(name, _)| *name == full);
        if exists { commands::find("collMod").unwrap_or(self.command) } else { self.command }
    }

    /// The object of the entry, with the name that the command has here.
    fn renamed(&self, command: &Command) -> Map {
        let mut body = self.object.clone();
        if let Some((name, _)) = body.entries.first_mut() {
            *name = Value::from(command.name);
        }
        body
    }

    /// The fields of the command.
    ///
    /// # Errors
    /// Error 115 for options that are not supported.
    pub(super) fn body(&self, command: &Command) -> CommandResult<Map> {
        let mut body = self.renamed(command);
        if command.name == "collMod" && self.is_view {
            body.remove("collation");
        }
        match command.name {
            "create" if self.uuid => {
                let message = "applyOps cannot create a collection with a given UUID: leave out --preserveUUID";
                return Err(CommandError::not_supported(message));
            }
            "createIndexes" if !body.contains("indexes") => {
                let specification = Map { entries: body.entries.split_off(1) };
                body.push("indexes", Value::Array(vec![Value::Map(specification)]));
            }
            "createIndexes" => {
                body.remove("indexBuildUUID");
            }
            // A collection that already has the new name is dropped. Its UUID is ignored, because UUIDs differ between
            // servers.
            "renameCollection" => {
                if matches!(body.get("dropTarget"), Some(Value::Binary(_))) {
                    body.insert("dropTarget", true);
                }
            }
            _ => {}
        }
        Ok(body)
    }
}
