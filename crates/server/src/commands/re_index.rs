//! `reIndex`, `setIndexCommitQuorum`: index builds.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, required};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Error, Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) const COMMAND: Command = Command {
    fields: &[required("reIndex", Kind::Collection)],
    access: Access::Collection(Action::ReIndex),
    ..Command::writing("reIndex", run).audited().strict()
};

/// Builds all indexes again, one after the other. As in MongoDB, a member of a replica set refuses the command.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.shared.config.replica_set.is_some() {
        let message = "reIndex is only allowed on a standalone mongod instance";
        return Err(CommandError::illegal_operation(message));
    }
    let full = call.namespace()?;
    if call.shared.db.views().iter().any(|(view, _)| *view == full) {
        return Err(CommandError::not_supported_on_view(format!("{full} is a view, which has no indexes")));
    }
    let collection = call.collection()?;
    if collection.identity()?.is_none() {
        return Err(CommandError::namespace_not_found(format!("the collection {full} does not exist")));
    }
    let indexes = collection.indexes()?;
    for index in indexes.iter().filter(|index| index.name != "_id_") {
        // Queries do not use an index while it is built. If the command ends early, the build continues in the
        // background.
        let (left, stop) = (call.time_left()?, Arc::clone(&call.stop));
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped.into());
        }
        collection.rebuild_index_within(index.name.as_str(), left, stop)?;
    }
    let after = collection.indexes()?;
    let counts = (indexes.len() as u64, after.len() as u64);
    let list = after.into_iter().map(|index| Value::Map(listing::definition(index.definition)));
    call.answer(&Map::from([
        ("nIndexesWas", int(counts.0)),
        ("nIndexes", int(counts.1)),
        ("indexes", Value::Array(list.collect())),
    ]))
}

pub(super) const COMMIT_QUORUM: Command = Command {
    fields: &[
        required("setIndexCommitQuorum", Kind::Collection),
        required("indexNames", Kind::Array),
        required("commitQuorum", Kind::Any),
    ],
    access: Access::Collection(Action::CreateIndex),
    ..Command::writing("setIndexCommitQuorum", commit_quorum).audited().strict()
};

/// Checks the quorum. This server alone commits an index build, so that the build has every possible quorum.
fn commit_quorum(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let full = call.namespace()?;
    let names = call.body.elements("indexNames").unwrap_or_default();
    if names.is_empty() || names.iter().any(|name| name.as_str().is_none()) {
        return Err(CommandError::type_mismatch("'indexNames' are names of indexes, and at least one"));
    }
    match call.body.get("commitQuorum") {
        Some(Value::String(_)) => {}
        Some(number) if number.is_number() => {
            if call.body.truncated("commitQuorum").is_none_or(|number| !(0..=50).contains(&number)) {
                return Err(CommandError::failed_to_parse("'commitQuorum' is a number from 0 to 50"));
            }
        }
        _ => return Err(CommandError::failed_to_parse("'commitQuorum' is a number or the name of a mode")),
    }
    let collection = call.collection()?;
    let building: Vec<_> = collection.index_stats()?.into_iter().filter(|index| !index.ready).collect();
    let is_built = |name: &Value| building.iter().any(|index| name.as_str() == Some(&index.name));
    if names.iter().all(is_built) {
        return Ok(call.reply());
    }
    let message = format!("Cannot find an index build on collection '{full}' with the provided index names");
    Err(CommandError::new(27, "IndexNotFound", message))
}
