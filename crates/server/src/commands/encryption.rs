//! `compactStructuredEncryptionData` and `cleanupStructuredEncryptionData`, which fail because no collection is
//! encrypted.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;

pub(super) const COMPACT: Command = Command {
    fields: &[
        required("compactStructuredEncryptionData", Kind::Collection),
        required("compactionTokens", Kind::Document),
        optional("encryptionInformation", Kind::Document),
        optional("anchorPaddingFactor", Kind::Number),
    ],
    access: Access::Collection(Action::CompactStructuredEncryptionData),
    ..Command::writing("compactStructuredEncryptionData", |call| {
        Err(refused(call, 6_346_807, "Location6346807", "compactStructuredEncryptionData"))
    })
    .audited()
    .strict()
};

pub(super) const CLEAN_UP: Command = Command {
    fields: &[required("cleanupStructuredEncryptionData", Kind::Collection), required("cleanupTokens", Kind::Document)],
    access: Access::Collection(Action::CleanupStructuredEncryptionData),
    ..Command::writing("cleanupStructuredEncryptionData", |call| {
        Err(refused(call, 7_618_803, "Location7618803", "cleanupStructuredEncryptionData"))
    })
    .audited()
    .strict()
};

/// The error that explains why a collection has no encrypted data.
fn refused(call: &Call<'_>, code: i32, name: &'static str, command: &str) -> CommandError {
    match check(call) {
        Ok(()) => CommandError::new(code, name, format!("{command}: the collection is not encrypted")),
        Err(error) => error,
    }
}

fn check(call: &Call<'_>) -> CommandResult<()> {
    let full = call.namespace()?;
    if call.shared.db.views().iter().any(|(view, _)| *view == full) {
        return Err(CommandError::not_supported_on_view(format!("{full} is a view, and no encrypted collection")));
    }
    let name = call.collection_name()?;
    match call.shared.db.collections().iter().any(|info| info.database == call.db && info.name == name) {
        true => Ok(()),
        false => Err(CommandError::namespace_not_found(format!("the collection {full} does not exist"))),
    }
}
