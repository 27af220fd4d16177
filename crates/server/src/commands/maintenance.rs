//! `compact`, `autoCompact`, `fsync`, `fsyncUnlock`.

use super::{Command, Writes};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::read;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;
use std::time::Duration;

pub(super) const COMPACT: Command = Command {
    fields: &[
        required("compact", Kind::Collection),
        optional("force", Kind::Bool),
        optional("dryRun", Kind::Bool),
        optional("freeSpaceTargetMB", Kind::Number),
    ],
    access: Access::Collection(Action::Compact),
    writes: Writes::Files,
    ..Command::reading("compact", compact).audited().strict()
};

/// Compacts the whole database, because collections share files.
fn compact(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    check_free_space(&call.body)?;
    let (name, full) = (call.collection_name()?, call.namespace()?);
    if name.starts_with("system.") && read::is_of_server(&full) {
        return Err(CommandError::illegal_operation(format!("{full} is a collection of the server: it has no files")));
    }
    if call.shared.db.views().iter().any(|(view, _)| *view == full) {
        return Err(CommandError::not_supported_on_view(format!("{full} is a view: compact its collection")));
    }
    let exists = call.shared.db.collections().iter().any(|info| info.database == call.db && info.name == name);
    if !exists {
        return Err(CommandError::namespace_not_found("collection does not exist"));
    }
    if call.body.flag("dryRun") {
        return call.answer(&Map::from([("estimatedBytesFreed", int(0))]));
    }
    let before = call.shared.db.stats().disk_bytes;
    call.shared.db.compact().stop_when(Arc::clone(&call.stop)).run()?;
    call.answer(&Map::from([("bytesFreed", int(before.saturating_sub(call.shared.db.stats().disk_bytes)))]))
}

/// Checks `freeSpaceTargetMB`. The option has no effect: a compaction always frees all the space that it can.
fn check_free_space(body: &Map) -> CommandResult<()> {
    match body.truncated("freeSpaceTargetMB") {
        Some(megabytes) if megabytes < 1 => {
            let message = format!("BSON field 'freeSpaceTargetMB' value must be >= 1, actual value '{megabytes}'");
            Err(CommandError::bad_value(message))
        }
        _ => Ok(()),
    }
}

pub(super) const AUTO_COMPACT: Command = Command {
    fields: &[
        required("autoCompact", Kind::Bool),
        optional("freeSpaceTargetMB", Kind::Number),
        optional("runOnce", Kind::Bool),
    ],
    access: Access::Server(Action::Compact),
    admin_only: true,
    ..Command::reading("autoCompact", auto_compact).audited().strict()
};

/// Stores the settings, which have no other effect: the store always compacts in the background.
fn auto_compact(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    check_free_space(&call.body)?;
    let megabytes = call.body.truncated("freeSpaceTargetMB").unwrap_or(20);
    let enabled = call.body.flag("autoCompact");
    if enabled && megabytes.checked_mul(1 << 20).is_none() {
        return Err(CommandError::bad_value(format!("freeSpaceTargetMB: {megabytes} is more than 64 bits of bytes")));
    }
    let wanted = (megabytes, call.body.flag("runOnce"));
    let mut current = call.shared.auto_compact.lock();
    match *current {
        Some(running) if enabled && running != wanted => {
            let message = "autoCompact is already running with other options: disable it first";
            return Err(CommandError::new(23, "AlreadyInitialized", message));
        }
        _ => *current = Some(wanted).filter(|(_, once)| enabled && !once),
    }
    drop(current);
    Ok(call.reply())
}

pub(super) const FSYNC: Command = Command {
    fields: &[
        required("fsync", Kind::Any),
        optional("lock", Kind::Flag),
        optional("fsyncLockAcquisitionTimeoutMillis", Kind::Int32),
    ],
    access: Access::Server(Action::Fsync),
    admin_only: true,
    ..Command::reading("fsync", fsync).audited().strict()
};

/// The most time that `fsync` waits for running writes by default; MongoDB has the same value.
const LOCK_MILLIS: i64 = 90_000;

/// Syncs all writes to the disk. With `lock`, later writes wait until `fsyncUnlock`, so that the files can be copied.
fn fsync(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if !call.body.flag("lock") {
        call.shared.db.sync()?;
        return call.answer(&Map::from([("numFiles", Value::Int32(1))]));
    }
    let limit = call.body.integer("fsyncLockAcquisitionTimeoutMillis").unwrap_or(LOCK_MILLIS);
    let limit = Duration::from_millis(u64::try_from(limit).unwrap_or(0));
    let Some(locks) = call.shared.writes.lock(limit) else {
        let message = "Fsync lock timed out: writes that run have not ended in time";
        return Err(CommandError::new(24, "LockTimeout", message));
    };
    if let Err(error) = call.shared.db.sync() {
        call.shared.writes.unlock();
        return Err(error.into());
    }
    call.answer(&Map::from([
        ("info", Value::from("now locked against writes, use db.fsyncUnlock() to unlock")),
        ("lockCount", Value::Int64(locks.cast_signed())),
        ("seeAlso", Value::from("docs/SERVER.md: a checkpoint needs no lock")),
    ]))
}

pub(super) const FSYNC_UNLOCK: Command = Command {
    access: Access::Server(Action::Unlock),
    admin_only: true,
    ..Command::reading("fsyncUnlock", fsync_unlock).audited().control()
};

fn fsync_unlock(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let Some(locks) = call.shared.writes.unlock() else {
        return Err(CommandError::illegal_operation("fsyncUnlock called when not locked"));
    };
    call.answer(&Map::from([
        ("info", Value::from("fsyncUnlock completed")),
        ("lockCount", Value::Int64(locks.cast_signed())),
    ]))
}
