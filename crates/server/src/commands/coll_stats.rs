//! `collStats`, `dataSize`: the sizes of a collection.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use alluvium::{Error, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["collstats"],
    fields: &[required("collStats", Kind::Text), optional("scale", Kind::Integer)],
    access: Access::Collection(Action::CollStats),
    ..Command::reading("collStats", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let scale = call.body.integer("scale").filter(|scale| *scale > 0).unwrap_or(1);
    let namespace = call.namespace()?;
    let collection = call.collection()?;
    let count = collection.count()?;
    let stats = match collection.stats() {
        Ok(stats) => stats,
        Err(Error::NoSuchCollection { .. }) => {
            let names = ["size", "count", "storageSize", "totalSize", "nindexes", "totalIndexSize"];
            let mut empty = Map::from([("ns", Value::from(namespace))]);
            names.iter().for_each(|name| empty.push(*name, 0));
            empty.push("scaleFactor", Value::Int64(scale));
            return call.answer(&empty);
        }
        Err(error) => return Err(error.into()),
    };
    let scaled = |bytes: u64| Value::Int64(bytes.cast_signed() / scale);
    let indexes = collection.index_stats()?;
    let (mut sizes, mut total) = (Map::from([("_id_", Value::Int64(0))]), 0);
    for index in &indexes {
        sizes.push(index.name.as_str(), scaled(index.bytes));
        total += index.bytes;
    }
    let mut fields = Map::from([
        ("ns", Value::from(namespace)),
        ("size", scaled(stats.raw_bytes)),
        ("count", Value::Int64(count.cast_signed())),
    ]);
    if let Some(average) = stats.raw_bytes.checked_div(count) {
        fields.push("avgObjSize", Value::Int64(average.cast_signed()));
    }
    fields.push("storageSize", scaled(stats.bytes));
    fields.push("nindexes", i32::try_from(indexes.len() + 1).unwrap_or(i32::MAX));
    fields.push("totalIndexSize", scaled(total));
    fields.push("totalSize", scaled(stats.bytes + total));
    fields.push("indexSizes", Value::Map(sizes));
    fields.push("scaleFactor", Value::Int64(scale));
    let capped = collection.capped()?;
    fields.push("capped", capped.is_some());
    if let Some(limits) = capped {
        fields.push("max", i32::try_from(limits.documents.unwrap_or(0)).unwrap_or(i32::MAX));
        fields.push("maxSize", scaled(limits.size_bytes));
    }
    call.answer(&fields)
}

pub(super) const DATA_SIZE: Command = Command {
    aliases: &["datasize"],
    fields: &[
        required("dataSize", Kind::Text),
        optional("keyPattern", Kind::Document),
        optional("min", Kind::Document),
        optional("max", Kind::Document),
        optional("estimate", Kind::Flag),
    ],
    access: Access::ByFields,
    ..Command::reading("dataSize", data_size)
};

fn data_size(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = call.body.text("dataSize").unwrap_or_default();
    let Some((db, name)) = name.split_once('.') else {
        return Err(CommandError::invalid_namespace(format!("Invalid namespace specified '{name}'")));
    };
    let collection = call.shared.db.logical_database(db).collection(name);
    let (bytes, documents) = match collection.stats() {
        Ok(stats) => (stats.raw_bytes, stats.keys),
        Err(Error::NoSuchCollection { .. }) => (0, 0),
        Err(error) => return Err(error.into()),
    };
    call.answer(&Map::from([
        ("size", Value::Int64(bytes.cast_signed())),
        ("numObjects", Value::Int64(documents.cast_signed())),
        ("millis", Value::Int32(0)),
        ("estimate", Value::Bool(true)),
    ]))
}
