//! `renameCollection`.

use super::{Command, Levels};
use crate::call::Call;
use crate::collection_uuid;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::needs;
use alluvium::{Error, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("renameCollection", Kind::Text),
        required("to", Kind::Text),
        optional("dropTarget", Kind::BoolOrUuid).not_null(),
        optional("stayTemp", Kind::Bool),
        optional("collectionUUID", Kind::Any),
    ],
    access: Access::ByFields(needs::writes::rename_collection),
    admin_only: true,
    levels: Levels::Local,
    // The command is sent to `admin`, and names collections with their databases.
    namespace: |db, body| body.text("renameCollection").unwrap_or(db).to_owned(),
    ..Command::writing("renameCollection", run).audited().strict()
};

/// The most bytes of the name of a database, and of a full name.
const DB_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 255;

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let from = call.body.text("renameCollection").unwrap_or_default();
    let to = call.body.text("to").unwrap_or_default();
    let (old, new) = (parts(from)?, parts(to)?);
    let db = &call.shared.db;
    if let Some(uuid) = call.body.get("collectionUUID").filter(|uuid| **uuid != Value::Null) {
        collection_uuid::check(call.shared, old.0, old.1, uuid)?;
    }
    let drops_target = match call.body.get("dropTarget") {
        Some(Value::Binary(uuid)) => {
            if uuid.subtype != collection_uuid::SUBTYPE {
                return Err(collection_uuid::invalid("dropTarget has to be a boolean or a UUID"));
            }
            if old.0 != new.0 {
                let message = "dropTarget cannot be a UUID if the collection comes into another database";
                return Err(CommandError::invalid_options(message));
            }
            collection_uuid::check(call.shared, new.0, new.1, &Value::Binary(uuid.clone()))?;
            true
        }
        _ => call.body.flag("dropTarget"),
    };
    if from == to {
        return Err(CommandError::illegal_operation("Can't rename a collection to itself"));
    }
    match db.rename_collection(from, to) {
        Ok(()) => {}
        Err(Error::CollectionExists(_)) if drops_target => match db.replace_collection(from, to) {
            Err(Error::IsView(_)) => return Err(CommandError::namespace_exists("a view has the name of the target")),
            done => done?,
        },
        Err(Error::CollectionExists(_)) => return Err(CommandError::namespace_exists("target namespace exists")),
        Err(Error::NoSuchCollection { .. }) => {
            return Err(CommandError::namespace_not_found(format!("Source collection {from} does not exist")));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(call.reply())
}

/// The database and the collection of a name.
fn parts(name: &str) -> CommandResult<(&str, &str)> {
    let Some((db, collection)) = name.split_once('.').filter(|(db, rest)| !db.is_empty() && !rest.is_empty()) else {
        return Err(CommandError::invalid_namespace(format!("Invalid namespace specified '{name}'")));
    };
    let refuse = |why: &str| Err(CommandError::illegal_operation(format!("cannot rename {name}: {why}")));
    if collection.starts_with("system.") {
        return refuse("names that begin with system. are reserved");
    }
    if db == "local" && collection.starts_with("oplog.") {
        return refuse("it is the name of a log of operations");
    }
    if name.contains('$') {
        return refuse("a name cannot contain $");
    }
    // A database's own name that is too long is an error 73.
    if db.len() <= DB_BYTES_MAX && name.len() > NAME_BYTES_MAX {
        return refuse("a name has at most 255 bytes");
    }
    Ok((db, collection))
}
