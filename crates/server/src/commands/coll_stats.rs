//! `collStats`: the sizes of a collection.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::server_stages;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

/// The error code for a collection that does not exist.
const NAMESPACE_NOT_FOUND: i32 = 26;

pub(super) const COMMAND: Command = Command {
    aliases: &["collstats"],
    fields: &[required("collStats", Kind::Text), optional("scale", Kind::Number)],
    access: Access::Collection(Action::CollStats),
    ..Command::reading("collStats", run)
};

/// Returns the fields of `storageStats` in `$collStats`. If the collection does not exist, all figures are zero.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let namespace = call.namespace()?;
    let scale = call.body.get("scale").cloned().unwrap_or(Value::Int32(1));
    let stage = Map::from([("storageStats", Value::Map(Map::from([("scale", scale)])))]);
    let mut fields = Map::from([("ns", Value::from(namespace))]);
    let found = match server_stages::statistics::of_collection(call, &Value::Map(stage)) {
        Ok(list) => list.into_iter().next(),
        Err(error) if error.code == NAMESPACE_NOT_FOUND => None,
        Err(error) => return Err(error),
    };
    match found.and_then(|entry| entry.document("storageStats").cloned()) {
        Some(storage) => fields.entries.extend(storage.entries),
        None => {
            let names = ["size", "count", "numOrphanDocs", "storageSize", "totalSize", "nindexes", "totalIndexSize"];
            names.iter().for_each(|name| fields.push(*name, 0));
            fields.push("indexDetails", Map::new());
            fields.push("indexSizes", Map::new());
            fields.push("scaleFactor", call.body.truncated("scale").unwrap_or(1));
        }
    }
    call.answer(&fields)
}
