//! `dataSize`: the total bytes of the documents of a collection, or of a range of them.

use super::Command;
use super::find::bounds;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::needs;
use crate::server_stages::statistics;
use alluvium::{Collection, Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_document::compare::compare;
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    aliases: &["datasize"],
    fields: &[
        required("dataSize", Kind::Text),
        optional("keyPattern", Kind::Document),
        optional("min", Kind::Document),
        optional("max", Kind::Document),
        optional("estimate", Kind::Flag),
        optional("maxSize", Kind::Number),
        optional("maxObjects", Kind::Number),
    ],
    access: Access::ByFields(needs::data_size),
    ..Command::reading("dataSize", run).strict()
};

/// The counted documents and bytes.
#[derive(Default)]
struct Counted {
    bytes: u64,
    documents: u64,
    /// True if the count ended at one of the limits.
    is_cut: bool,
}

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let began = call.shared.env.clock.now();
    let full = call.body.text("dataSize").unwrap_or_default().to_owned();
    let Some((db, name)) = full.split_once('.') else {
        return Err(CommandError::invalid_namespace(format!("Invalid namespace specified '{full}'")));
    };
    if call.shared.db.views().iter().any(|(view, _)| *view == full) {
        return Err(CommandError::not_supported_on_view(format!("{full} is a view, which has no documents")));
    }
    let collection = call.shared.db.logical_database(db).collection(name);
    let estimate = call.body.flag("estimate");
    let range = range(&call.body)?;
    let counted = match (collection.identity()?, range) {
        (None, _) => Counted::default(),
        (Some(_), Some((min, max))) => in_range(call, &collection, &min, &max)?,
        (Some(_), None) if estimate => estimated(call, &collection)?,
        (Some(_), None) => counted(call, &collection, Map::new())?,
    };
    let time = call.shared.env.clock.now().saturating_sub(began);
    let mut reply = Map::from([
        ("size", Value::Int64(counted.bytes.cast_signed())),
        ("numObjects", Value::Int64(counted.documents.cast_signed())),
        ("millis", Value::Int32(i32::try_from(time.as_millis()).unwrap_or(i32::MAX))),
        ("estimate", Value::Bool(estimate)),
    ]);
    if counted.is_cut {
        reply.push("maxReached", true);
    }
    call.answer(&reply)
}

/// The bounds of the range, if the command has a range.
fn range(body: &Map) -> CommandResult<Option<(Map, Map)>> {
    match (body.document("min"), body.document("max")) {
        (None, None) => Ok(None),
        (Some(min), Some(max)) => Ok(Some((min.clone(), max.clone()))),
        _ => Err(CommandError::bad_value("only one of min or max specified")),
    }
}

/// Counts the documents at or after `min` and before `max`, in the order of an index that begins with these fields.
fn in_range(call: &Call<'_>, collection: &Collection, min: &Map, max: &Map) -> CommandResult<Counted> {
    let names = |map: &Map| map.iter().map(|(name, _)| name.clone()).collect::<Vec<Value>>();
    let given = call.body.document("keyPattern").filter(|keys| !keys.is_empty());
    let pattern = given
        .cloned()
        .unwrap_or_else(|| Map { entries: names(min).into_iter().map(|name| (name, Value::Int32(1))).collect() });
    let begins = |keys: &Map| {
        let pairs = keys.iter().zip(pattern.iter());
        keys.len() >= pattern.len()
            && pairs.into_iter().all(|((a, one), (b, other))| a == b && compare(one, other) == Ordering::Equal)
    };
    let indexes = collection.indexes()?;
    let found = indexes.iter().find(|index| index.definition.document("key").is_some_and(begins));
    if found.is_none() || names(min) != names(&pattern) || names(max) != names(&pattern) {
        let message = "couldn't find valid index containing key pattern";
        return Err(CommandError::new(96, "OperationFailed", message));
    }
    match bounds::order(&pattern, min, max).is_lt() {
        true => counted(call, collection, bounds::between(&pattern, Some(min), Some(max))),
        false => Ok(Counted::default()),
    }
}

/// Reads the documents that match a filter, up to the limits of the command.
fn counted(call: &Call<'_>, collection: &Collection, filter: Map) -> CommandResult<Counted> {
    let limit = |name: &str| call.body.count(name).map(|limit| limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX));
    let (most_bytes, most_documents) = (limit("maxSize")?, limit("maxObjects")?);
    let mut counted = Counted::default();
    let found = collection.find(filter).max_time(call.max_time()).stop_when(Arc::clone(&call.stop)).run()?;
    for document in found {
        counted.bytes += document?.bson_size().map_err(alluvium::Error::from)? as u64;
        counted.documents += 1;
        if counted.bytes > most_bytes || counted.documents > most_documents {
            counted.is_cut = true;
            break;
        }
    }
    Ok(counted)
}

fn estimated(call: &Call<'_>, collection: &Collection) -> CommandResult<Counted> {
    let (bytes, documents) = statistics::size(call, collection)?;
    Ok(Counted { bytes, documents, is_cut: false })
}
