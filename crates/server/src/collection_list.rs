//! The collections and views of a database, as `listCollections` shows them.

use crate::call::Call;
use crate::collection_uuid;
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::oplog;
use crate::oplog_view;
use crate::profile;
use alluvium::{CappedLimits, Map, Value};

/// The collection that contains the view definitions of a database.
pub(crate) const VIEWS: &str = "system.views";

/// Returns the collections and views of a database; if `names` are given, only entries with these names.
///
/// # Errors
/// Errors of reading the catalogue.
pub(crate) fn entries(call: &Call<'_>, db: &str, name_only: bool, names: Option<&[&str]>) -> CommandResult<Vec<Map>> {
    let mut list = Vec::new();
    let is_wanted = |name: &str| names.is_none_or(|names| names.contains(&name));
    let of_db = call.shared.db.collections().into_iter().filter(|info| info.database == db);
    for info in of_db.filter(|info| is_wanted(&info.name)) {
        list.push(of_collection(call, db, &info.name, name_only)?);
    }
    if is_wanted(VERSION)
        && profile::is_default_version(call, VERSION)?
        && list.iter().all(|entry| Fields::text(entry, "name") != Some(VERSION))
    {
        list.push(made(VERSION, name_only, db));
    }
    if oplog::is_shown(&call.shared.config, db, oplog::NAME) && is_wanted(oplog::NAME) {
        let info = Map::from([("readOnly", Value::from(false)), ("uuid", oplog_view::uuid())]);
        list.push(entry(oplog::NAME, "collection", name_only, oplog_view::options(call), info));
    }
    let mut has_views = false;
    for (name, view) in call.shared.db.views() {
        if let Some((database, name)) = name.split_once('.')
            && database == db
        {
            has_views = true;
            list.push(entry(name, "view", name_only, view.to_map(), Map::from([("readOnly", Value::from(true))])));
        }
    }
    if has_views && list.iter().all(|entry| Fields::text(entry, "name") != Some(VIEWS)) {
        list.push(made(VIEWS, name_only, db));
    }
    Ok(list)
}

/// The entry of a virtual collection, whose documents are generated.
fn made(name: &str, name_only: bool, db: &str) -> Map {
    let info = Map::from([("readOnly", Value::from(false)), ("uuid", collection_uuid::of_views(db))]);
    let mut entry = entry(name, "collection", name_only, Map::new(), info);
    if !name_only {
        entry.push("idIndex", Value::Map(id_index(None)));
    }
    entry
}

/// The collection in `admin` with the feature compatibility version.
const VERSION: &str = "system.version";

/// True if a database has a view.
pub(crate) fn has_views(call: &Call<'_>, db: &str) -> bool {
    call.shared.db.views().iter().any(|(name, _)| name.split_once('.').is_some_and(|(database, _)| database == db))
}

fn of_collection(call: &Call<'_>, db: &str, name: &str, name_only: bool) -> CommandResult<Map> {
    let collection = call.shared.db.logical_database(db).collection(name);
    let mut info = Map::from([("readOnly", Value::from(call.shared.db.is_read_only()))]);
    let mut options = Map::new();
    if !name_only {
        options = collection.capped()?.as_ref().map(capped_options).unwrap_or_default();
        let is_other = |(name, _): &(Value, Value)| !matches!(name.as_str(), Some("capped" | "size" | "max"));
        options.entries.extend(collection.options()?.entries.into_iter().filter(is_other));
        info.push("uuid", collection_uuid::of(&collection)?);
        // This option is not among `options`, because MongoDB's tools would refuse to restore the collection.
        if collection.natural_order()? {
            info.push("naturalOrder", true);
        }
    }
    let collation = options.get("collation").cloned();
    // As in MongoDB, the option `clusteredIndex` describes the index of `_id` then.
    let is_clustered = options.contains("clusteredIndex");
    let mut entry = entry(name, "collection", name_only, options, info);
    if !name_only && !is_clustered {
        entry.push("idIndex", Value::Map(id_index(collation)));
    }
    Ok(entry)
}

/// The index of `_id`.
pub(crate) fn id_index(collation: Option<Value>) -> Map {
    let key = Value::Map(Map::from([("_id", Value::Int32(1))]));
    let mut id = Map::from([("v", Value::Int32(2)), ("key", key), ("name", Value::from("_id_"))]);
    if let Some(collation) = collation {
        id.push("collation", collation);
    }
    id
}

fn entry(name: &str, kind: &str, name_only: bool, options: Map, info: Map) -> Map {
    let mut map = Map::from([("name", Value::from(name)), ("type", Value::from(kind))]);
    if !name_only {
        map.push("options", Value::Map(options));
        map.push("info", Value::Map(info));
    }
    map
}

/// The limits of a capped collection as options, with the types that MongoDB gives them.
fn capped_options(limits: &CappedLimits) -> Map {
    let mut options = limits.to_options();
    for (_, value) in &mut options.entries {
        if let Value::Int64(number) = value
            && let Ok(number) = i32::try_from(*number)
        {
            *value = Value::Int32(number);
        }
    }
    options
}
