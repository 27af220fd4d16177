//! `delete`: deletes documents that match filters.

use super::Command;
use super::explain::{only_statement, with_write};
use super::plan_cache::{Choice, choice};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::query_shape::QueryPlace;
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::statements::Statements;
use crate::writes::{self, Outcome};
use alluvium::{Collection, Delete, Map, Value, Written};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("delete", Kind::Collection),
        required("deletes", Kind::Documents).apart(),
        optional("ordered", Kind::Flag),
        optional("stmtIds", Kind::Array),
        optional("let", Kind::Document),
        // All commands that write have these fields; a delete has nothing to validate.
        optional("bypassDocumentValidation", Kind::Flag),
        optional("bypassEmptyTsReplacement", Kind::Flag),
        optional("collectionUUID", Kind::Any),
        optional("encryptionInformation", Kind::Document),
        optional("runtimeConstants", Kind::Document),
    ],
    access: Access::Collection(Action::Remove),
    retryable: true,
    query: QueryPlace::Statements("deletes"),
    explain: Some(explain),
    ..Command::writing("delete", run).counted(Use::Remove, "remove").stable().strict().in_transactions()
};

/// The fields of one statement.
const STATEMENT: &[Field] = &[
    required("q", Kind::Document),
    required("limit", Kind::Integer),
    optional("hint", Kind::Hint),
    optional("collation", Kind::Document),
    optional("sampleId", Kind::Any),
];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = call.written_name()?;
    let statements = Statements::take(call, "deletes")?;
    writes::check_count(statements.len())?;
    let mut deletes_all = false;
    for statement in statements.each(call) {
        let statement = &*statement?.fields;
        fields::check("delete.deletes", STATEMENT, statement)?;
        fields::refuse_unknown("delete.deletes", STATEMENT, statement.entries.iter().map(|(name, _)| name))?;
        deletes_all |= statement.integer("limit") == Some(0);
    }
    if call.retry.is_some() && deletes_all {
        return Err(CommandError::invalid_options("Cannot use retryable writes with limit=0"));
    }
    call.number_statements(statements.len())?;
    Figures::add(&call.shared.figures.deletes, statements.len() as u64);
    let mut outcome = Outcome::new(writes::is_ordered(&call.body));
    for (at, statement) in statements.each(call).enumerate() {
        let deleted = match call.earlier_result(at) {
            Some(earlier) => {
                outcome.retried(call, at);
                earlier.and_then(|result| Ok(result.count("n")?.unwrap_or(0)))
            }
            None => {
                let deleted = statement.and_then(|statement| carry_out(call, &name, at, &statement.fields));
                let changed = deleted.as_ref().is_ok_and(|deleted| *deleted > 0);
                call.end_statement(at, changed, || deleted.as_ref().map(|_| nothing()).map_err(CommandError::clone))?;
                deleted
            }
        };
        match deleted {
            Ok(deleted) => outcome.matched += deleted,
            Err(error) => outcome.fail(call, at, error),
        }
        if outcome.is_over() {
            break;
        }
    }
    outcome.reply(call, None)
}

/// Carries out the statement at a position. Returns the number of documents that it has deleted.
pub(super) fn carry_out(call: &Call<'_>, name: &str, at: usize, statement: &Map) -> CommandResult<u64> {
    let collection = call.recording(name, at, describe)?;
    let delete = || delete(call, name, &collection, statement, call.body.document("let"));
    let plan = if call.is_profiled() { delete()?.explain().ok().map(|plan| plan.to_map()) } else { None };
    let deleted = delete()?.run()?.deleted_count;
    call.note_statement("remove", name, &collection, statement, plan, &[("ndeleted", deleted)]);
    Ok(deleted)
}

/// The result of a statement that has deleted nothing.
fn nothing() -> Map {
    describe(&Written::default())
}

/// The result of a statement in its record.
fn describe(written: &Written) -> Map {
    Map::from([("n", Value::Int32(i32::from(written.matched)))])
}

/// The delete of one statement from the collection with this name.
fn delete(
    call: &Call<'_>,
    name: &str,
    collection: &Collection,
    statement: &Map,
    variables: Option<&Map>,
) -> CommandResult<Delete> {
    let filter = statement.document("q").cloned().unwrap_or_default();
    let mut delete = match statement.integer("limit") {
        Some(0) => collection.delete_many(filter),
        Some(1) => collection.delete_one(filter),
        other => {
            let message =
                format!("The limit field in delete objects must be 0 or 1. Got {}", other.unwrap_or_default());
            return Err(CommandError::failed_to_parse(message));
        }
    };
    if let Some(collation) = read::collation(statement) {
        delete = delete.collation(collation);
    }
    delete = match choice(call, name, statement, "q")? {
        Choice::Any => delete,
        Choice::Hint(hint) => delete.hint(hint),
        Choice::Only(names) => delete.only_indexes(names),
    };
    if let Some(variables) = variables {
        delete = delete.variables(variables);
    }
    Ok(delete.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}

fn explain(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Map> {
    let (statement, name) = (only_statement(body, "deletes")?, collection);
    let collection = call.collection_called(name);
    let plan = delete(call, name, &collection, statement, body.document("let"))?.explain()?;
    Ok(with_write(plan.to_map(), "DELETE", "nWouldDelete"))
}
