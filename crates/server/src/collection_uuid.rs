//! The UUIDs of collections. With them, clients can check that a name still means the same collection.

use crate::error::{CommandError, CommandResult};
use crate::shared::Shared;
use alluvium::{Binary, Collection, Value, collection_uuid};
use sha2::{Digest, Sha256};

/// Returns the UUID of a collection, which the collection keeps as long as it exists, even if it is renamed.
///
/// # Errors
/// Errors of the catalogue.
pub(crate) fn of(collection: &Collection) -> CommandResult<Value> {
    Ok(collection_uuid(collection.identity()?.unwrap_or_default()))
}

/// Checks that a collection has the UUID that a client expects, and returns its number.
///
/// # Errors
/// Error 361 if the collection has another UUID or does not exist; 14 if `expected` is not a UUID, and 207 if the
/// length of `expected` is wrong.
pub(crate) fn check(shared: &Shared, db: &str, name: &str, expected: &Value) -> CommandResult<u64> {
    match expected {
        Value::Binary(binary) if binary.subtype == Binary::UUID && binary.bytes.len() == 16 => {}
        Value::Binary(binary) if binary.subtype == Binary::UUID => return Err(invalid("a UUID has 16 bytes")),
        other => {
            let found = other.type_name();
            let message = format!("BSON field 'collectionUUID' is the wrong type '{found}', expected a UUID");
            return Err(CommandError::type_mismatch(message));
        }
    }
    let database = shared.db.logical_database(db);
    let collection = database.collection(name);
    if let Some(number) = collection.identity()?
        && collection_uuid(number) == *expected
    {
        return Ok(number);
    }
    let mut actual = Value::Null;
    for info in shared.db.collections().into_iter().filter(|info| info.database == db) {
        if of(&database.collection(&info.name))? == *expected {
            actual = Value::from(info.name);
        }
    }
    let error = CommandError::new(361, "CollectionUUIDMismatch", "Collection UUID does not match that specified");
    Err(error
        .with("db", db)
        .with("collectionUUID", expected.clone())
        .with("expectedCollection", name)
        .with("actualCollection", actual))
}

/// Error 207.
pub(crate) fn invalid(message: &str) -> CommandError {
    CommandError::new(207, "InvalidUUID", message)
}

/// The UUID of the collection in which MongoDB stores the view definitions of a database.
pub(crate) fn of_views(db: &str) -> Value {
    Value::Binary(Binary::uuid(&Sha256::digest(format!("{db}.system.views"))))
}
