//! `connPoolStats`: the connections of clients. The server has no connections to other servers.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::atomic::Ordering;

pub(super) const COMMAND: Command =
    Command { access: Access::Server(Action::ConnPoolStats), ..Command::reading("connPoolStats", run).control() };

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let clients = call.shared.figures.connections.load(Ordering::Relaxed) as u64;
    let mut fields = Map::from([("numClientConnections", int(clients)), ("numAScopedConnections", int(0))]);
    let totals = [
        "totalInUse",
        "totalAvailable",
        "totalLeased",
        "totalCreated",
        "totalRefreshing",
        "totalRefreshed",
        "totalWasNeverUsed",
    ];
    totals.iter().for_each(|name| fields.push(*name, int(0)));
    for name in ["pools", "hosts", "replicaSets"] {
        fields.push(name, Value::Map(Map::new()));
    }
    call.answer(&fields)
}
