//! `listCollections`.

use super::{Command, capped};
use crate::access::{Access, Action};
use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::collection_uuid;
use crate::error::CommandResult;
use crate::fields::{Fields, Kind, optional};
use crate::listing;
use crate::security::privilege::Need;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        optional("filter", Kind::Document),
        optional("cursor", Kind::Document),
        optional("nameOnly", Kind::Flag),
        optional("authorizedCollections", Kind::Flag),
    ],
    access: Access::ByFields,
    ..Command::reading("listCollections", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name_only = call.body.flag("nameOnly");
    let mut list = entries(call, &call.db, name_only)?;
    if call.body.flag("authorizedCollections") {
        retain_readable(call, &mut list)?;
    }
    list.sort_by(|a, b| Fields::text(a, "name").cmp(&Fields::text(b, "name")));
    let list = listing::filtered(call, list, call.body.document("filter"))?;
    let size = call.body.document("cursor").map_or(Ok(None), |cursor| cursor.count("batchSize"))?;
    let namespace = format!("{}.$cmd.listCollections", call.db);
    let size = size.unwrap_or(FIRST_BATCH);
    FirstBatch { size, ..FirstBatch::of_list(listing::documents(&list)?, namespace) }.reply(call)
}

/// The collections and views of a database.
pub(crate) fn entries(call: &Call<'_>, db: &str, name_only: bool) -> CommandResult<Vec<Map>> {
    let mut list = Vec::new();
    for info in call.shared.db.collections().into_iter().filter(|info| info.database == db) {
        list.push(of_collection(call, db, &info.name, name_only)?);
    }
    for (name, view) in call.shared.db.views() {
        if let Some((database, name)) = name.split_once('.')
            && database == db
        {
            list.push(entry(name, "view", name_only, view.to_map(), Map::from([("readOnly", Value::from(true))])));
        }
    }
    Ok(list)
}

/// Keeps the collections that the user may read.
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

fn of_collection(call: &Call<'_>, db: &str, name: &str, name_only: bool) -> CommandResult<Map> {
    let collection = call.shared.db.logical_database(db).collection(name);
    let mut info = Map::from([("readOnly", Value::from(call.shared.db.is_read_only()))]);
    let mut options = Map::new();
    if !name_only {
        options = collection.capped()?.as_ref().map(capped::options).unwrap_or_default();
        let is_other = |(name, _): &(Value, Value)| !matches!(name.as_str(), Some("capped" | "size" | "max"));
        options.entries.extend(collection.options()?.entries.into_iter().filter(is_other));
        info.push("uuid", collection_uuid::of(&collection)?);
    }
    let collation = options.get("collation").cloned();
    let mut entry = entry(name, "collection", name_only, options, info);
    if !name_only {
        let mut id = Map::from([
            ("v", Value::Int32(2)),
            ("key", Value::Map(Map::from([("_id", Value::Int32(1))]))),
            ("name", Value::from("_id_")),
        ]);
        if let Some(collation) = collation {
            id.push("collation", collation);
        }
        entry.push("idIndex", Value::Map(id));
    }
    Ok(entry)
}

fn entry(name: &str, kind: &str, name_only: bool, options: Map, info: Map) -> Map {
    let mut map = Map::from([("name", Value::from(name)), ("type", Value::from(kind))]);
    if !name_only {
        map.push("options", Value::Map(options));
        map.push("info", Value::Map(info));
    }
    map
}
