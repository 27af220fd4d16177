//! `distinct`: the distinct values of a field.

use super::plan_cache::{Choice, choice};
use super::{Command, Levels};
use crate::batch::charge_whole;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::latencies::Use;
use crate::oplog_view;
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Find, Map, Value};
use alluvium_document::{BsonBuilder, bson};
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("distinct", Kind::Collection),
        required("key", Kind::Text),
        optional("query", Kind::Document),
        optional("collation", Kind::Document),
        optional("hint", Kind::Hint),
    ],
    access: Access::Collection(Action::Find),
    levels: Levels::Snapshot,
    query: QueryPlace::Filter("query"),
    explain: Some(explain),
    usage: Use::Read,
    ..Command::reading("distinct", run).strict().in_transactions()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let key = call.body.text("key").unwrap_or_default();
    let query = || query(call, call.collection_name()?, &call.body);
    call.note_plan_of(|| Ok(query()?.explain_distinct(key)?));
    let values = query()?.distinct(key)?;
    // Charges the memory of the values and of the reply.
    charge_whole(call, 2 * values.iter().map(Value::memory).sum::<usize>())?;
    let mut fields = Map::from([("values", Value::Array(values))]);
    if let Some(at) = &call.snapshot {
        fields.push("atClusterTime", Value::Timestamp(at.time));
    }
    call.answer(&fields).map_err(|error| named(call, &fields, error))
}

/// The error with the document of the first value that BSON cannot hold.
fn named(call: &Call<'_>, fields: &Map, error: CommandError) -> CommandError {
    let name = |key: &str| -> CommandResult<Option<CommandError>> {
        let Some(Value::Array(values)) = fields.get("values") else { return Ok(None) };
        let Some((value, reason)) = values.iter().find_map(|value| {
            let (_, reason) = bson::unfit(&Map::from([("", value.clone())]))?;
            Some((value, reason))
        }) else {
            return Ok(None);
        };
        let mut filter = vec![Value::Map(Map::from([(key, Map::from([("$eq", value.clone())]))]))];
        filter.extend(call.body.document("query").cloned().map(Value::Map));
        let mut body = Map::clone(&call.body);
        body.insert("query", Map::from([("$and", Value::Array(filter))]));
        let document = query(call, call.collection_name()?, &body)?.limit(1).run()?.next().transpose()?;
        let namespace = call.namespace()?;
        Ok(document.map(|document| alluvium::Error::not_bson(&namespace, &document, &reason).into()))
    };
    let key = call.body.text("key").unwrap_or_default();
    name(key).ok().flatten().unwrap_or(error)
}

/// The query of the command, or of a `distinct` that is explained.
pub(super) fn query(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Find> {
    let own = call.collection_called(collection);
    let mut find = oplog_view::find(call, &own, collection, body.document("query").cloned().unwrap_or_default());
    if let Some(collation) = read::collation(body) {
        find = find.collation(collation);
    }
    if let Some(snapshot) = call.snapshot() {
        find = find.at(snapshot);
    }
    find = match choice(call, collection, body, "query")? {
        Choice::Any => find,
        Choice::Hint(hint) => find.hint(hint),
        Choice::Only(names) => find.only_indexes(names),
    };
    Ok(find.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}

fn explain(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Map> {
    Ok(query(call, collection, body)?.explain_distinct(body.text("key").unwrap_or_default())?.to_map())
}
