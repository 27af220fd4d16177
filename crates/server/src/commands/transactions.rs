//! `commitTransaction`, `abortTransaction`: transactions are not supported yet.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::security::access::Access;
use alluvium_document::BsonBuilder;

pub(super) const COMMIT: Command =
    Command { access: Access::Login, admin_only: true, ..Command::reading("commitTransaction", refuse).stable() };
pub(super) const ABORT: Command =
    Command { access: Access::Login, admin_only: true, ..Command::reading("abortTransaction", refuse).stable() };

fn refuse(_: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let message = "Transactions are not supported yet: write each document by itself, or several by bulkWrite";
    Err(CommandError::illegal_operation(message))
}
