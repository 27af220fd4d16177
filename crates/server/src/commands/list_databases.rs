//! `listDatabases`.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::needs;
use crate::security::privilege::Need;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::collections::BTreeMap;

pub(super) const COMMAND: Command = Command {
    fields: &[
        optional("filter", Kind::Document),
        optional("nameOnly", Kind::Flag),
        optional("authorizedDatabases", Kind::Bool),
    ],
    access: Access::ByFields(needs::list_databases),
    admin_only: true,
    ..Command::reading("listDatabases", run).stable().strict()
};

/// The databases that every server lists, even if they have no collections.
const ALWAYS: [&str; 3] = ["admin", "config", "local"];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let db = &call.shared.db;
    // The bytes of each database, and whether the database is empty.
    let mut sizes: BTreeMap<String, (u64, bool)> = ALWAYS.map(|name| (name.to_owned(), (0, true))).into();
    for info in db.collections() {
        let bytes = match call.body.flag("nameOnly") {
            true => 0,
            false => db.collection(&info.full_name()).stats().map_or(0, |stats| stats.bytes),
        };
        let size = sizes.entry(info.database).or_default();
        *size = (size.0 + bytes, false);
    }
    for (name, _) in db.views() {
        let database = name.split_once('.').map_or(name.as_str(), |(database, _)| database);
        sizes.entry(database.to_owned()).or_default().1 = false;
    }
    let lists_all = Need::server(Action::ListDatabases);
    let all = !call.body.flag("authorizedDatabases") && call.shared.security.may(&call.client.peer, &lists_all)?;
    let (mut databases, mut total) = (Vec::new(), 0);
    for (name, (bytes, is_empty)) in sizes {
        // Users without the right to list all databases see only databases that they have privileges on.
        if !all && !call.shared.security.may_reach(&call.client.peer, &name)? {
            continue;
        }
        let mut map = Map::from([("name", Value::from(name))]);
        if !call.body.flag("nameOnly") {
            map.push("sizeOnDisk", Value::Int64(i64::try_from(bytes).unwrap_or(i64::MAX)));
            map.push("empty", is_empty);
        }
        databases.push(map);
        total += bytes;
    }
    let databases = listing::filtered(call, databases, call.body.document("filter"))?;
    let mut fields = Map::from([("databases", Value::Array(databases.into_iter().map(Value::Map).collect()))]);
    if !call.body.flag("nameOnly") {
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        fields.push("totalSize", Value::Int64(total));
        fields.push("totalSizeMb", Value::Int64(total >> 20));
    }
    call.answer(&fields)
}
