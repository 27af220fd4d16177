//! `findAndModify`: changes one document, and returns it as it was before or after the change.

use super::Command;
use super::explain::with_write;
use super::plan_cache::{Choice, choice};
use super::update::is_replacement;
use crate::batch::charge_made;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::latencies::Use;
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::needs;
use alluvium::{Collection, Document, FindOneAndModify, Map, ReturnDocument, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    aliases: &["findandmodify"],
    fields: &[
        required("findAndModify", Kind::Collection),
        optional("query", Kind::Document),
        optional("update", Kind::Change),
        optional("remove", Kind::Flag),
        optional("new", Kind::Flag),
        optional("upsert", Kind::Flag),
        optional("sort", Kind::Document),
        optional("fields", Kind::Document),
        optional("arrayFilters", Kind::Documents),
        optional("hint", Kind::Hint),
        optional("collation", Kind::Document),
        optional("let", Kind::Document),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("stmtId", Kind::Integer),
        optional("bypassEmptyTsReplacement", Kind::Flag),
        optional("collectionUUID", Kind::Any),
        optional("encryptionInformation", Kind::Document),
        optional("runtimeConstants", Kind::Document),
    ],
    access: Access::ByFields(needs::writes::find_and_modify),
    retryable: true,
    usage: Use::Update,
    query: QueryPlace::WriteFilter("query"),
    explain: Some(explain),
    ..Command::writing("findAndModify", run).stable().strict().in_transactions()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if let (Some(number), Some(retry)) = (call.body.get("stmtId"), &mut call.retry) {
        retry.number_statements(Some(std::slice::from_ref(number)), 1)?;
    }
    if let Some(earlier) = call.earlier_result(0) {
        return call.answer(&earlier?);
    }
    let removes = call.body.flag("remove");
    let collection = call.recording(call.collection_name()?, 0, move |written| {
        let document = written.document.as_ref().and_then(|document| document.to_map().ok());
        describe(removes, written.matched, written.upserted_id.as_ref(), document)
    })?;
    call.note_plan_of(|| Ok(modification(call, call.collection_name()?, &collection, &call.body)?.explain()?));
    let done = modification(call, call.collection_name()?, &collection, &call.body)?.run_with_outcome()?;
    call.note_durable(done.changed);
    match removes {
        true => call.note_count("ndeleted", done.matched.into()),
        false => {
            call.note_count("nMatched", done.matched.into());
            call.note_count("nModified", (done.matched && done.changed).into());
            call.note_count("nUpserted", done.upserted_id.is_some().into());
        }
    }
    if let Some(document) = &done.document {
        // The memory of the stored document, of the decoded one, and of the reply.
        let decoded = document.map().and_then(|map| map.memory()).map_err(alluvium::Error::from)?;
        charge_made(call, decoded + 2 * document.row_len())?;
    }
    let document = done.document.as_ref().map(Document::to_map).transpose().map_err(alluvium::Error::from)?;
    call.answer(&describe(removes, done.matched, done.upserted_id.as_ref(), document))
}

/// The fields of the reply, which the record of a retryable write keeps.
fn describe(removes: bool, matched: bool, upserted: Option<&Value>, document: Option<Map>) -> Map {
    let mut last = Map::from([("n", Value::Int32(i32::from(matched || upserted.is_some())))]);
    if !removes {
        last.push("updatedExisting", matched);
        if let Some(id) = upserted {
            last.push("upserted", id.clone());
        }
    }
    Map::from([("lastErrorObject", Value::Map(last)), ("value", document.map_or(Value::Null, Value::Map))])
}

/// The modification of the command, or of a `findAndModify` that is explained.
fn modification(
    call: &Call<'_>,
    name: &str,
    collection: &Collection,
    body: &Map,
) -> CommandResult<FindOneAndModify<Document>> {
    let filter = body.document("query").cloned().unwrap_or_default();
    let (removes, upsert, new) = (body.flag("remove"), body.flag("upsert"), body.flag("new"));
    let wrong = |message: &str| Err(CommandError::failed_to_parse(message));
    let mut write = match body.get("update") {
        Some(_) if removes => return wrong("Cannot specify both an update and remove=true"),
        None if !removes => return wrong("Either an update or remove=true must be specified"),
        _ if removes && upsert => return wrong("Cannot specify both upsert=true and remove=true"),
        _ if removes && new => {
            return wrong("Cannot specify both new=true and remove=true; 'remove' always returns the deleted document");
        }
        None => collection.find_one_and_delete(filter),
        Some(Value::Map(change)) if is_replacement(change) => collection.find_one_and_replace(filter, change),
        Some(change) => collection.find_one_and_update(filter, change),
    };
    if let Some(filters) = body.elements("arrayFilters").filter(|filters| !filters.is_empty()) {
        write = write.array_filters(filters.iter());
    }
    if let Some(sort) = body.document("sort").filter(|sort| !sort.is_empty()) {
        write = write.sort(sort);
    }
    if let Some(fields) = body.document("fields").filter(|fields| !fields.is_empty()) {
        write = write.projection(fields);
    }
    if let Some(collation) = read::collation(body) {
        write = write.collation(collation);
    }
    write = match choice(call, name, body, "query")? {
        Choice::Any => write,
        Choice::Hint(hint) => write.hint(hint),
        Choice::Only(names) => write.only_indexes(names),
    };
    if let Some(variables) = body.document("let") {
        write = write.variables(variables);
    }
    if !removes {
        write = write.upsert(upsert);
    }
    let returned = if new { ReturnDocument::After } else { ReturnDocument::Before };
    Ok(write.return_document(returned).as_bson(true).max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}

fn explain(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Map> {
    let plan = modification(call, collection, &call.collection_called(collection), body)?.explain()?;
    Ok(match body.flag("remove") {
        true => with_write(plan.to_map(), "DELETE", "nWouldDelete"),
        false => with_write(plan.to_map(), "UPDATE", "nWouldModify"),
    })
}
