//! `update`: changes documents by operators, pipelines or replacements.

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
use crate::security::needs;
use crate::statements::Statements;
use crate::writes::{self, Outcome};
use alluvium::{Collection, Map, Update, Value, Written};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("update", Kind::Collection),
        required("updates", Kind::Documents).apart(),
        optional("ordered", Kind::Flag),
        optional("stmtIds", Kind::Array),
        optional("let", Kind::Document),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("bypassEmptyTsReplacement", Kind::Flag),
        optional("collectionUUID", Kind::Any),
        optional("encryptionInformation", Kind::Document),
        optional("runtimeConstants", Kind::Document),
    ],
    access: Access::ByFields(needs::writes::update),
    retryable: true,
    query: QueryPlace::Statements("updates"),
    explain: Some(explain),
    ..Command::writing("update", run).counted(Use::Update, "update").stable().strict().in_transactions()
};

/// The error code of a stage that no version of MongoDB has.
const UNKNOWN_STAGE: i32 = 40324;

/// The fields of one statement.
const STATEMENT: &[Field] = &[
    required("q", Kind::Document),
    required("u", Kind::Change),
    optional("c", Kind::Document),
    optional("multi", Kind::Flag),
    optional("upsert", Kind::Flag),
    optional("arrayFilters", Kind::Documents),
    optional("hint", Kind::Hint),
    optional("collation", Kind::Document),
    optional("sort", Kind::Document),
    optional("collectionUUID", Kind::Any),
    optional("sampleId", Kind::Any),
];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = call.written_name()?;
    let statements = Statements::take(call, "updates")?;
    writes::check_count(statements.len())?;
    let mut has_multi = false;
    for statement in statements.each(call) {
        let statement = &*statement?.fields;
        fields::check("update.updates", STATEMENT, statement)?;
        fields::refuse_unknown("update.updates", STATEMENT, statement.entries.iter().map(|(name, _)| name))?;
        has_multi |= statement.flag("multi");
    }
    if call.retry.is_some() && has_multi {
        return Err(CommandError::invalid_options("Cannot use retryable writes with multi=true"));
    }
    call.number_statements(statements.len())?;
    Figures::add(&call.shared.figures.updates, statements.len() as u64);
    let mut outcome = Outcome::new(writes::is_ordered(&call.body));
    for (at, statement) in statements.each(call).enumerate() {
        let done = match call.earlier_result(at) {
            Some(earlier) => {
                outcome.retried(call, at);
                earlier.map(|result| Done::of(&result))
            }
            None => {
                let done = statement.and_then(|statement| change(call, &name, at, &statement.fields));
                let changed = done.as_ref().is_ok_and(|done| done.changed);
                call.end_statement(at, changed, || done.as_ref().map(Done::to_map).map_err(CommandError::clone))?;
                done
            }
        };
        match done {
            Ok(done) => {
                outcome.matched += done.matched;
                outcome.modified += done.modified;
                outcome.upserted.extend(done.upserted.map(|id| (at, id)));
            }
            // As in MongoDB, which parses the stages before it runs any statement.
            Err(error) if error.code == UNKNOWN_STAGE => return Err(error),
            Err(error) => outcome.fail(call, at, error),
        }
        if outcome.is_over() {
            break;
        }
    }
    let modified = outcome.modified;
    outcome.reply(call, Some(modified))
}

/// The result of a statement.
pub(super) struct Done {
    pub matched: u64,
    pub modified: u64,
    pub upserted: Option<Value>,
    /// True if the last step was a write. False if the result comes from a record.
    pub changed: bool,
}

impl Done {
    /// Reads the result from a record.
    pub(super) fn of(result: &Map) -> Self {
        let count = |name: &str| result.count(name).ok().flatten().unwrap_or(0);
        let upserted = result.get("upserted").cloned();
        Self { matched: count("n"), modified: count("nModified"), upserted, changed: false }
    }

    /// The result as a record, for a statement that changed nothing.
    pub(super) fn to_map(&self) -> Map {
        Map::from([("n", writes::int(self.matched)), ("nModified", writes::int(self.modified))])
    }

    /// The result of a statement as its record.
    pub(super) fn describe(written: &Written) -> Map {
        let mut map = Map::from([("n", Value::Int32(i32::from(written.matched)))]);
        map.push("nModified", i32::from(written.matched && written.changed));
        if let Some(id) = &written.upserted_id {
            map.push("upserted", id.clone());
        }
        map
    }
}

/// Carries out the statement at a position.
pub(super) fn change(call: &Call<'_>, name: &str, at: usize, statement: &Map) -> CommandResult<Done> {
    let collection = call.recording(name, at, Done::describe)?;
    let update = || update(call, name, &collection, statement, call.body.document("let"));
    let plan = if call.is_profiled() { update()?.explain().ok().map(|plan| plan.to_map()) } else { None };
    let done = update()?.run()?;
    // As in MongoDB, a replacement counts as a change even if both documents are equal.
    let replaces = statement.document("u").is_some_and(is_replacement);
    let modified = if replaces { done.matched_count } else { done.modified_count };
    // If some of the documents did not change, the last of them may have been read after the last write.
    let all_changed = done.modified_count > 0 && done.modified_count == done.matched_count;
    let changed = all_changed || done.upserted_id.is_some();
    let upserted = u64::from(done.upserted_id.is_some());
    call.note_statement(
        "update",
        name,
        &collection,
        statement,
        plan,
        &[("nMatched", done.matched_count), ("nModified", modified), ("nUpserted", upserted)],
    );
    Ok(Done { matched: done.matched_count, modified, upserted: done.upserted_id, changed })
}

/// The update of one statement in the collection with this name.
fn update(
    call: &Call<'_>,
    name: &str,
    collection: &Collection,
    statement: &Map,
    variables: Option<&Map>,
) -> CommandResult<Update> {
    let (filter, multi) = (statement.document("q").cloned().unwrap_or_default(), statement.flag("multi"));
    let mut update = match statement.get("u") {
        Some(Value::Map(change)) if is_replacement(change) => {
            if multi {
                let message = "multi update is not supported for replacement-style update";
                return Err(CommandError::failed_to_parse(message));
            }
            collection.replace_one(filter, change)
        }
        Some(Value::Map(_)) if statement.contains("c") => {
            let message = "Constant values may only be specified for pipeline updates";
            return Err(CommandError::new(51198, "Location51198", message));
        }
        Some(change) if multi => collection.update_many(filter, change),
        change => collection.update_one(filter, change),
    };
    update = update.upsert(statement.flag("upsert"));
    if let Some(filters) = statement.elements("arrayFilters").filter(|filters| !filters.is_empty()) {
        update = update.array_filters(filters.iter());
    }
    if let Some(sort) = statement.document("sort").filter(|sort| !sort.is_empty()) {
        update = update.sort(sort);
    }
    if let Some(collation) = read::collation(statement) {
        update = update.collation(collation);
    }
    update = match choice(call, name, statement, "q")? {
        Choice::Any => update,
        Choice::Hint(hint) => update.hint(hint),
        Choice::Only(names) => update.only_indexes(names),
    };
    if let Some(variables) = statement.document("c").or(variables) {
        update = update.variables(variables);
    }
    Ok(update.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}

/// True if the change is a replacement document; false if it has update operators.
pub(super) fn is_replacement(change: &Map) -> bool {
    let first = change.entries.first().and_then(|(name, _)| name.as_str());
    !first.is_some_and(|name| name.starts_with('$'))
}

fn explain(call: &Call<'_>, collection: &str, body: &Map) -> CommandResult<Map> {
    let (statement, name) = (only_statement(body, "updates")?, collection);
    let collection = call.collection_called(name);
    let plan = update(call, name, &collection, statement, body.document("let"))?.explain()?;
    Ok(with_write(plan.to_map(), "UPDATE", "nWouldModify"))
}
