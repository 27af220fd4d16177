//! Entries in the form of MongoDB.

use crate::history::{Change, Event};
use crate::ids::{ID, collection_uuid};
use crate::names::FullName;
use alluvium_document::{Map, Timestamp, Value};

/// The version of the form.
const VERSION: i32 = 2;
/// The term of the only primary.
pub(super) const TERM: i64 = 1;

/// The end of each entry: its time, the version of its form, and the time by the clock of the computer.
pub(super) fn end(entry: &mut Map, time: Timestamp, wall_ms: i64) {
    entry.push("ts", Value::Timestamp(time));
    entry.push("t", TERM);
    entry.push("v", VERSION);
    entry.push("wall", Value::DateTime(wall_ms));
}

/// The first entry, with which the log begins at a time.
pub(super) fn first(time: Timestamp) -> Map {
    let mut entry = Map::from([("op", Value::from("n")), ("ns", Value::from(""))]);
    entry.push("o", Map::from([("msg", "the recorded changes begin")]));
    end(&mut entry, time, i64::from(time.time) * 1000);
    entry
}

/// The operation of a change, which is an entry without its [`end`], or an element of `applyOps`.
pub(super) fn operation(change: Change) -> Map {
    let Change { collection, name, event, .. } = change;
    let id = event.id().cloned();
    let (op, object, is_keyed) = match event {
        Event::Insert { document } => ("i", document, true),
        Event::Update { difference, .. } => {
            let mut update = Map::from([("$v", VERSION)]);
            update.push("diff", difference.delta());
            ("u", update, true)
        }
        Event::Replace { document } => ("u", document, true),
        Event::Delete { .. } => ("d", key(id.clone()), false),
        event => ("c", command(&name, event), false),
    };
    let collection_name = if op == "c" { "$cmd" } else { name.collection.as_str() };
    let namespace = format!("{}.{collection_name}", name.logical);
    let mut entry = Map::from([("op", Value::from(op)), ("ns", Value::from(namespace))]);
    if collection != 0 {
        entry.push("ui", collection_uuid(collection));
    }
    entry.push("o", object);
    if is_keyed {
        entry.push("o2", key(id));
    }
    entry
}

/// The `_id` of a document as a document.
fn key(id: Option<Value>) -> Map {
    id.map_or_else(Map::new, |id| Map::from([(ID, id)]))
}

/// The command of a change that is not one of a document.
fn command(name: &FullName, event: Event) -> Map {
    let of_collection = |command: &'static str| Map::from([(command, Value::from(name.collection.as_str()))]);
    let with = |command: &'static str, description: Map| {
        let mut object = of_collection(command);
        object.entries.extend(description.entries);
        object
    };
    match event {
        Event::Create { description } => with("create", description),
        Event::Modify { description } => with("collMod", description),
        Event::CreateIndexes { description } => match only_index(&description) {
            Some(index) => with("createIndexes", index),
            None => with("commitIndexBuild", description),
        },
        Event::DropIndexes { description } => {
            let name = |index: &Value| index.as_map()?.get("name").cloned();
            let indexes = description.get("indexes").and_then(Value::as_array).into_iter().flatten();
            let mut names: Vec<Value> = indexes.filter_map(name).collect();
            let named = if names.len() == 1 { names.swap_remove(0) } else { Value::Array(names) };
            with("dropIndexes", Map::from([("index", named)]))
        }
        Event::Drop => of_collection("drop"),
        Event::DropDatabase => Map::from([("dropDatabase", Value::Int32(1))]),
        Event::Rename { to } => Map::from([
            ("renameCollection", Value::from(full(name))),
            ("to", Value::from(full(&to))),
            ("stayTemp", Value::from(false)),
            ("dropTarget", Value::from(true)),
        ]),
        // Changes of documents are no commands.
        Event::Insert { .. } | Event::Update { .. } | Event::Replace { .. } | Event::Delete { .. } => Map::new(),
    }
}

/// The definition of the index, if there is one.
fn only_index(description: &Map) -> Option<Map> {
    match description.get("indexes")?.as_array()? {
        [Value::Map(index)] => Some(index.clone()),
        _ => None,
    }
}

/// The name with its database, as clients have it.
fn full(name: &FullName) -> String {
    format!("{}.{}", name.logical, name.collection)
}
