//! `update`: changes documents by operators, pipelines or replacements.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::read;
use crate::shared::Counters;
use crate::writes::{self, Outcome};
use alluvium::{Map, Update, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("update", Kind::Text),
        required("updates", Kind::Documents),
        optional("ordered", Kind::Flag),
        optional("let", Kind::Document),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("bypassEmptyTsReplacement", Kind::Flag),
    ],
    access: Access::Collection(Action::Update),
    ..Command::writing("update", run)
};

/// The fields of one statement.
const STATEMENT: &[Field] = &[
    required("q", Kind::Document),
    required("u", Kind::DocumentOrArray),
    optional("c", Kind::Document),
    optional("multi", Kind::Flag),
    optional("upsert", Kind::Flag),
    optional("arrayFilters", Kind::Documents),
    optional("hint", Kind::TextOrDocument),
    optional("collation", Kind::Document),
    optional("sort", Kind::Document),
];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = call.collection_name()?.to_owned();
    let statements = call.take_documents("updates")?;
    writes::check_count(statements.len())?;
    for statement in &statements {
        fields::check("update.updates", STATEMENT, statement)?;
    }
    Counters::add(&call.shared.counters.updates, statements.len() as u64);
    let mut outcome = Outcome::new(writes::is_ordered(&call.body));
    for (at, statement) in statements.iter().enumerate() {
        match update(call, &name, statement, call.body.document("let")).and_then(|update| Ok(update.run()?)) {
            Ok(done) => {
                outcome.matched += done.matched_count;
                outcome.modified += done.modified_count;
                outcome.upserted.extend(done.upserted_id.map(|id| (at, id)));
            }
            Err(error) => outcome.fail(at, error),
        }
        if outcome.is_over() {
            break;
        }
    }
    let modified = outcome.modified;
    outcome.reply(call, Some(modified))
}

/// The update of one statement.
pub(super) fn update(
    call: &Call<'_>,
    collection: &str,
    statement: &Map,
    variables: Option<&Map>,
) -> CommandResult<Update> {
    let collection = call.collection_called(collection);
    let (filter, multi) = (statement.document("q").cloned().unwrap_or_default(), statement.flag("multi"));
    let mut update = match statement.get("u") {
        Some(Value::Map(change)) if is_replacement(change) => {
            if multi {
                let message = "multi update is not supported for replacement-style update";
                return Err(CommandError::failed_to_parse(message));
            }
            collection.replace_one(filter, change)
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
    if let Some(collation) = statement.document("collation") {
        update = update.collation(collation);
    }
    if let Some(hint) = read::hint(statement) {
        update = update.hint(hint);
    }
    if let Some(variables) = statement.document("c").or(variables) {
        update = update.variables(variables);
    }
    Ok(update.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)))
}

/// True for a document that takes the place of another; false for operators.
pub(super) fn is_replacement(change: &Map) -> bool {
    let first = change.entries.first().and_then(|(name, _)| name.as_str());
    !first.is_some_and(|name| name.starts_with('$'))
}
