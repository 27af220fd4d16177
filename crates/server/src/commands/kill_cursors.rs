//! `killCursors`: closes cursors early.

use super::{Command, InTransaction};
use crate::call::Call;
use crate::cursors::Killed;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, required};
use crate::security::access::Access;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[required("killCursors", Kind::Collection), required("cursors", Kind::Array)],
    access: Access::Login,
    in_transaction: InTransaction::Later,
    ..Command::reading("killCursors", run).stable().strict().control()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    call.collection_name()?;
    let ids = call.body.elements("cursors").unwrap_or_default();
    let is_wrong = |(_, id): &(usize, &Value)| !matches!(id, Value::Int64(_) | Value::Null | Value::Undefined);
    if let Some((at, id)) = ids.iter().enumerate().find(is_wrong) {
        let found = id.type_name();
        let message =
            format!("BSON field 'killCursors.cursors.{at}' is the wrong type '{found}', expected type 'long'");
        return Err(CommandError::type_mismatch(message));
    }
    let user = call.client.user();
    let (mut killed, mut missing) = (Vec::new(), Vec::new());
    // As in MongoDB, the collection name has no effect, and nulls are skipped.
    for id in ids.iter().filter_map(Value::as_i64) {
        match call.shared.cursors.kill(id, user.as_deref()) {
            Killed::Killed => killed.push(Value::Int64(id)),
            Killed::NotFound => missing.push(Value::Int64(id)),
        }
    }
    call.answer(&Map::from([
        ("cursorsKilled", Value::Array(killed)),
        ("cursorsNotFound", Value::Array(missing)),
        ("cursorsAlive", Value::Array(Vec::new())),
        ("cursorsUnknown", Value::Array(Vec::new())),
    ]))
}
