//! `replSetStepDown`, `replSetFreeze`, `replSetMaintenance`, `replSetSyncFrom`, `replSetAbortPrimaryCatchUp`: the
//! replies of the only member of a replica set.

use super::Command;
use super::replication::set;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium_document::BsonBuilder;

/// A command that changes the state of a replica set member.
const fn command(name: &'static str, action: Action, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Command {
    Command { access: Access::Server(action), admin_only: true, ..Command::reading(name, run).audited() }
}

pub(super) const STEP_DOWN: Command = Command {
    fields: &[
        required("replSetStepDown", Kind::Any),
        optional("secondaryCatchUpPeriodSecs", Kind::Number),
        optional("force", Kind::Flag),
    ],
    ..command("replSetStepDown", Action::ReplSetStateChange, step_down)
};

/// Fails because no other member could be elected. With `force`, the command succeeds: this member would be elected
/// again at once.
fn step_down(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    set(call.shared)?;
    if call.argument().as_f64().is_some_and(|seconds| seconds < 0.0) {
        return Err(CommandError::bad_value("stepdown period must be a positive integer"));
    }
    match call.body.flag("force") {
        true => Ok(call.reply()),
        false => {
            let message = "No electable secondaries caught up: this server is the only member of its set";
            Err(CommandError::new(262, "ExceededTimeLimit", message))
        }
    }
}

pub(super) const FREEZE: Command = Command {
    fields: &[required("replSetFreeze", Kind::Number)],
    ..command("replSetFreeze", Action::ReplSetStateChange, |call| {
        primary(call, "cannot freeze node when primary or running for election. state: Primary")
    })
};

pub(super) const MAINTENANCE: Command = command("replSetMaintenance", Action::ReplSetStateChange, |call| {
    primary(call, "primaries can't modify maintenance mode")
});

pub(super) const SYNC_FROM: Command =
    command("replSetSyncFrom", Action::ReplSetStateChange, |call| primary(call, "primaries don't sync"));

/// Fails as a primary fails at a command for secondaries.
fn primary(call: &mut Call<'_>, message: &str) -> CommandResult<BsonBuilder> {
    set(call.shared)?;
    Err(CommandError::new(95, "NotSecondary", message))
}

pub(super) const ABORT_CATCH_UP: Command =
    command("replSetAbortPrimaryCatchUp", Action::ReplSetStateChange, abort_catch_up);

fn abort_catch_up(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    set(call.shared)?;
    Err(CommandError::illegal_operation("The node is not in catch-up mode: it is the only member of its set"))
}
