//! `top`: the number and the duration of the operations on each collection.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command =
    Command { access: Access::Server(Action::Top), admin_only: true, ..Command::reading("top", run).control() };

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut totals = Map::from([("note", Value::from("all times in microseconds"))]);
    totals.entries.extend(call.shared.latencies.to_top().entries);
    call.answer(&Map::from([("totals", Value::Map(totals))]))
}
