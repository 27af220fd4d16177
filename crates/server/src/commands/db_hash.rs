//! `dbHash`: hashes of the contents of collections, with which servers can be compared.

use super::Command;
use crate::call::Call;
use crate::collection_uuid;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional};
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Collection, Map, Snapshot, Value};
use alluvium_document::BsonBuilder;
use alluvium_document::bson::encode_document;
use md5::{Digest, Md5};
use std::sync::Arc;

/// Collections that the server maintains, which differ between servers with the same contents.
const LEFT_OUT: [&str; 3] = ["system.profile", "system.sessions", "system.transactions"];

/// The collection in which MongoDB stores view definitions.
const VIEWS: &str = "system.views";

pub(super) const COMMAND: Command = Command {
    aliases: &["dbhash"],
    fields: &[optional("collections", Kind::Any)],
    access: Access::Database(Action::DbHash),
    ..Command::reading("dbHash", run)
};

/// Hashes the documents of each collection with MD5, in the order of `_id`; the documents of capped collections in the
/// order of insertion. Hashes these hashes, too, in the order of the collection names. All collections are read at one
/// snapshot.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let began = call.shared.env.clock.now();
    let wanted = wanted(&call.body)?;
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let db = &call.shared.db;
    let snapshot = db.snapshot();
    let mut hashes = Vec::new();
    let mut capped = Vec::new();
    for info in db.collections_at(&snapshot)?.into_iter().filter(|info| info.database == call.db) {
        if !is_wanted(&info.name) || LEFT_OUT.contains(&info.name.as_str()) {
            continue;
        }
        let collection = db.logical_database(&call.db).collection(&info.name);
        let is_capped = collection.capped()?.is_some();
        let hash = of_collection(call, &collection, &snapshot, is_capped)?;
        if is_capped {
            capped.push(Value::from(info.name.as_str()));
        }
        hashes.push((info.name, collection_uuid::of(&collection)?, hash));
    }
    if is_wanted(VIEWS)
        && let Some(hash) = of_views(call)?
    {
        hashes.push((VIEWS.to_owned(), collection_uuid::of_views(&call.db), hash));
    }
    hashes.sort_by(|a, b| a.0.cmp(&b.0));
    let all = hashes.iter().fold(Md5::new(), |all, (_, _, hash)| all.chain_update(hash));
    let time = call.shared.env.clock.now().saturating_sub(began);
    let (mut collections, mut uuids) = (Map::new(), Map::new());
    for (name, uuid, hash) in hashes {
        collections.push(name.as_str(), hash);
        uuids.push(name.as_str(), uuid);
    }
    call.answer(&Map::from([
        ("host", Value::from(call.host().as_str())),
        ("collections", Value::Map(collections)),
        ("capped", Value::Array(capped)),
        ("uuids", Value::Map(uuids)),
        ("md5", Value::from(hex(all))),
        ("timeMillis", int(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))),
    ]))
}

/// The collections that a client asks for; an empty list means all collections. A value that is not an array has no
/// effect.
fn wanted(body: &Map) -> CommandResult<Vec<String>> {
    let names = body.elements("collections").unwrap_or_default().iter();
    let name = |name: &Value| {
        let wrong = || CommandError::bad_value("the elements of 'collections' are names of collections");
        name.as_str().map(str::to_owned).ok_or_else(wrong)
    };
    names.map(name).collect()
}

fn of_collection(
    call: &Call<'_>,
    collection: &Collection,
    snapshot: &Snapshot,
    is_capped: bool,
) -> CommandResult<String> {
    let order = if is_capped { "$natural" } else { "_id" };
    let found = collection.find(Map::new()).sort(Map::from([(order, Value::Int32(1))])).at(snapshot);
    let mut hash = Md5::new();
    let mut bytes = Vec::new();
    for document in found.max_time(call.max_time()).stop_when(Arc::clone(&call.stop)).run()? {
        bytes.clear();
        document?.write_bson_exact(&mut bytes)?;
        hash.update(&bytes);
    }
    Ok(hex(hash))
}

/// The hash of the view definitions; `None` if there are no views.
fn of_views(call: &Call<'_>) -> CommandResult<Option<String>> {
    let mut views = call.shared.db.views();
    views.retain(|(name, _)| name.split_once('.').is_some_and(|(db, _)| db == call.db));
    if views.is_empty() {
        return Ok(None);
    }
    views.sort_by(|a, b| a.0.cmp(&b.0));
    let mut hash = Md5::new();
    for (name, view) in views {
        let mut definition = Map::from([("_id", Value::from(name))]);
        definition.entries.extend(view.to_map().entries);
        let mut bytes = Vec::new();
        encode_document(&definition, &mut bytes)?;
        hash.update(&bytes);
    }
    Ok(Some(hex(hash)))
}

fn hex(hash: Md5) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
