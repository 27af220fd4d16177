//! `filemd5`: the MD5 of a GridFS file.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::needs;
use crate::security::needs::chunks;
use crate::writes::int;
use alluvium::{Document, Map, Value};
use alluvium_document::BsonBuilder;
use md5::{Digest, Md5};
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[required("filemd5", Kind::Any), optional("root", Kind::Text)],
    access: Access::ByFields(needs::file_md5),
    ..Command::reading("filemd5", run)
};

/// Reads the chunks in the order of their numbers, which must have no gaps.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let filter = Map::from([("files_id", Value::Map(Map::from([("$eq", call.argument().clone())])))]);
    let sort = Map::from([("files_id", Value::Int32(1)), ("n", Value::Int32(1))]);
    let found = call.collection_called(&chunks(&call.body)).find(filter).sort(sort);
    let mut hash = Md5::new();
    let mut number = 0_i64;
    for chunk in found.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)).run()? {
        let chunk: Document = chunk?;
        let chunk = chunk.to_map().map_err(alluvium::Error::from)?;
        if chunk.integer("n") != Some(number) {
            let message = format!("the chunk {number} of the file {} is missing", call.argument());
            return Err(CommandError::new(10_040, "Location10040", message));
        }
        let Some(Value::Binary(data)) = chunk.get("data") else {
            let message = format!("the chunk {number} of the file {} has no bytes in 'data'", call.argument());
            return Err(CommandError::new(50_847, "Location50847", message));
        };
        hash.update(&data.bytes);
        number += 1;
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    call.answer(&Map::from([("numChunks", int(number.unsigned_abs())), ("md5", Value::from(hex))]))
}
