//! `listIndexes`.

use super::Command;
use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("listIndexes", Kind::Collection),
        optional("cursor", Kind::Document),
        optional("includeBuildUUIDs", Kind::Flag),
    ],
    access: Access::Collection(Action::ListIndexes),
    ..Command::reading("listIndexes", run).stable()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let namespace = call.namespace()?;
    let collection = call.collection()?;
    if collection.identity()?.is_none() {
        return Err(CommandError::namespace_not_found(format!("ns does not exist: {namespace}")));
    }
    let mut list: Vec<_> =
        collection.indexes()?.into_iter().map(|index| listing::definition(index.definition)).collect();
    // The index of the `_id`s is that of the option, as in MongoDB.
    if let (Some(clustered), Some(first)) = (collection.options()?.document("clusteredIndex"), list.first_mut()) {
        *first = clustered.clone();
        first.push("clustered", true);
    }
    let size = call.body.document("cursor").map_or(Ok(None), |cursor| cursor.count("batchSize"))?;
    let size = size.unwrap_or(FIRST_BATCH);
    FirstBatch { size, ..FirstBatch::of_list(listing::documents(&list)?, namespace) }.reply(call)
}
