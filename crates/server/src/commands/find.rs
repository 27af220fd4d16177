//! `find`: documents that match a filter.

pub(super) mod bounds;

use super::plan_cache::{Choice, choice};
use super::{Command, Levels};
use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::body::Body;
use crate::call::Call;
use crate::cursors::Followed;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::oplog_view;
use crate::profile;
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Find, Map, Value};
use alluvium_document::BsonBuilder;
use bounds::Range;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("find", Kind::Collection),
        optional("filter", Kind::Document).not_null(),
        optional("sort", Kind::Document),
        optional("projection", Kind::Document),
        optional("hint", Kind::Hint),
        optional("skip", Kind::Number),
        optional("limit", Kind::Number),
        optional("batchSize", Kind::Number),
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
        optional("term", Kind::Any),
        optional("readOnce", Kind::Flag),
        optional("allowSpeculativeMajorityRead", Kind::Flag),
        optional("includeQueryStatsMetrics", Kind::Flag),
    ],
    access: Access::Collection(Action::Find),
    levels: Levels::Snapshot,
    query: QueryPlace::Filter("filter"),
    explain: Some(|call, collection, body| Ok(query(call, collection, &Body::new(body.clone()))?.explain()?.to_map())),
    ..Command::reading("find", run).counted(Use::Query, "query").stable().strict().in_transactions()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    Figures::add(&call.shared.figures.queries, 1);
    let namespace = call.namespace()?;
    let size = call.body.count("batchSize")?.unwrap_or(FIRST_BATCH);
    let is_tailable = call.body.flag("tailable");
    if is_tailable {
        check_tailable(&call.body)?;
        if call.transaction.is_some() {
            return Err(CommandError::not_in_transaction("a transaction has no tailable cursors"));
        }
    }
    let limit = call.body.count("limit")?.filter(|limit| *limit > 0);
    let single = call.body.flag("singleBatch");
    let never_expires = call.body.flag("noCursorTimeout");
    if profile::is_made(call, call.collection_name()?)? {
        return FirstBatch { size, limit, single, ..profile::find(call)? }.reply(call);
    }
    if read::is_of_server(&namespace) {
        return FirstBatch { size, ..FirstBatch::of_list(Vec::new(), namespace) }.reply(call);
    }
    if is_tailable {
        return tail(call, namespace, size);
    }
    if call.body.flag("awaitData") {
        return Err(CommandError::failed_to_parse("Cannot set 'awaitData' without also setting 'tailable'"));
    }
    let cursor = query(call, call.collection_name()?, &call.body)?.run()?;
    if cursor.scans_documents() {
        call.shared.latencies.note_scan(&namespace);
    }
    let mut batch = FirstBatch::of(cursor, namespace);
    if call.body.flag("showRecordId") && !call.body.flag("returnKey") {
        batch.documents = batch.documents.with_record_ids();
    }
    FirstBatch { size, limit, single, never_expires, ..batch }.reply(call)
}

/// Refuses options that a tailable cursor cannot support.
fn check_tailable(body: &Body) -> CommandResult<()> {
    let is_natural = |sort: &Map| sort.is_empty() || sort.len() == 1 && sort.integer("$natural") == Some(1);
    if body.document("sort").is_some_and(|sort| !is_natural(sort)) {
        let message = "cannot use tailable option with a sort other than {$natural: 1}";
        return Err(CommandError::bad_value(message));
    }
    if body.flag("singleBatch") {
        return Err(CommandError::bad_value("cannot use tailable option with the 'singleBatch' option"));
    }
    if let Some(name) = ["limit", "skip"].iter().find(|name| body.integer(name).is_some_and(|number| number < 0)) {
        return Err(CommandError::bad_value(format!("the option '{name}' of a tailable cursor is not negative")));
    }
    Ok(())
}

/// Opens a tailable cursor.
fn tail(call: &Call<'_>, namespace: String, size: u64) -> CommandResult<BsonBuilder> {
    let (body, name) = (&call.body, call.collection_name()?);
    let query = query(call, name, body)?;
    let tail = match oplog_view::is_read(call, name) {
        true => Followed::Oplog(Box::new(query.tail_oplog()?)),
        false => Followed::Capped(Box::new(query.tail().map_err(|error| match error {
            alluvium::Error::IsView(name) => {
                let message = format!("the view {name} is read by a pipeline, which has no tailable cursor");
                CommandError::new(168, "InvalidPipelineOperator", message)
            }
            error => error.into(),
        })?)),
    };
    let never_expires = body.flag("noCursorTimeout");
    FirstBatch { size, never_expires, ..FirstBatch::of_tail(tail, body.flag("awaitData"), namespace) }.reply(call)
}

/// The query of a `find`, which is the command itself or is explained.
pub(super) fn query(call: &Call<'_>, collection: &str, body: &Body) -> CommandResult<Find> {
    let found = selection(call, collection, body)?;
    let projection = if body.flag("returnKey") {
        let own = call.collection_called(collection);
        let keys = match bounds::hinted(&own, body)? {
            Some(keys) => Some(keys),
            None if body.document("sort").is_some_and(|sort| sort.len() == 1 && sort.contains("_id")) => {
                Some(Map::from([("_id", Value::Int32(1))]))
            }
            // The plan is made a second time when the query runs below.
            None => bounds::used(&own, found.clone().run()?.explanation().as_ref())?,
        };
        Some(bounds::only(keys.as_ref()))
    } else {
        body.document("projection").filter(|projection| !projection.is_empty()).cloned()
    };
    Ok(match projection {
        Some(projection) => found.projection(projection),
        None => found,
    })
}

/// The query of a `find` without its projection.
fn selection(call: &Call<'_>, collection: &str, body: &Body) -> CommandResult<Find> {
    let own = call.collection_to_read(collection);
    let filter = body.document("filter");
    let is_bounded = ["min", "max"].iter().any(|bound| body.document(bound).is_some_and(|bound| !bound.is_empty()));
    let range = match is_bounded {
        true => Range::of(body, bounds::hinted(&own, body)?.as_ref())?,
        false => None,
    };
    let mut find = match (&range, filter) {
        (Some(range), filter) => own.find(range.within(filter.cloned().unwrap_or_default())),
        (None, Some(filter)) => oplog_view::find(call, &own, collection, filter),
        (None, None) => oplog_view::find(call, &own, collection, Map::new()),
    };
    if let Some(range) = range.filter(|_| body.document("sort").is_none_or(Map::is_empty)) {
        find = find.sort(range.keys);
    }
    if let Some(sort) = body.document("sort").filter(|sort| !sort.is_empty()) {
        find = find.sort(sort);
    }
    if let Some(collation) = read::collation(body) {
        find = find.collation(collation);
    }
    if let Some(variables) = body.document("let") {
        find = find.variables(variables);
    }
    find = match choice(call, collection, body, "filter")? {
        Choice::Any => find,
        Choice::Hint(hint) => find.hint(hint),
        Choice::Only(names) => find.only_indexes(names),
    };
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
