//! `dbStats`: the sizes of a database.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["dbstats"],
    fields: &[optional("scale", Kind::Integer), optional("freeStorage", Kind::Integer)],
    access: Access::Database(Action::DbStats),
    ..Command::reading("dbStats", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let db = &call.shared.db;
    let scale = call.body.integer("scale").filter(|scale| *scale > 0).unwrap_or(1) as f64;
    let (mut documents, mut bytes, mut plain) = (0_u64, 0_u64, 0_u64);
    let (mut indexes, mut index_bytes, mut collections) = (0_usize, 0_u64, 0);
    for info in db.collections().into_iter().filter(|info| info.database == call.db) {
        let collection = db.collection(&info.full_name());
        let Ok(stats) = collection.stats() else { continue };
        collections += 1;
        documents += stats.keys;
        bytes += stats.bytes;
        plain += stats.raw_bytes;
        indexes += collection.indexes().map_or(1, |indexes| indexes.len());
        index_bytes += collection.index_stats()?.iter().map(|index| index.bytes).sum::<u64>();
    }
    let views = db.views().iter().filter(|(name, _)| name.split_once('.').is_some_and(|(of, _)| of == call.db)).count();
    let space = db.stats();
    let average = if documents == 0 { 0.0 } else { plain as f64 / documents as f64 };
    let scaled = |bytes: u64| Value::from(bytes as f64 / scale);
    call.answer(&Map::from([
        ("db", Value::from(call.db.as_str())),
        ("collections", Value::Int64(collections)),
        ("views", Value::Int64(views as i64)),
        ("objects", Value::Int64(documents.cast_signed())),
        ("avgObjSize", Value::from(average)),
        ("dataSize", scaled(plain)),
        ("storageSize", scaled(bytes)),
        ("indexes", Value::Int64(indexes as i64)),
        ("indexSize", scaled(index_bytes)),
        ("totalSize", scaled(bytes + index_bytes)),
        ("scaleFactor", Value::from(scale)),
        ("fsUsedSize", scaled(space.disk_bytes)),
    ]))
}
