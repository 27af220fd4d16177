//! `count`: the number of documents that match a filter.

use super::plan_cache::{Choice, choice};
use super::{Command, Levels};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::latencies::Use;
use crate::oplog_view;
use crate::profile;
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Find, Map};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("count", Kind::Collection),
        optional("query", Kind::Document),
        optional("limit", Kind::Limit).not_null(),
        optional("skip", Kind::Number),
        optional("hint", Kind::Hint),
        optional("collation", Kind::Document),
        optional("fields", Kind::Any),
    ],
    access: Access::Collection(Action::Find),
    levels: Levels::Majority,
    query: QueryPlace::Filter("query"),
    explain: Some(|call, collection, body| Ok(query(call, collection, body)?.explain_count()?.to_map())),
    usage: Use::Read,
    ..Command::reading("count", run).stable().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let count = if profile::is_made(call, call.collection_name()?)? {
        profile::count(call)?
    } else if read::is_of_server(&call.namespace()?) {
        0
    } else if let Some(count) = kept(call)? {
        call.note_fast_count();
        count
    } else {
        let query = || query(call, call.collection_name()?, &call.body);
        call.note_plan_of(|| Ok(query()?.explain_count()?));
        query()?.count()?
    };
    let mut builder = call.reply();
    builder.put("n", &int(count))?;
    Ok(builder)
}

/// The stored count of the collection, if the command asks for the number of all documents and nothing else.
fn kept(call: &Call<'_>) -> CommandResult<Option<u64>> {
    let body = &call.body;
    let is_plain = body.document("query").is_none_or(Map::is_empty)
        && ["hint", "limit", "skip"].iter().all(|name| !body.contains(name));
    let namespace = call.namespace()?;
    if !is_plain || call.shared.db.views().iter().any(|(view, _)| *view == namespace) {
        return Ok(None);
    }
    if oplog_view::is_read(call, call.collection_name()?) {
        return Ok(Some(oplog_view::size(call)?.0));
    }
    Ok(Some(call.collection()?.estimated_count_within(call.max_time(), Arc::clone(&call.stop))?))
}

/// The query of the command, or of a `count` that is explained.
pub(super) fn query(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Find> {
    let own = call.collection_called(collection);
    let mut find = oplog_view::find(call, &own, collection, body.document("query").cloned().unwrap_or_default());
    if let Some(collation) = read::collation(body) {
        find = find.collation(collation);
    }
    find = match choice(call, collection, body, "query")? {
        Choice::Any => find,
        Choice::Hint(hint) => find.hint(hint),
        Choice::Only(names) => find.only_indexes(names),
    };
    if body.integer("limit") == Some(i64::MIN) {
        return Err(CommandError::bad_value("the limit of count has no amount in 64 bits"));
    }
    // A negative limit counts as its absolute value, as in old queries.
    let limit = body.integer("limit").map_or(0, i64::unsigned_abs);
    let skip = body.count("skip")?.unwrap_or(0);
    Ok(find.skip(skip).limit(limit).max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}
