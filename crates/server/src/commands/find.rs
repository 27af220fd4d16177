//! `find`: documents that match a filter.

use super::Command;
use crate::access::{Access, Action};
use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::profile;
use crate::read;
use alluvium::{Find, Map};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("find", Kind::Text),
        optional("filter", Kind::Document),
        optional("sort", Kind::Document),
        optional("projection", Kind::Document),
        optional("hint", Kind::TextOrDocument),
        optional("skip", Kind::Integer),
        optional("limit", Kind::Integer),
        optional("batchSize", Kind::Integer),
        optional("singleBatch", Kind::Flag),
        optional("let", Kind::Document),
        optional("collation", Kind::Document),
        optional("noCursorTimeout", Kind::Flag),
        optional("allowDiskUse", Kind::Flag),
        optional("allowPartialResults", Kind::Flag),
        optional("oplogReplay", Kind::Flag),
        optional("returnKey", Kind::Flag),
        optional("showRecordId", Kind::Flag),
        optional("tailable", Kind::Flag),
        optional("awaitData", Kind::Flag),
        optional("min", Kind::Document),
        optional("max", Kind::Document),
    ],
    access: Access::Collection(Action::Find),
    reads_snapshots: true,
    ..Command::reading("find", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    Figures::add(&call.shared.figures.queries, 1);
    let namespace = call.namespace()?;
    let size = call.body.count("batchSize")?.unwrap_or(FIRST_BATCH);
    let limit = call.body.count("limit")?.filter(|limit| *limit > 0);
    let single = call.body.flag("singleBatch");
    let never_expires = call.body.flag("noCursorTimeout");
    if profile::is_read(call.collection_name()?) {
        return FirstBatch { size, limit, single, ..profile::find(call)? }.reply(call);
    }
    if read::is_of_server(&namespace) {
        return FirstBatch { size, ..FirstBatch::of_list(Vec::new(), namespace) }.reply(call);
    }
    let cursor = query(call, call.collection_name()?, &call.body)?.run()?;
    FirstBatch { size, limit, single, never_expires, ..FirstBatch::of(cursor, namespace) }.reply(call)
}

/// The query of a `find`, of the command itself or of one that is explained.
pub(super) fn query(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Find> {
    read::refuse_unsupported("find", body, &["returnKey", "showRecordId", "tailable", "awaitData"], &["min", "max"])?;
    let mut find = call.collection_called(collection).find(body.document("filter").cloned().unwrap_or_default());
    if let Some(sort) = body.document("sort").filter(|sort| !sort.is_empty()) {
        find = find.sort(sort);
    }
    if let Some(projection) = body.document("projection").filter(|projection| !projection.is_empty()) {
        find = find.projection(projection);
    }
    if let Some(collation) = read::collation(body) {
        find = find.collation(collation);
    }
    if let Some(variables) = body.document("let") {
        find = find.variables(variables);
    }
    if let Some(hint) = read::hint(body) {
        find = find.hint(hint);
    }
    if let Some(snapshot) = call.snapshot() {
        find = find.at(snapshot);
    }
    if body.get("allowDiskUse").is_some() {
        find = find.allow_disk_use(body.flag("allowDiskUse"));
    }
    let skip = body.count("skip")?.unwrap_or(0);
    let limit = body.count("limit")?.unwrap_or(0);
    Ok(find.skip(skip).limit(limit).max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}
