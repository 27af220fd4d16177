//! `dropDatabase`: removes the collections and views of a database.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[required("dropDatabase", Kind::Number)],
    access: Access::Database(Action::DropDatabase),
    ..Command::writing("dropDatabase", run).audited().stable().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if call.body.truncated("dropDatabase") != Some(1) {
        let message = "the value of 'dropDatabase' is 1";
        return Err(CommandError::new(5_255_100, "Location5255100", message));
    }
    if ["admin", "config", "local"].contains(&call.db.as_str()) {
        return Err(CommandError::illegal_operation(format!("Dropping the '{}' database is prohibited.", call.db)));
    }
    call.shared.db.logical_database(&call.db).drop()?;
    Ok(call.reply())
}
