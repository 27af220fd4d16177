//! `renameCollection`.

use super::Command;
use crate::access::Access;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use alluvium::Error;
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("renameCollection", Kind::Text),
        required("to", Kind::Text),
        optional("dropTarget", Kind::Any),
        optional("stayTemp", Kind::Flag),
    ],
    access: Access::ByFields,
    admin_only: true,
    ..Command::writing("renameCollection", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let from = call.body.text("renameCollection").unwrap_or_default();
    let to = call.body.text("to").unwrap_or_default();
    let split =
        |name: &str| name.split_once('.').is_some_and(|(db, collection)| !db.is_empty() && !collection.is_empty());
    if !split(from) || !split(to) {
        let wrong = if split(from) { to } else { from };
        return Err(CommandError::invalid_namespace(format!("Invalid namespace specified '{wrong}'")));
    }
    if from == to {
        return Err(CommandError::illegal_operation("Can't rename a collection to itself"));
    }
    let db = &call.shared.db;
    match db.rename_collection(from, to) {
        Ok(()) => {}
        Err(Error::CollectionExists(_)) if call.body.flag("dropTarget") => db.replace_collection(from, to)?,
        Err(Error::CollectionExists(_)) => return Err(CommandError::namespace_exists("target namespace exists")),
        Err(Error::NoSuchCollection { .. }) => {
            return Err(CommandError::namespace_not_found(format!("Source collection {from} does not exist")));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(call.reply())
}
