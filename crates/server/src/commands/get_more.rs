//! `getMore`: the next documents of a cursor.

use super::Command;
use crate::access::Access;
use crate::batch::fill;
use crate::call::Call;
use crate::cursors::Documents;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::figures::Figures;
use alluvium::Value;
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("getMore", Kind::Integer),
        required("collection", Kind::Text),
        optional("batchSize", Kind::Integer),
        optional("term", Kind::Integer),
        optional("lastKnownCommittedOpTime", Kind::Document),
    ],
    access: Access::Login,
    ..Command::reading("getMore", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    Figures::add(&call.shared.figures.get_mores, 1);
    let id = call.body.integer("getMore").unwrap_or(0);
    let namespace = format!("{}.{}", call.db, call.body.text("collection").unwrap_or_default());
    let size = match call.body.count("batchSize")? {
        Some(0) | None => u64::MAX,
        Some(size) => size,
    };
    if !call.max_time().is_zero() {
        let message = "cannot set maxTimeMS on getMore command for a non-awaitData cursor";
        return Err(CommandError::bad_value(message));
    }
    let cursors = &call.shared.cursors;
    let user = call.client.user();
    let mut cursor = cursors.take(id, &namespace, user.as_deref())?;
    call.client.running.begin_reading(Arc::clone(&cursor.stop));
    call.shared.operations.stop_by(call.operation, Arc::clone(&cursor.stop));
    let mut builder = call.reply();
    let filled = match call.shared.fail_points.on_get_more() {
        Some(error) => Err(error),
        None if cursor.is_limited && call.shared.fail_points.on_time_limit() => Err(CommandError::time_limit()),
        None => read(&mut builder, &mut cursor.documents, size),
    };
    if let Documents::Query(query, _) = &cursor.documents {
        call.note_plan(query);
    }
    let more = match filled {
        Ok(more) => more,
        Err(error) => {
            cursors.close(id);
            return Err(error);
        }
    };
    match more {
        true => {
            cursors.give_back(id, cursor);
            call.has_more.set(call.exhaust_allowed);
        }
        false => cursors.close(id),
    }
    builder.put("id", &Value::Int64(if more { id } else { 0 }))?;
    builder.put("ns", &Value::from(namespace))?;
    builder.close()?;
    Ok(builder)
}

fn read(builder: &mut BsonBuilder, documents: &mut Documents, size: u64) -> CommandResult<bool> {
    builder.open_document("cursor")?;
    builder.open_array("nextBatch")?;
    let more = fill(builder, documents, size)?;
    builder.close()?;
    Ok(more)
}
