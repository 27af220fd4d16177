//! `listIndexes`.

use super::Command;
use crate::batch::{FIRST_BATCH, FirstBatch, first_size};
use crate::call::Call;
use crate::collection_list;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::listing;
use crate::oplog_view;
use crate::profile;
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("listIndexes", Kind::Collection),
        optional("cursor", Kind::Document),
        optional("includeBuildUUIDs", Kind::Flag),
        optional("includeIndexBuildInfo", Kind::Flag),
    ],
    access: Access::Collection(Action::ListIndexes),
    ..Command::reading("listIndexes", run).stable().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let namespace = call.namespace()?;
    let has_builds = call.body.flag("includeIndexBuildInfo");
    if has_builds && call.body.flag("includeBuildUUIDs") {
        let message = "only one of includeBuildUUIDs and includeIndexBuildInfo can be true";
        return Err(CommandError::invalid_options(message));
    }
    let size = first_size("listIndexes", &call.body)?.unwrap_or(FIRST_BATCH);
    if let Some(list) = of_server(call)? {
        return FirstBatch { size, ..FirstBatch::of_list(listing::documents(&list)?, namespace) }.reply(call);
    }
    let collection = call.collection()?;
    if read::is_of_server(&namespace) || collection.identity()?.is_none() {
        return Err(CommandError::namespace_not_found(format!("ns does not exist: {namespace}")));
    }
    let mut list: Vec<_> =
        collection.indexes()?.into_iter().map(|index| listing::definition(index.definition)).collect();
    // As in MongoDB, the option `clusteredIndex` replaces the index of `_id` in the list.
    if let (Some(clustered), Some(first)) = (collection.options()?.document("clusteredIndex"), list.first_mut()) {
        *first = clustered.clone();
        first.push("clustered", true);
    }
    if has_builds {
        list = list.into_iter().map(|spec| Map::from([("spec", Value::Map(spec))])).collect();
    }
    FirstBatch { size, ..FirstBatch::of_list(listing::documents(&list)?, namespace) }.reply(call)
}

/// The indexes of a virtual collection, whose documents the server generates; `None` for any other collection.
fn of_server(call: &Call<'_>) -> CommandResult<Option<Vec<Map>>> {
    let name = call.collection_name()?;
    if profile::is_read(name) && profile::exists(call) || oplog_view::is_read(call, name) {
        return Ok(Some(Vec::new()));
    }
    if name == collection_list::VIEWS && collection_list::has_views(call, &call.db) {
        return Ok(Some(vec![collection_list::id_index(None)]));
    }
    Ok(None)
}
