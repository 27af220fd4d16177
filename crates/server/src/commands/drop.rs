//! `drop`: removes a collection or a view.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Kind, optional, required};
use crate::profile;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Error, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[required("drop", Kind::Collection), optional("collectionUUID", Kind::Any)],
    access: Access::Collection(Action::DropCollection),
    ..Command::writing("drop", run).audited().stable().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let namespace = call.namespace()?;
    if profile::is_read(call.collection_name()?) {
        call.shared.slow.clear(&call.db);
        return call.answer(&Map::from([("ns", Value::from(namespace))]));
    }
    let collection = call.collection()?;
    let indexes = collection.indexes().map_or(0, |indexes| indexes.len());
    match collection.drop() {
        Ok(()) if indexes > 0 => {
            call.answer(&Map::from([("nIndexesWas", int(indexes as u64)), ("ns", Value::from(namespace))]))
        }
        Ok(()) => call.answer(&Map::from([("ns", Value::from(namespace))])),
        // Since MongoDB 7.0, dropping a collection that does not exist is not an error.
        Err(Error::NoSuchCollection { .. }) => Ok(call.reply()),
        Err(error) => Err(error.into()),
    }
}
