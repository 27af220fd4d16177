//! `aggregate`: a pipeline over a collection or a database.

use super::Command;
use super::pipeline::{collection, pipeline};
use crate::access::Access;
use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::profile;
use crate::read;
use alluvium::Value;
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("aggregate", Kind::TextOrInteger),
        required("pipeline", Kind::Documents),
        optional("cursor", Kind::Document),
        optional("explain", Kind::Flag),
        optional("allowDiskUse", Kind::Flag),
        optional("hint", Kind::TextOrDocument),
        optional("collation", Kind::Document),
        optional("let", Kind::Document),
        optional("bypassDocumentValidation", Kind::Flag),
    ],
    access: Access::ByFields,
    reads_snapshots: true,
    // `$out` and `$merge` write.
    ..Command::writing("aggregate", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    Figures::add(&call.shared.figures.queries, 1);
    super::search_indexes::check_pipeline(call)?;
    let stages = call.body.elements("pipeline").unwrap_or_default();
    match stages.first().and_then(Value::as_map) {
        Some(first) if first.contains("$currentOp") => return super::current_op::pipeline(call),
        Some(first) if ["$listLocalSessions", "$listSessions"].iter().any(|stage| first.contains(stage)) => {
            return super::sessions::pipeline(call);
        }
        _ => {}
    }
    let writes =
        stages.last().and_then(Value::as_map).is_some_and(|last| last.contains("$out") || last.contains("$merge"));
    let level = call.body.document("readConcern").and_then(|concern| concern.text("level"));
    if writes && level == Some("linearizable") {
        let message = "$out and $merge cannot be used with a 'linearizable' read concern level";
        return Err(CommandError::invalid_options(message));
    }
    let collection = collection(call.argument())?.to_owned();
    let namespace = match call.argument() {
        Value::String(_) => format!("{}.{collection}", call.db),
        _ => format!("{}.$cmd.aggregate", call.db),
    };
    if call.body.flag("explain") {
        return super::explain::aggregate(call, &collection, &call.body);
    }
    let size = match call.body.document("cursor") {
        // A pipeline that writes runs at once, however many documents the client wants to read first.
        Some(_) if writes => FIRST_BATCH,
        Some(cursor) => cursor.count("batchSize")?.unwrap_or(FIRST_BATCH),
        None => {
            let message = "The 'cursor' option is required, except for aggregate with the explain argument";
            return Err(CommandError::failed_to_parse(message));
        }
    };
    if profile::is_read(&collection) {
        let cursor = profile::pipeline(call, stages.iter().cloned())?;
        return FirstBatch { size, ..FirstBatch::of(cursor, namespace) }.reply(call);
    }
    if read::is_of_server(&namespace) {
        return FirstBatch::of_list(Vec::new(), namespace).reply(call);
    }
    let cursor = pipeline(call, &collection, &call.body)?.run()?;
    FirstBatch { size, ..FirstBatch::of(cursor, namespace) }.reply(call)
}
