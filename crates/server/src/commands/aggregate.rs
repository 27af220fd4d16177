//! `aggregate`: a pipeline over a collection or a database.

use super::pipeline::{check_target, collection, pipeline};
use super::{Command, Levels, Writes};
use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::profile;
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::needs;
use crate::server_stages::{self, change_streams};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_query::pipeline::stages::{self, StageName};

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("aggregate", Kind::CollectionOrNumber),
        required("pipeline", Kind::Documents).not_null(),
        optional("cursor", Kind::Document).not_null(),
        optional("explain", Kind::Bool).not_null(),
        optional("allowDiskUse", Kind::Bool).not_null(),
        optional("hint", Kind::Hint),
        optional("collation", Kind::Document),
        optional("let", Kind::Document),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("bypassEmptyTsReplacement", Kind::Flag),
        optional("collectionUUID", Kind::Any),
        optional("encryptionInformation", Kind::Document),
        optional("exchange", Kind::Document),
        optional("fromMongos", Kind::Flag),
        optional("fromRouter", Kind::Flag),
        optional("includeQueryStatsMetrics", Kind::Flag),
        optional("isMapReduceCommand", Kind::Flag),
        optional("needsMerge", Kind::Flag),
        optional("querySettings", Kind::Document),
        optional("runtimeConstants", Kind::Document),
    ],
    access: Access::ByFields(needs::pipeline::aggregate),
    levels: Levels::Snapshot,
    query: QueryPlace::Pipeline,
    explain: Some(explain),
    writes: Writes::ByPipeline,
    ..Command::writing("aggregate", run).counted(Use::Read, "command").stable().strict().in_transactions()
};

const CURSOR: &[Field] = &[optional("batchSize", Kind::Number)];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    Figures::add(&call.shared.figures.queries, 1);
    super::search_indexes::check_pipeline(call)?;
    let size = batch_size(call)?;
    let stages = call.body.elements("pipeline").unwrap_or_default();
    let target = call.argument().as_str();
    let collection = collection(call.argument())?.to_owned();
    if stages.first().and_then(Value::as_map).is_some_and(|first| first.contains(StageName::Facet.name())) {
        server_stages::check(&call.db, target, stages)?;
    }
    check_target(target, stages)?;
    server_stages::check(&call.db, target, stages)?;
    if call.transaction.is_some() {
        check_in_transaction(stages, call.body.flag("explain"))?;
    }
    read::check_variables(&call.body)?;
    let explains = call.body.flag("explain");
    if explains && call.body.document("writeConcern").is_some() {
        let message = "Aggregation explain does not support the 'writeConcern' option";
        return Err(CommandError::failed_to_parse(message));
    }
    let writes = COMMAND.writes(&call.body);
    // A pipeline that only reads need not wait for the disk, even if the default write concern asks for it.
    call.note_durable(!writes);
    if explains {
        let fields = explain(call, &collection, &call.body)?;
        return super::explain::reply(call, &COMMAND, fields, &collection, &call.body, "queryPlanner");
    }
    let Some(size) = size else {
        let message = "The 'cursor' option is required, except for aggregate with the explain argument";
        return Err(CommandError::failed_to_parse(message));
    };
    if let Some(reply) = server_stages::run(call)? {
        return Ok(reply);
    }
    // A pipeline that writes runs to its end in this request, even if the client asks for a small first batch.
    let size = if writes { FIRST_BATCH } else { size };
    let namespace = format!("{}.{}", call.db, target.unwrap_or("$cmd.aggregate"));
    if profile::is_made(call, &collection)? {
        let cursor = profile::pipeline(call, &collection, stages.iter().cloned())?;
        return FirstBatch { size, ..FirstBatch::of(cursor, namespace) }.reply(call);
    }
    if read::is_of_server(&namespace) {
        return FirstBatch::of_list(Vec::new(), namespace).reply(call);
    }
    let cursor = pipeline(call, &collection, &call.body)?.run()?;
    FirstBatch { size, ..FirstBatch::of(cursor, namespace) }.reply(call)
}

/// Refuses what no pipeline of a transaction has.
fn check_in_transaction(stages: &[Value], explains: bool) -> CommandResult<()> {
    if explains {
        return Err(CommandError::not_in_transaction("Cannot run 'explain' in a multi-document transaction."));
    }
    for stage in stages.iter().filter_map(Value::as_map) {
        let name = stage.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
        if stages::writes(stage) || stages::find(name).is_some_and(|row| row.of_server.is_some()) {
            let message = format!("Aggregation stage {name} cannot run within a multi-document transaction");
            return Err(CommandError::not_in_transaction(message));
        }
    }
    Ok(())
}

/// The most documents of the first batch; `None` without a cursor.
fn batch_size(call: &Call<'_>) -> CommandResult<Option<u64>> {
    let Some(cursor) = call.body.document("cursor") else { return Ok(None) };
    fields::refuse_unknown("cursor", CURSOR, cursor.entries.iter().map(|(name, _)| name))?;
    fields::check("cursor", CURSOR, cursor)?;
    Ok(Some(cursor.count("batchSize")?.unwrap_or(FIRST_BATCH)))
}

/// Explains a pipeline. The pipeline is executed unless only its plan is requested; a stage that writes is never
/// executed.
fn explain(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Map> {
    if change_streams::is_wanted(body) {
        return Err(CommandError::not_supported("$changeStream cannot be explained: it reads the recorded changes"));
    }
    let mut reading = body.clone();
    let mut write = None;
    if COMMAND.writes(body)
        && let Some(Value::Array(stages)) = reading.get_mut("pipeline")
    {
        write = stages.pop();
    }
    // The option `explain` of `aggregate` itself has the verbosity `queryPlanner`.
    let plan_only = call.body.flag("explain") || call.body.text("verbosity") == Some("queryPlanner");
    let pipeline = pipeline(call, collection, &reading)?;
    let explanation = if plan_only { pipeline.explain_plan()? } else { pipeline.explain()? };
    let mut fields = match &explanation.head {
        // A pipeline that is a single query is explained like `find`.
        Some(head) if explanation.stages.is_empty() && write.is_none() => head.to_map(),
        _ => explanation.to_map(),
    };
    if let (Some(write), Some(Value::Array(stages))) = (write, fields.get_mut("stages")) {
        stages.push(write);
    }
    Ok(fields)
}
