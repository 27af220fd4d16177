//! `configureFailPoint`, `testVersion2`: commands for tests.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("configureFailPoint", Kind::Text),
        required("mode", Kind::Hint),
        optional("data", Kind::Document),
    ],
    access: Access::Server(Action::SetParameter),
    admin_only: true,
    is_for_tests: true,
    ..Command::reading("configureFailPoint", run).audited()
};

/// A command that is not in version 1 of the stable API.
pub(super) const VERSION_2: Command =
    Command { is_for_tests: true, ..Command::reading("testVersion2", |call| Ok(call.reply())) };

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = call.argument().as_str().unwrap_or_default();
    let mode = call.body.get("mode").cloned().unwrap_or_default();
    let data = call.body.document("data").cloned().unwrap_or_default();
    let entered = call.shared.fail_points.configure(name, &mode, data)?;
    call.answer(&Map::from([("count", Value::Int64(entered))]))
}
