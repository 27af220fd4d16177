//! `validate`, `compact`, `fsync`.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::writes::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const VALIDATE: Command = Command {
    fields: &[
        required("validate", Kind::Text),
        optional("full", Kind::Flag),
        optional("background", Kind::Flag),
        optional("repair", Kind::Flag),
        optional("metadata", Kind::Flag),
        optional("checkBSONConformance", Kind::Flag),
    ],
    access: Access::Collection(Action::Validate),
    ..Command::reading("validate", validate)
};

/// Checks the whole database: files are shared by collections.
fn validate(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let namespace = call.namespace()?;
    if call.body.flag("full") && call.body.flag("background") {
        let message =
            "Running the validate command with both { background: true } and { full: true } is not supported.";
        return Err(CommandError::invalid_options(message));
    }
    let collection = call.collection()?;
    if collection.identity()?.is_none() {
        return Err(CommandError::namespace_not_found(format!("Collection '{namespace}' does not exist to validate.")));
    }
    let report = call.shared.db.verify().stop_when(Arc::clone(&call.stop)).run()?;
    let errors: Vec<Value> = report.damage.iter().map(|error| Value::from(error.to_string())).collect();
    let indexes = collection.indexes()?;
    call.answer(&Map::from([
        ("ns", Value::from(namespace)),
        ("nrecords", int(collection.count()?)),
        ("nInvalidDocuments", Value::Int64(0)),
        ("nIndexes", int(indexes.len() as u64)),
        ("valid", Value::Bool(errors.is_empty())),
        ("repaired", Value::Bool(false)),
        ("warnings", Value::Array(Vec::new())),
        ("errors", Value::Array(errors)),
    ]))
}

pub(super) const COMPACT: Command = Command {
    fields: &[
        required("compact", Kind::Text),
        optional("force", Kind::Flag),
        optional("dryRun", Kind::Flag),
        optional("freeSpaceTargetMB", Kind::Integer),
    ],
    access: Access::Collection(Action::Compact),
    ..Command::writing("compact", compact)
};

fn compact(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.collection()?.identity()?.is_none() {
        return Err(CommandError::namespace_not_found("collection does not exist"));
    }
    let before = call.shared.db.stats().disk_bytes;
    if !call.body.flag("dryRun") {
        call.shared.db.compact().stop_when(Arc::clone(&call.stop)).run()?;
    }
    let freed = before.saturating_sub(call.shared.db.stats().disk_bytes);
    call.answer(&Map::from([("bytesFreed", Value::Int64(freed.cast_signed()))]))
}

pub(super) const FSYNC: Command = Command {
    fields: &[optional("lock", Kind::Flag), optional("fsyncLockAcquisitionTimeoutMillis", Kind::Integer)],
    access: Access::Server(Action::Fsync),
    admin_only: true,
    ..Command::reading("fsync", fsync)
};

fn fsync(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.body.flag("lock") {
        let message = "fsync with lock is not supported: make a checkpoint, which needs no lock";
        return Err(CommandError::not_supported(message));
    }
    call.shared.db.sync()?;
    call.answer(&Map::from([("numFiles", Value::Int32(1))]))
}
