//! Read and write concerns of commands.

use super::transactions;
use crate::body::Body;
use crate::call::ReadAt;
use crate::client::Client;
use crate::commands::{Command, InTransaction, Levels, Writes};
use crate::concern::{ReadConcern, ReadLevel, WriteConcern};
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::server_stages::{self, change_streams};
use crate::shared::Shared;

/// The write concern of a command, which is the parsed one or the default.
pub(super) fn write_concern(shared: &Shared, command: &Command, body: &Body, parsed: WriteConcern) -> WriteConcern {
    if transactions::is_within(body) && command.in_transaction != InTransaction::End {
        // The commit waits for the disk.
        return WriteConcern::default();
    }
    let is_default = command.may_write() && !body.contains("writeConcern");
    let synced = parsed.synced || is_default && shared.default_concerns.syncs_writes();
    WriteConcern { synced, ..parsed }
}

/// Waits until the read may run. Returns the snapshot to read, if the command asks for one.
pub(super) fn read_concern(
    shared: &Shared,
    client: &Client,
    command: &Command,
    body: &Body,
) -> CommandResult<Option<ReadAt>> {
    if command.levels == Levels::OfCursor {
        return Ok(None);
    }
    let mut concern = ReadConcern::parse(body)?;
    if concern.level == ReadLevel::Snapshot && transactions::is_within(body) {
        // A transaction has a snapshot of its own; what it sees is on the disk, as for any snapshot.
        concern.level = ReadLevel::Majority;
    }
    let refusal = refused_level(command, body, concern.level).filter(|_| !transactions::is_within(body));
    if let Some(refusal) = refusal {
        return Err(CommandError::invalid_options(refusal));
    }
    let in_set = shared.config.replica_set.is_some();
    if !in_set && matches!(concern.level, ReadLevel::Linearizable | ReadLevel::Snapshot) {
        let message = "node needs to be a replica set member to use read concern levels linearizable and snapshot";
        return Err(CommandError::new(123, "NotAReplicaSet", message));
    }
    if !in_set && concern.after.is_some() {
        let message = "Cannot specify afterClusterTime readConcern without a replica set";
        return Err(CommandError::illegal_operation(message));
    }
    if let Some(after) = concern.after
        && after > shared.time()
    {
        let message = "readConcern afterClusterTime value must not be greater than the current clusterTime";
        return Err(CommandError::invalid_options(message));
    }
    match concern.level {
        ReadLevel::Local if shared.default_concerns.syncs_reads() && is_without_level(command, body) => {
            shared.db.sync()?;
            Ok(None)
        }
        ReadLevel::Local | ReadLevel::Available => Ok(None),
        ReadLevel::Majority | ReadLevel::Linearizable => {
            // This server alone is the majority. After this sync, a power cut loses no earlier write.
            shared.db.sync()?;
            Ok(None)
        }
        ReadLevel::Snapshot if shared.config.replica_set.is_none() => {
            let message = "node needs to be a replica set member to use readConcern: snapshot";
            Err(CommandError::new(123, "NotAReplicaSet", message))
        }
        ReadLevel::Snapshot if command.levels == Levels::Snapshot => {
            let (snapshot, time) = shared.snapshots.get(
                &shared.db,
                &shared.cluster_time,
                &shared.writes,
                &client.peer.principal().0,
                concern.at,
            )?;
            shared.db.sync()?;
            Ok(Some(ReadAt { snapshot, time }))
        }
        ReadLevel::Snapshot => {
            let message = format!("the command {} does not support read concern snapshot", command.name);
            Err(CommandError::invalid_options(message))
        }
    }
}

/// True for a read without a level of its own.
fn is_without_level(command: &Command, body: &Body) -> bool {
    command.is_query() && !body.document("readConcern").is_some_and(|concern| concern.contains("level"))
}

/// The reason why a command cannot read at a level.
fn refused_level(command: &Command, body: &Body, level: ReadLevel) -> Option<String> {
    if command.writes == Writes::ByPipeline && change_streams::is_wanted(body) {
        let is_given = body.document("readConcern").is_some_and(|concern| concern.contains("level"));
        let message = "Aggregation stage $changeStream cannot run with a readConcern other than 'majority'";
        return (is_given && level != ReadLevel::Majority).then(|| message.to_owned());
    }
    if level == ReadLevel::Local {
        return None;
    }
    if command.levels == Levels::Local {
        return Some(format!("the command {} reads the latest state only: use the level local", command.name));
    }
    if level == ReadLevel::Linearizable && command.writes == Writes::ByPipeline && command.writes(body) {
        return Some("$out and $merge cannot be used with a 'linearizable' read concern level".to_owned());
    }
    if level == ReadLevel::Snapshot && command.levels == Levels::Majority {
        return Some(format!("the command {} does not support read concern snapshot", command.name));
    }
    let first = body.elements("pipeline").and_then(|stages| stages.first()?.as_map()?.entries.first());
    let stage = first.and_then(|(name, _)| name.as_str()).filter(|_| command.writes == Writes::ByPipeline)?;
    let is_local = server_stages::is_local(stage);
    is_local.then(|| format!("Aggregation stage {stage} cannot run with a readConcern other than 'local'"))
}
