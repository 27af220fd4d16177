//! `setUserWriteBlockMode`: blocks the writes of users for a time.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[required("global", Kind::Bool), optional("reason", Kind::Text)],
    access: Access::Server(Action::SetUserWriteBlockMode),
    admin_only: true,
    ..Command::reading("setUserWriteBlockMode", run).audited().strict()
};

/// The reasons that a client may state.
const REASONS: [&str; 3] = ["Unspecified", "ClusterToClusterMigrationInProgress", "DiskUseThresholdExceeded"];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.shared.config.replica_set.is_none() {
        return Err(CommandError::illegal_operation("setUserWriteBlockMode cannot be run on standalones"));
    }
    let reason = call.body.text("reason").unwrap_or("Unspecified");
    if !REASONS.contains(&reason) {
        let message =
            format!("Enumeration value '{reason}' for field 'setUserWriteBlockMode.reason' is not a valid value.");
        return Err(CommandError::bad_value(message));
    }
    call.shared.write_block.set(call.body.flag("global"), reason)?;
    Ok(call.reply())
}
