//! `bulkWrite`: writes to several collections.

use super::{Command, delete, update};
use crate::batch::{FirstBatch, first_size};
use crate::call::Call;
use crate::collection_uuid;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::listing;
use crate::security::access::Access;
use crate::security::needs;
use crate::statements::Statements;
use crate::writes::{self, int};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("ops", Kind::Documents).apart(),
        required("nsInfo", Kind::Documents),
        optional("ordered", Kind::Bool),
        optional("stmtIds", Kind::Array),
        optional("errorsOnly", Kind::Bool),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("let", Kind::Document),
        optional("cursor", Kind::Document),
        optional("bypassEmptyTsReplacement", Kind::Flag),
    ],
    access: Access::ByFields(needs::writes::bulk_write),
    admin_only: true,
    retryable: true,
    ..Command::writing("bulkWrite", run).counted(Use::Insert, "command").stable().strict().in_transactions()
};

const NAMESPACE: &[Field] = &[required("ns", Kind::Text), optional("collectionUUID", Kind::Any)];
const INSERT: &[Field] = &[required("insert", Kind::Integer), required("document", Kind::Document)];
const UPDATE: &[Field] = &[
    required("update", Kind::Integer),
    required("filter", Kind::Document),
    required("updateMods", Kind::Change),
    optional("multi", Kind::Bool),
    optional("upsert", Kind::Bool),
    optional("arrayFilters", Kind::Documents),
    optional("hint", Kind::Hint),
    optional("collation", Kind::Document),
    optional("constants", Kind::Document),
    optional("sort", Kind::Document),
];
const DELETE: &[Field] = &[
    required("delete", Kind::Integer),
    required("filter", Kind::Document),
    optional("multi", Kind::Bool),
    optional("hint", Kind::Hint),
    optional("collation", Kind::Document),
];

/// The counts over all operations.
#[derive(Default)]
struct Totals {
    errors: u64,
    inserted: u64,
    matched: u64,
    modified: u64,
    upserted: u64,
    deleted: u64,
}

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let size = first_size("bulkWrite", &call.body)?;
    let mut operations = Statements::take(call, "ops")?;
    let namespaces = call.take_documents("nsInfo")?;
    writes::check_count(operations.len())?;
    let names = namespaces.iter().map(namespace).collect::<CommandResult<Vec<_>>>()?;
    for operation in operations.each(call) {
        check(&operation?.fields, names.len())?;
    }
    for Namespace { db, collection, .. } in &names {
        call.check_name(db, collection)?;
        call.shared.write_block.check(db)?;
    }
    call.number_statements(operations.len())?;
    let (ordered, errors_only) = (writes::is_ordered(&call.body), call.body.flag("errorsOnly"));
    let (mut totals, mut results) = (Totals::default(), Vec::new());
    let sent_to = call.db.clone();
    for (at, operation) in operations.drain(call).enumerate() {
        let earlier = call.earlier_result(at);
        let is_repeated = earlier.is_some();
        let outcome = earlier
            .transpose()
            .and_then(|earlier| write(call, at, operation?.fields.into_owned(), earlier, &names, &mut totals));
        if !is_repeated {
            let changed = outcome.as_ref().is_ok_and(|done| done.changed);
            let result = || outcome.as_ref().map(|done| done.fields.clone()).map_err(CommandError::clone);
            call.end_statement(at, changed, result)?;
        }
        let failed = outcome.is_err();
        let mut result = Map::from([("ok", Value::from(if failed { 0.0 } else { 1.0 })), ("idx", int(at as u64))]);
        match outcome {
            Ok(done) => result.entries.extend(done.fields.entries),
            Err(error) => {
                call.note_failed(&error)?;
                totals.errors += 1;
                result.push("n", 0);
                error.describe(&mut result);
            }
        }
        if failed || !errors_only {
            results.push(result);
        }
        if failed && (ordered || call.transaction.is_some()) {
            break;
        }
    }
    call.db = sent_to;
    let batch = FirstBatch::of_list(listing::documents(&results)?, "admin.$cmd.bulkWrite".to_owned());
    let mut builder = FirstBatch { size: size.unwrap_or(u64::MAX), is_own: true, ..batch }.reply(call)?;
    let Totals { errors, inserted, matched, modified, upserted, deleted } = totals;
    let counts = [
        ("nErrors", errors),
        ("nInserted", inserted),
        ("nMatched", matched),
        ("nModified", modified),
        ("nUpserted", upserted),
        ("nDeleted", deleted),
    ];
    for (name, count) in counts {
        builder.put(name, &int(count))?;
    }
    Ok(builder)
}

/// An entry of `nsInfo`.
struct Namespace {
    db: String,
    collection: String,
    uuid: Option<Value>,
}

fn namespace(info: &Map) -> CommandResult<Namespace> {
    fields::check("bulkWrite.nsInfo", NAMESPACE, info)?;
    let name = info.text("ns").unwrap_or_default();
    match name.split_once('.') {
        Some((db, collection)) if !db.is_empty() && !collection.is_empty() => {
            let uuid = info.get("collectionUUID").filter(|uuid| **uuid != Value::Null).cloned();
            Ok(Namespace { db: db.to_owned(), collection: collection.to_owned(), uuid })
        }
        _ => Err(CommandError::invalid_namespace(format!("Invalid namespace specified for bulkWrite: '{name}'"))),
    }
}

/// The fields that an operation may have. The first field determines the kind of operation.
fn fields_of(operation: &Map) -> CommandResult<(&'static str, &'static [Field])> {
    let first = operation.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
    match first {
        "insert" => Ok(("insert", INSERT)),
        "update" => Ok(("update", UPDATE)),
        "delete" => Ok(("delete", DELETE)),
        other => {
            let message = format!("BSON field 'bulkWrite.ops.{other}' is an unknown operation");
            Err(CommandError::unknown_field(message))
        }
    }
}

fn check(operation: &Map, namespaces: usize) -> CommandResult<()> {
    let (name, known) = fields_of(operation)?;
    fields::check("bulkWrite.ops", known, operation)?;
    let at = operation.integer(name).and_then(|at| usize::try_from(at).ok());
    match at.filter(|at| *at < namespaces) {
        Some(_) => Ok(()),
        None => Err(CommandError::bad_value("BulkWrite ops entry has an invalid nsInfo index.")),
    }
}

/// The result of an operation.
struct Done {
    /// The fields of its result.
    fields: Map,
    /// True if the last step of the operation was a write.
    changed: bool,
}

/// Carries out an operation, unless an earlier attempt has carried it out.
fn write(
    call: &mut Call<'_>,
    position: usize,
    mut operation: Map,
    earlier: Option<Map>,
    names: &[Namespace],
    totals: &mut Totals,
) -> CommandResult<Done> {
    let (name, _) = fields_of(&operation)?;
    if call.retry.is_some() && name != "insert" && operation.flag("multi") {
        return Err(CommandError::invalid_options("Cannot use retryable writes with multi=true"));
    }
    let at = operation.integer(name).and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
    let wrong = || CommandError::bad_value("an invalid nsInfo index");
    let Namespace { db, collection, uuid } = names.get(at).ok_or_else(wrong)?;
    if let Some(uuid) = uuid {
        collection_uuid::check(call.shared, db, collection, uuid)?;
    }
    call.db.clone_from(db);
    let counters = &call.shared.figures;
    let n = |count: u64| Map::from([("n", int(count))]);
    match name {
        "insert" => {
            Figures::add(&counters.inserts, 1);
            if let (Some(Value::Map(document)), None) = (operation.remove("document"), earlier) {
                let inserted = call.recording(collection, position, |_| Map::from([("n", Value::Int32(1))]))?;
                inserted.insert_one(document)?;
                call.note_statement("insert", collection, &inserted, &operation, None, &[("ninserted", 1)]);
            }
            totals.inserted += 1;
            Ok(Done { fields: n(1), changed: true })
        }
        "update" => {
            Figures::add(&counters.updates, 1);
            rename(&mut operation, &[("filter", "q"), ("updateMods", "u"), ("constants", "c")]);
            let done = match earlier {
                Some(result) => update::Done::of(&result),
                None => update::change(call, collection, position, &operation)?,
            };
            totals.modified += done.modified;
            let changed = done.changed;
            let mut result = n(done.matched + u64::from(done.upserted.is_some()));
            result.push("nModified", int(done.modified));
            match done.upserted {
                Some(id) => {
                    totals.upserted += 1;
                    result.push("upserted", Map::from([("_id", id)]));
                }
                None => totals.matched += done.matched,
            }
            Ok(Done { fields: result, changed })
        }
        _ => {
            Figures::add(&counters.deletes, 1);
            rename(&mut operation, &[("filter", "q")]);
            operation.push("limit", i32::from(!operation.flag("multi")));
            let deleted = match earlier {
                Some(result) => result.count("n")?.unwrap_or(0),
                None => delete::carry_out(call, collection, position, &operation)?,
            };
            totals.deleted += deleted;
            Ok(Done { fields: n(deleted), changed: deleted > 0 })
        }
    }
}

/// Renames the fields of an operation to the names that they have in the command for one collection.
fn rename(operation: &mut Map, names: &[(&str, &'static str)]) {
    for (name, _) in &mut operation.entries {
        if let Some((_, new)) = names.iter().find(|(old, _)| name.as_str() == Some(old)) {
            *name = Value::from(*new);
        }
    }
}
