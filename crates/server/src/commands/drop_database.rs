//! `dropDatabase`: removes the collections and views of a database.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command =
    Command { access: Access::Database(Action::DropDatabase), ..Command::writing("dropDatabase", run) };

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    if ["admin", "config", "local"].contains(&call.db.as_str()) {
        return Err(CommandError::illegal_operation(format!("Dropping the '{}' database is prohibited.", call.db)));
    }
    let db = &call.shared.db;
    let exists = db.logical_database_names().contains(&call.db);
    db.logical_database(&call.db).drop()?;
    match exists {
        true => call.answer(&Map::from([("dropped", Value::from(call.db.as_str()))])),
        false => Ok(call.reply()),
    }
}
