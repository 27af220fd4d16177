//! `listCollections`.

use super::Command;
use crate::batch::{FIRST_BATCH, FirstBatch, first_size};
use crate::call::Call;
use crate::collection_list::entries;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::security::needs;
use crate::security::privilege::Need;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        optional("filter", Kind::Document),
        optional("cursor", Kind::Document),
        optional("nameOnly", Kind::Bool),
        optional("authorizedCollections", Kind::Bool),
    ],
    access: Access::ByFields(needs::list_collections),
    ..Command::reading("listCollections", run).stable().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let size = first_size("listCollections", &call.body)?;
    let name_only = call.body.flag("nameOnly");
    let filter = call.body.document("filter");
    let names = filter.and_then(|filter| names_of(filter.get("name")?));
    let mut list = entries(call, &call.db, name_only, names.as_deref())?;
    if call.body.flag("authorizedCollections") {
        retain_readable(call, &mut list)?;
    }
    list.sort_by(|a, b| Fields::text(a, "name").cmp(&Fields::text(b, "name")));
    let list = listing::filtered(call, list, filter)?;
    let namespace = format!("{}.$cmd.listCollections", call.db);
    let size = size.unwrap_or(FIRST_BATCH);
    FirstBatch { size, ..FirstBatch::of_list(listing::documents(&list)?, namespace) }.reply(call)
}

/// The names that a condition on `name` allows, if the condition lists names. Drivers look up one collection this way.
fn names_of(condition: &Value) -> Option<Vec<&str>> {
    match condition {
        Value::String(name) => Some(vec![name]),
        Value::Map(operators) => match operators.entries.as_slice() {
            [(operator, Value::String(name))] if operator.as_str() == Some("$eq") => Some(vec![name]),
            [(operator, Value::Array(names))] if operator.as_str() == Some("$in") => {
                names.iter().map(Value::as_str).collect()
            }
            _ => None,
        },
        _ => None,
    }
}

/// Removes the collections that the user may not read.
fn retain_readable(call: &Call<'_>, list: &mut Vec<Map>) -> CommandResult<()> {
    let mut readable = Vec::new();
    for entry in list.drain(..) {
        let name = entry.text("name").unwrap_or_default();
        if call.shared.security.may(&call.client.peer, &Need::collection(call.db.as_str(), name, Action::Find))? {
            readable.push(entry);
        }
    }
    *list = readable;
    Ok(())
}
