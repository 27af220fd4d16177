//! `shutdown`: ends the server.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Kind, optional};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[optional("force", Kind::Flag), optional("timeoutSecs", Kind::Number)],
    access: Access::Server(Action::Shutdown),
    admin_only: true,
    ..Command::reading("shutdown", run).audited().control().strict()
};

/// Ends the server as SIGTERM does. The running requests have ten seconds to end, and this request is answered. No
/// other member could be elected first, and therefore `force` has no effect.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let peer = &call.client.peer;
    if peer.login().is_none() && !peer.is_local {
        let message = "shutdown must run from localhost when running db without auth";
        return Err(CommandError::unauthorized(message));
    }
    log::warn!("the command shutdown of {} ends the server", call.client.address);
    call.shared.shutdown.notify_one();
    Ok(call.reply())
}
