//! `createIndexes`.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::recent_log::Severity;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{IndexInfo, Map, Value, check_index};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("createIndexes", Kind::Collection),
        required("indexes", Kind::Documents),
        optional("commitQuorum", Kind::Any),
        optional("ignoreUnknownIndexOptions", Kind::Flag),
        optional("v", Kind::Number),
        optional("returnOnStart", Kind::Bool),
        optional("isTimeseriesNamespace", Kind::Bool),
        optional("collectionUUID", Kind::Any),
    ],
    access: Access::Collection(Action::CreateIndex),
    ..Command::writing("createIndexes", run).audited().stable().strict().in_transactions()
};

/// Options that old clients send and that have no effect.
const WITHOUT_EFFECT: [&str; 3] = ["ns", "v", "dropDups"];

/// The index options that the server supports.
const KNOWN: [&str; 8] =
    ["name", "unique", "sparse", "expireAfterSeconds", "partialFilterExpression", "collation", "background", "hidden"];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let full = call.namespace()?;
    if call.shared.db.views().iter().any(|(view, _)| *view == full) {
        return Err(CommandError::not_supported_on_view(format!("{full} is a view, which has no indexes")));
    }
    let collection = call.collection()?;
    let specifications = call.take_documents("indexes")?;
    if specifications.is_empty() {
        return Err(CommandError::bad_value("Must specify at least one index to create"));
    }
    let lenient = call.body.flag("ignoreUnknownIndexOptions");
    let mut wanted = Vec::new();
    for specification in specifications {
        wanted.push(checked(specification, lenient)?);
    }
    let created = collection.identity()?.is_none();
    let before = if created { 1 } else { collection.indexes()?.len() };
    let names: Vec<String> = wanted.iter().filter_map(|(_, options)| options.text("name").map(str::to_owned)).collect();
    for (keys, options) in wanted {
        let index = collection.create_index(keys).options(options);
        let limited = index.max_time(call.time_left()?).stop_when(Arc::clone(&call.stop));
        // As in MongoDB, an index whose build was interrupted is removed.
        limited.drop_when_stopped(true).run()?;
    }
    let existing = collection.indexes()?;
    let after = existing.len();
    let mut reply = Map::from([
        ("numIndexesBefore", int(before as u64)),
        ("numIndexesAfter", int(after as u64)),
        ("createdCollectionAutomatically", Value::Bool(created)),
    ]);
    if before == after {
        reply.push("note", "all indexes already exist");
    } else if let Some(note) = unbuilt_note(&existing, &names) {
        let message = format!("createIndexes of {full}: {note}");
        call.shared.log.note(&*call.shared.env.clock, Severity::Warning, "INDEX", &message);
        reply.push("note", note);
    }
    call.answer(&reply)
}

/// A note that lists the indexes among `names` that are not built yet; `None` if all are built.
fn unbuilt_note(existing: &[IndexInfo], names: &[String]) -> Option<String> {
    let unbuilt = existing.iter().filter(|index| !index.is_built && names.contains(&index.name));
    let unbuilt: Vec<&str> = unbuilt.map(|index| index.name.as_str()).collect();
    let are = match unbuilt.len() {
        0 => return None,
        1 => "is kept as a definition",
        _ => "are kept as definitions",
    };
    let unbuilt = unbuilt.join(", ");
    Some(format!("{unbuilt} {are}, and not built: text, geographic and wildcard indexes have no effect"))
}

/// The keys and options of an index specification. They are checked before any index is created.
fn checked(mut specification: Map, lenient: bool) -> CommandResult<(Map, Map)> {
    let keys = match specification.remove("key") {
        Some(Value::Map(keys)) => keys,
        _ => {
            return Err(CommandError::failed_to_parse(
                "The 'key' field is a required property of an index specification",
            ));
        }
    };
    if specification.text("name").is_none() {
        let message = "The 'name' field is a required property of an index specification";
        return Err(CommandError::failed_to_parse(message));
    }
    WITHOUT_EFFECT.iter().for_each(|option| drop(specification.remove(option)));
    if lenient {
        specification.entries.retain(|(name, _)| name.as_str().is_some_and(|name| KNOWN.contains(&name)));
    }
    check_index(&keys, &specification)?;
    Ok((keys, specification))
}
