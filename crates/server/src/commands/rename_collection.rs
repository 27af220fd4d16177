//! `renameCollection`.

use super::{Command, Levels};
use crate::call::Call;
use crate::collection_uuid;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::needs;
use alluvium::{Error, ExpectedCollections, Value};
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
    // The command is sent to `admin`; its fields have full collection names.
    namespace: |db, body| body.text("renameCollection").unwrap_or(db).to_owned(),
    ..Command::writing("renameCollection", run).audited().strict()
};

/// The most bytes of a database name, and of a full collection name.
const DB_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 255;

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let from = call.body.text("renameCollection").unwrap_or_default();
    let to = call.body.text("to").unwrap_or_default();
    let (old, new) = (parts(from)?, parts(to)?);
    let db = &call.shared.db;
    let uuid = call.body.get("collectionUUID").filter(|uuid| **uuid != Value::Null).cloned();
    let mut target = None;
    let drops_target = match call.body.get("dropTarget") {
        Some(Value::Binary(uuid)) => {
            if uuid.subtype != alluvium::Binary::UUID {
                return Err(collection_uuid::invalid("dropTarget has to be a boolean or a UUID"));
            }
            if old.0 != new.0 {
                let message = "dropTarget cannot be a UUID if the collection comes into another database";
                return Err(CommandError::invalid_options(message));
            }
            target = Some(Value::Binary(uuid.clone()));
            true
        }
        _ => call.body.flag("dropTarget"),
    };
    if from == to {
        return Err(CommandError::illegal_operation("Can't rename a collection to itself"));
    }
    // Repeats if another client gives the names to other collections between the check of the UUIDs and the rename.
    loop {
        let expected = expected(call, old, uuid.as_ref(), new, target.as_ref())?;
        let renamed = match db.rename_expected(from, to, &expected, target.is_some()) {
            Err(Error::CollectionExists(_)) if drops_target => match db.rename_expected(from, to, &expected, true) {
                Err(Error::IsView(_)) => return Err(taken_by_a_view()),
                done => done?,
            },
            Err(Error::CollectionExists(_)) => return Err(CommandError::namespace_exists("target namespace exists")),
            Err(Error::NoSuchCollection { .. }) => {
                return Err(CommandError::namespace_not_found(format!("Source collection {from} does not exist")));
            }
            done => done?,
        };
        if renamed {
            return Ok(call.reply());
        }
    }
}

fn taken_by_a_view() -> CommandError {
    CommandError::namespace_exists("a view has the name of the target")
}

/// Returns the identities of the collections with these names, after checking them against the UUIDs that the client
/// expects.
///
/// # Errors
/// The errors of [`collection_uuid::check`].
fn expected(
    call: &Call<'_>,
    old: (&str, &str),
    uuid: Option<&Value>,
    new: (&str, &str),
    target: Option<&Value>,
) -> CommandResult<ExpectedCollections> {
    let one = |(db, name): (&str, &str), uuid: Option<&Value>| -> CommandResult<Option<u64>> {
        let Some(uuid) = uuid else { return Ok(None) };
        collection_uuid::check(call.shared, db, name, uuid).map(Some)
    };
    Ok(ExpectedCollections { from: one(old, uuid)?, to: one(new, target)? })
}

/// Splits a full name into database and collection.
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
    // A database name that is too long is an error 73.
    if db.len() <= DB_BYTES_MAX && name.len() > NAME_BYTES_MAX {
        return refuse("a name has at most 255 bytes");
    }
    Ok((db, collection))
}
