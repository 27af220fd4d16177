//! `local.oplog.rs` has an entry for each change, at the time of its write, and is followed as Meteor and older programs do.

use super::streams::{is_woken, nested};
use super::{Connection, SECOND, World, batch, cursor_of, insert, lsid, with};
use crate::config::Config;
use crate::fields::Fields;
use alluvium::{ChangeScope, Map, Timestamp, Value, doc};
use std::sync::Arc;

fn config() -> Config {
    Config { oplog: true, ..Config::default() }
}

/// A server that shows the log, which begins now.
fn world() -> World {
    recording(World::with(config()))
}

fn recording(world: World) -> World {
    world.shared.db.record_changes(ChangeScope::Everything).expect("a recording");
    world
}

/// A query of the log, with its other fields.
fn log(filter: Map, fields: Map) -> Map {
    let begin = doc! {"find": "oplog.rs", "filter": (Value::Map(filter))};
    Map { entries: begin.entries.into_iter().chain(fields.entries).collect() }
}

fn backward() -> Map {
    doc! {"sort": {"$natural": (-1)}, "limit": 1}
}

fn tail() -> Map {
    doc! {"tailable": true, "awaitData": true, "oplogReplay": true, "noCursorTimeout": true}
}

/// The next batch of a cursor over the log.
fn more(id: i64) -> Map {
    doc! {"getMore": (Value::Int64(id)), "collection": "oplog.rs"}
}

fn time(map: &Map, field: &str) -> Timestamp {
    match map.get(field) {
        Some(Value::Timestamp(time)) => *time,
        other => panic!("{field} is {other:?}"),
    }
}

fn after(time: Timestamp) -> Map {
    Map::from([("ts", Value::Map(Map::from([("$gt", Value::Timestamp(time))])))])
}

fn last_time(connection: &Connection<'_>) -> Timestamp {
    time(&batch(&connection.ok("local", log(doc! {}, backward())))[0], "ts")
}

/// The operations of entries, with the `_id`s of their documents.
fn shown(entries: &[Map]) -> Vec<(String, i64)> {
    let id = |entry: &Map| entry.document("o2").or(entry.document("o")).and_then(|key| key.integer("_id")).unwrap_or(0);
    entries.iter().map(|entry| (entry.text("op").unwrap_or_default().to_owned(), id(entry))).collect()
}

fn operations(list: &[(&str, i64)]) -> Vec<(String, i64)> {
    list.iter().map(|(op, id)| ((*op).to_owned(), *id)).collect()
}

#[test]
fn the_log_has_each_change_at_the_time_of_its_write() {
    let world = world();
    let connection = world.connect();
    let first = batch(&connection.ok("local", log(doc! {}, backward()))).remove(0);
    assert_eq!((first.text("op"), first.text("ns")), (Some("n"), Some("")), "never empty");
    let from = time(&first, "ts");
    let inserted = connection.ok("zoo", insert(1));
    let changed =
        connection.ok("zoo", doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}]});
    let many = connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 2}, {"_id": 3}]});
    let deleted = connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {"_id": 1}, "limit": 1}]});
    let entries = batch(&connection.ok("local", log(after(from), doc! {})));
    assert_eq!(shown(&entries), operations(&[("c", 0), ("i", 1), ("u", 1), ("i", 2), ("i", 3), ("d", 1)]));
    let times: Vec<Timestamp> = entries.iter().map(|entry| time(entry, "ts")).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    let of_replies = [&inserted, &changed, &many, &deleted].map(|reply| time(reply, "operationTime"));
    assert_eq!([times[1], times[2], times[4], times[5]], of_replies);
    let created = connection.ok("zoo", doc! {"listCollections": 1});
    let uuid = batch(&created)[0].document("info").and_then(|info| info.get("uuid").cloned());
    assert!(entries.iter().all(|entry| entry.get("ui") == uuid.as_ref()));
    assert_eq!(last_time(&connection), of_replies[3]);
}

#[test]
fn a_transaction_is_one_entry_of_the_log() {
    let world = world();
    let connection = world.connect();
    connection.ok("zoo", doc! {"create": "pets"});
    let from = last_time(&connection);
    let within =
        |body: Map| with(body, [("lsid", lsid(1)), ("txnNumber", Value::Int64(1)), ("autocommit", Value::Bool(false))]);
    connection.ok("zoo", with(within(insert(1)), [("startTransaction", Value::Bool(true))]));
    connection.ok("zoo", within(insert(2)));
    let done = connection.ok("admin", within(doc! {"commitTransaction": 1}));
    let entries = batch(&connection.ok("local", log(after(from), doc! {})));
    assert_eq!((entries.len(), entries[0].text("ns")), (1, Some("admin.$cmd")));
    assert_eq!(time(&entries[0], "ts"), time(&done, "operationTime"));
    let operations = entries[0].document("o").and_then(|object| object.elements("applyOps")).expect("operations");
    let of = |field: &str| operations.iter().filter_map(|it| it.as_map()?.text(field)).collect::<Vec<_>>();
    assert_eq!((of("op"), of("ns")), (vec!["i", "i"], vec!["zoo.pets", "zoo.pets"]));
    assert_eq!(entries[0].integer("txnNumber"), Some(1));
    let id = |map: &Map| map.document("lsid").and_then(|lsid| lsid.get("id").cloned());
    assert_eq!(id(&entries[0]), lsid(1).as_map().and_then(|lsid| lsid.get("id").cloned()));
    // The entry can be applied again.
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {}, "limit": 0}]});
    connection.ok("admin", doc! {"applyOps": [(Value::Map(entries[0].clone()))]});
    assert_eq!(world.count("zoo.pets"), 2);
}

#[test]
fn the_log_is_followed_without_a_thread() {
    let world = world();
    let (connection, other) = (world.connect(), world.connect());
    let from = last_time(&connection);
    // As Meteor does.
    let filter = alluvium_document::json::parse(
        br#"{"ns": {"$regex": "^(?:zoo\\.|admin\\.\\$cmd)"}, "$or": [{"op": {"$in": ["i", "u", "d"]}},
            {"op": "c", "o.drop": {"$exists": true}}, {"op": "c", "o.dropDatabase": 1},
            {"op": "c", "o.applyOps": {"$exists": true}}]}"#,
    );
    let mut filter = filter.expect("a filter").as_map().expect("a map").clone();
    filter.entries.extend(after(from).entries);
    let opened = connection.ok("local", log(filter, tail()));
    let id = cursor_of(&opened);
    assert!(id != 0 && batch(&opened).is_empty(), "a cursor that finds nothing stays open");
    connection.run("local", more(id));
    assert!(!is_woken(&connection));
    connection.run("local", more(id));
    other.ok("zoo", insert(1));
    assert!(is_woken(&connection));
    assert_eq!(shown(&batch(&connection.ok("local", more(id)))), operations(&[("i", 1)]));
    other.ok("zoo", doc! {"createIndexes": "pets", "indexes": [{"key": {"n": 1}, "name": "n_1"}]});
    other.ok("shop", insert(7));
    other.ok("zoo", doc! {"drop": "pets"});
    let dropped = batch(&connection.ok("local", more(id)));
    assert_eq!(dropped[0].document("o"), Some(&doc! {"drop": "pets"}));
    // A cursor that does not await data has its reply at once.
    let opened = connection.ok("local", log(doc! {"op": "d"}, doc! {"tailable": true}));
    let reply = connection.ok("local", more(cursor_of(&opened)));
    assert_eq!((batch(&reply), cursor_of(&reply)), (Vec::new(), cursor_of(&opened)));
    connection.run("local", more(id));
    other.ok("local", doc! {"killCursors": "oplog.rs", "cursors": [(Value::Int64(id))]});
    assert!(is_woken(&connection));
    connection.fails(237, "local", more(id));
}

#[test]
fn views_and_the_deepest_documents_have_entries() {
    let world = world();
    let connection = world.connect();
    let from = last_time(&connection);
    connection.ok("zoo", doc! {"create": "young", "viewOn": "pets", "pipeline": []});
    connection.ok("zoo", doc! {"drop": "young"});
    let deep = nested(1, alluvium::MAX_DEPTH);
    let insert = doc! {"insert": "pets", "documents": [(Value::Map(deep.clone()))]};
    let within = [("lsid", lsid(1)), ("txnNumber", Value::Int64(1)), ("autocommit", Value::Bool(false))];
    connection.ok("zoo", doc! {"create": "pets"});
    connection.ok("zoo", with(with(insert, within.clone()), [("startTransaction", Value::Bool(true))]));
    connection.ok("admin", with(doc! {"commitTransaction": 1}, within));
    let entries = batch(&connection.ok("local", log(after(from), doc! {})));
    let objects: Vec<&Map> = entries.iter().filter_map(|entry| entry.document("o")).collect();
    assert_eq!(*objects[0], doc! {"create": "young", "viewOn": "pets", "pipeline": []});
    assert_eq!((objects[1], entries[1].get("ui")), (&doc! {"drop": "young"}, None));
    let operations = objects[3].elements("applyOps").expect("operations");
    assert_eq!(operations[0].as_map().and_then(|operation| operation.document("o")), Some(&deep));
}

#[test]
fn the_log_is_the_same_after_a_restart() {
    let world = world();
    let connection = world.connect();
    for n in 1..5 {
        world.clock.advance(SECOND * 40);
        connection.ok("zoo", with(insert(n), [("writeConcern", Value::Map(doc! {"w": "majority"}))]));
    }
    let all = batch(&connection.ok("local", log(doc! {}, doc! {})));
    // This write is lost by a power cut.
    connection.ok("zoo", insert(5));
    let killed = Arc::new(world.disk.kill_clone());
    for (disk, last) in [(killed, vec![5, 6]), (world.cut(), vec![6])] {
        let next = World::on(disk, config());
        let connection = next.connect();
        connection.ok("zoo", insert(6));
        let now = batch(&connection.ok("local", log(doc! {}, doc! {})));
        assert_eq!(now[..all.len()], all[..]);
        let ids: Vec<i64> = shown(&now[all.len()..]).into_iter().map(|(_, id)| id).collect();
        assert_eq!(ids, last);
        for (at, entry) in all.iter().enumerate() {
            let found = batch(&connection.ok("local", log(after(time(entry, "ts")), doc! {"limit": 1})));
            assert_eq!(found[0], now[at + 1]);
        }
    }
}

#[test]
fn the_log_is_read_and_counted_and_described() {
    let world = world();
    let connection = world.connect();
    (1..4).for_each(|n| drop(connection.ok("zoo", insert(n))));
    let count =
        |query: Map| connection.ok("local", doc! {"count": "oplog.rs", "query": (Value::Map(query))}).integer("n");
    assert_eq!(count(doc! {"op": "i"}), Some(3));
    assert!(count(doc! {}) >= Some(4), "an estimate");
    let group = doc! {"$group": {"_id": "$op", "n": {"$sum": 1}}};
    let pipeline = vec![Value::Map(group), Value::Map(doc! {"$sort": {"_id": 1}})];
    let grouped = doc! {"aggregate": "oplog.rs", "pipeline": (Value::Array(pipeline)), "cursor": {}};
    assert_eq!(batch(&connection.ok("local", grouped)).len(), 3);
    let distinct = connection.ok("local", doc! {"distinct": "oplog.rs", "key": "ns", "query": {"op": "i"}});
    assert_eq!(distinct.elements("values"), Some(&[Value::from("zoo.pets")][..]));
    let small = connection.ok("local", log(doc! {}, doc! {"batchSize": 2, "projection": {"op": 1}}));
    assert_eq!(batch(&small), [doc! {"op": "n"}, doc! {"op": "c"}]);
    assert_eq!(batch(&connection.ok("local", more(cursor_of(&small)))).len(), 3);
    let listed = batch(&connection.ok("local", doc! {"listCollections": 1, "filter": {"name": "oplog.rs"}}));
    let options = listed[0].document("options").expect("options");
    assert_eq!((options.flag("capped"), options.integer("size")), (true, Some(4 << 30)));
    let stats = connection.ok("local", doc! {"collStats": "oplog.rs"});
    assert_eq!((stats.flag("capped"), stats.integer("maxSize")), (true, Some(4 << 30)));
    assert!(stats.integer("count") >= Some(4) && stats.integer("size") > Some(0), "{stats}");
    assert!(batch(&connection.ok("local", doc! {"listIndexes": "oplog.rs"})).is_empty());
    connection.ok("local", doc! {"explain": {"aggregate": "oplog.rs", "pipeline": [], "cursor": {}}});
    connection.fails(2, "local", doc! {"explain": {"find": "oplog.rs"}});
    // The same name in another database is that of any collection.
    connection.ok("zoo", doc! {"insert": "oplog.rs", "documents": [{"_id": 1}]});
    assert_eq!(batch(&connection.ok("zoo", doc! {"find": "oplog.rs"})), [doc! {"_id": 1}]);
}

#[test]
fn writes_to_the_log_are_refused() {
    let world = world();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let out = |to: Value| Value::Array(vec![Value::Map(Map::from([("$out", to)]))]);
    let to_log = || out(Value::Map(doc! {"db": "local", "coll": "oplog.rs"}));
    for (code, db, body) in [
        (73, "local", doc! {"insert": "oplog.rs", "documents": [{"_id": 1}]}),
        (73, "local", doc! {"update": "oplog.rs", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]}),
        (73, "local", doc! {"delete": "oplog.rs", "deletes": [{"q": {}, "limit": 0}]}),
        (73, "local", doc! {"findAndModify": "oplog.rs", "remove": true}),
        (73, "local", doc! {"create": "oplog.rs"}),
        (73, "local", doc! {"createIndexes": "oplog.rs", "indexes": [{"key": {"ts": 1}, "name": "ts_1"}]}),
        (73, "local", doc! {"collMod": "oplog.rs", "cappedSize": 1}),
        (20, "local", doc! {"drop": "oplog.rs"}),
        (20, "admin", doc! {"renameCollection": "zoo.pets", "to": "local.oplog.rs"}),
        (20, "admin", doc! {"renameCollection": "local.oplog.rs", "to": "zoo.pets"}),
        (73, "zoo", doc! {"aggregate": "pets", "pipeline": (to_log()), "cursor": {}}),
        (
            73,
            "admin",
            doc! {"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "local.oplog.rs"}]},
        ),
        (115, "local", doc! {"find": "oplog.$main"}),
    ] {
        connection.fails(code, db, body);
    }
    let copied =
        doc! {"aggregate": "oplog.rs", "pipeline": (out(Value::Map(doc! {"db": "zoo", "coll": "copy"}))), "cursor": {}};
    connection.ok("local", copied);
    assert_eq!(world.count("zoo.copy"), 3, "the begin, the creation and the insert");
}

#[test]
fn the_log_without_a_recording_is_an_error() {
    let world = World::with(config());
    let connection = world.connect();
    let refused = connection.fails(286, "local", log(doc! {}, doc! {}));
    assert!(refused.text("errmsg").is_some_and(|text| text.contains("alluvium changes record")), "{refused}");
    connection.fails(286, "local", log(doc! {}, tail()));
}
