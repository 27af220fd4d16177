//! `dbStats`: the sizes of a database.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::server_stages::statistics;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["dbstats"],
    fields: &[optional("scale", Kind::Number), optional("freeStorage", Kind::Flag)],
    access: Access::Database(Action::DbStats),
    ..Command::reading("dbStats", run).strict()
};

/// The sizes of all collections of a database.
#[derive(Default)]
struct Sums {
    collections: i64,
    documents: u64,
    /// The total bytes of the documents as BSON.
    plain: u64,
    /// The total bytes of the files.
    stored: u64,
    indexes: u64,
    index_bytes: u64,
}

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let scale = call.body.truncated("scale").unwrap_or(1);
    if scale < 1 {
        return Err(CommandError::bad_value(format!("BSON field 'scale' value must be >= 1, actual value '{scale}'")));
    }
    let db = &call.shared.db;
    let mut sums = sums(call)?;
    let views = db.views().iter().filter(|(name, _)| name.split_once('.').is_some_and(|(of, _)| of == call.db)).count();
    // MongoDB stores the view definitions in a collection.
    sums.collections += i64::from(views > 0);
    let (used, total) = disk(call);
    let average = if sums.documents == 0 { 0.0 } else { sums.plain as f64 / sums.documents as f64 };
    let scaled = |bytes: u64| Value::from(bytes as f64 / scale as f64);
    let long = |n: u64| Value::Int64(n.cast_signed());
    let mut reply = Map::from([
        ("db", Value::from(call.db.as_str())),
        ("collections", Value::Int64(sums.collections)),
        ("views", long(views as u64)),
        ("objects", long(sums.documents)),
        ("avgObjSize", Value::from(average)),
        ("dataSize", scaled(sums.plain)),
        ("storageSize", scaled(sums.stored)),
    ]);
    let with_free = call.body.flag("freeStorage");
    // Files are written once and contain no free space. Therefore, the figure is 0.
    let add_free = |reply: &mut Map, name: &str| {
        if with_free {
            reply.push(name, Value::from(0.0));
        }
    };
    add_free(&mut reply, "freeStorageSize");
    reply.push("indexes", long(sums.indexes));
    reply.push("indexSize", scaled(sums.index_bytes));
    add_free(&mut reply, "indexFreeStorageSize");
    reply.push("totalSize", scaled(sums.stored + sums.index_bytes));
    add_free(&mut reply, "totalFreeStorageSize");
    reply.push("scaleFactor", Value::Int64(scale));
    reply.push("fsUsedSize", scaled(used));
    reply.push("fsTotalSize", scaled(total));
    call.answer(&reply)
}

fn sums(call: &Call<'_>) -> CommandResult<Sums> {
    let db = &call.shared.db;
    let mut sums = Sums::default();
    for info in db.collections().into_iter().filter(|info| info.database == call.db) {
        let collection = db.collection(&info.full_name());
        let Ok(stats) = collection.stats() else { continue };
        let (bytes, documents) = statistics::size(call, &collection)?;
        sums.collections += 1;
        sums.documents += documents;
        sums.plain += bytes;
        sums.stored += stats.bytes;
        sums.indexes += collection.indexes().map_or(1, |indexes| indexes.len()) as u64;
        sums.index_bytes += collection.index_stats()?.iter().map(|index| index.bytes).sum::<u64>();
    }
    Ok(sums)
}

/// The used bytes and the total bytes of the file system. For a file system in memory, both are the bytes of the
/// database.
fn disk(call: &Call<'_>) -> (u64, u64) {
    let (db, env) = (&call.shared.db, &call.shared.env);
    match rustix::fs::statvfs(db.path()) {
        Ok(found) => {
            let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
            (bytes(found.f_blocks.saturating_sub(found.f_bfree)), bytes(found.f_blocks))
        }
        Err(_) => {
            let used = db.stats().disk_bytes;
            (used, used.saturating_add(env.fs.available_bytes(db.path()).unwrap_or(0)))
        }
    }
}
