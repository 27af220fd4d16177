//! `dropIndexes`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Collection, Hint, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["deleteIndexes"],
    fields: &[
        required("dropIndexes", Kind::Collection),
        required("index", Kind::IndexNames),
        optional("isTimeseriesNamespace", Kind::Bool),
        optional("collectionUUID", Kind::Any),
    ],
    access: Access::Collection(Action::DropIndex),
    ..Command::writing("dropIndexes", run).audited().stable().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let collection = call.collection()?;
    if collection.identity()?.is_none() {
        return Err(CommandError::namespace_not_found(format!("ns not found {}", call.namespace()?)));
    }
    let before = collection.indexes()?.len();
    let mut reply = Map::from([("nIndexesWas", int(before as u64))]);
    match call.body.get("index") {
        Some(Value::String(all)) if &**all == "*" => {
            collection.drop_indexes()?;
            reply.push("msg", "non-_id indexes dropped for collection");
        }
        Some(Value::Array(names)) => {
            // All indexes are looked up before the first is dropped.
            let names = names.iter().map(|name| named(&collection, name)).collect::<CommandResult<Vec<_>>>()?;
            for name in names {
                collection.drop_index(name)?;
            }
        }
        Some(index) => collection.drop_index(named(&collection, index)?)?,
        None => {}
    }
    call.answer(&reply)
}

/// The name of an index that the client gives by its name or its keys.
fn named(collection: &Collection, index: &Value) -> CommandResult<String> {
    let (hint, shown) = match index {
        Value::String(name) => (Hint::from(&**name), format!("index not found with name [{name}]")),
        Value::Map(keys) => {
            (Hint::from(keys.clone()), format!("can't find index with key: {}", Value::Map(keys.clone())))
        }
        _ => return Err(CommandError::type_mismatch("an index is given by its name or its keys")),
    };
    let name = collection.index_name(hint).map_err(|error| match error {
        alluvium::Error::NoSuchIndex { .. } => CommandError::new(27, "IndexNotFound", shown),
        error => error.into(),
    })?;
    match name.as_str() {
        "_id_" => Err(CommandError::invalid_options("cannot drop _id index")),
        _ => Ok(name),
    }
}
