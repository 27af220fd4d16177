//! The indexes that commands use, and the plans in the entries of the profiler.

use super::{reply, server};
use crate::fields::Fields;
use crate::shared::Shared;
use alluvium::{Binary, Map, Value, doc};

fn ok(shared: &Shared, body: Map) -> Map {
    let reply = reply(shared, body);
    assert!(reply.flag("ok"), "{reply}");
    reply
}

/// The name of the index in the plan of a command, and whether a filter restricts the indexes.
fn used(shared: &Shared, command: Map) -> (Option<String>, Option<bool>) {
    fn index(stage: &Map) -> Option<String> {
        stage.text("indexName").map(str::to_owned).or_else(|| index(stage.document("inputStage")?))
    }
    let explained = ok(shared, doc! {"explain": (command), "verbosity": "queryPlanner", "$db": "zoo"});
    let planner = explained.document("queryPlanner").expect("a plan");
    let plan = planner.document("winningPlan").expect("a plan");
    (index(plan), planner.get("indexFilterSet").map(|set| *set == Value::Bool(true)))
}

/// Follows core/query_planning/commands/planCacheSetFilter of documentdb/functional-tests, whose expectations are those
/// of MongoDB 8.2. A filter for a query shape applies to all commands, overrides a hint, and applies to collections of
/// every size.
#[test]
fn a_filter_of_a_shape_holds_for_all_commands() {
    let shared = server();
    let pets = shared.db.collection("zoo.pets");
    for n in 0..10 {
        pets.insert_one(doc! {"_id": n, "a": n, "b": n, "c": n}).expect("a document");
    }
    for keys in [doc! {"a": 1, "b": 1}, doc! {"a": 1, "c": 1}] {
        pets.create_index(keys).run().expect("an index");
    }
    let commands = [
        doc! {"find": "pets", "filter": {"a": 1}},
        doc! {"find": "pets", "filter": {"a": 1}, "hint": {"a": 1, "b": 1}},
        doc! {"count": "pets", "query": {"a": 1}},
        doc! {"distinct": "pets", "key": "a", "query": {"a": 1}},
        doc! {"aggregate": "pets", "pipeline": [{"$match": {"a": 1}}], "cursor": {}},
        doc! {"update": "pets", "updates": [{"q": {"a": 1}, "u": {"$set": {"x": 1}}}]},
        doc! {"delete": "pets", "deletes": [{"q": {"a": 1}, "limit": 0}]},
        doc! {"findAndModify": "pets", "query": {"a": 1}, "update": {"$set": {"x": 1}}},
    ];
    for (keys, name) in [(doc! {"a": 1, "b": 1}, "a_1_b_1"), (doc! {"a": 1, "c": 1}, "a_1_c_1")] {
        ok(&shared, doc! {"planCacheSetFilter": "pets", "query": {"a": 1}, "indexes": [(keys)], "$db": "zoo"});
        for command in &commands {
            assert_eq!(used(&shared, command.clone()), (Some(name.to_owned()), Some(true)), "{command}");
        }
    }
    ok(&shared, doc! {"planCacheSetFilter": "pets", "query": {"a": 1}, "indexes": [{"none": 1}], "$db": "zoo"});
    for command in &commands {
        assert_eq!(used(&shared, command.clone()), (None, Some(true)), "{command}");
    }
}

/// Follows core/cursors/commands/getMore/test_getMore_session.py of documentdb/functional-tests (MongoDB 8.2): a cursor
/// can only be read in its session. The codes of the other two cases are codes of MongoDB, too.
#[test]
fn a_cursor_is_read_in_its_session() {
    let shared = server();
    let pets = shared.db.collection("zoo.pets");
    for n in 0..10 {
        pets.insert_one(doc! {"_id": n}).expect("a document");
    }
    let in_session = |mut body: Map, session: Option<u8>| {
        if let Some(session) = session {
            let id = Value::Binary(Binary { subtype: 4, bytes: vec![session; 16] });
            body.push("lsid", Map::from([("id", id)]));
        }
        body.push("$db", "zoo");
        body
    };
    for (opened, read, code) in [
        (Some(1), Some(1), None),
        (None, None, None),
        (Some(1), Some(2), Some(50_738)),
        (Some(1), None, Some(50_737)),
        (None, Some(1), Some(50_736)),
    ] {
        let first = ok(&shared, in_session(doc! {"find": "pets", "batchSize": 2}, opened));
        let id = first.document("cursor").and_then(|cursor| cursor.get("id")).cloned().expect("a cursor");
        let more = || doc! {"getMore": (id.clone()), "collection": "pets", "batchSize": 2};
        let next = reply(&shared, in_session(more(), read));
        assert_eq!(next.integer("code"), code, "{next}");
        // The cursor stays open.
        ok(&shared, in_session(more(), opened));
    }
}

/// Follows core/indexes/commands/listIndexes/test_listIndexes_collection_variants.py of documentdb/functional-tests.
#[test]
fn collections_of_the_server_have_their_indexes() {
    let shared = server();
    let list = |name: &str| {
        let reply = reply(&shared, doc! {"listIndexes": name, "$db": "zoo"});
        let batch = reply.document("cursor").and_then(|cursor| cursor.get("firstBatch")).cloned();
        (reply.integer("code"), batch)
    };
    for name in ["system.profile", "system.views"] {
        assert_eq!(list(name), (Some(26), None), "{name}");
    }
    ok(&shared, doc! {"profile": 2, "$db": "zoo"});
    ok(&shared, doc! {"create": "old", "viewOn": "pets", "$db": "zoo"});
    assert_eq!(list("system.profile"), (None, Some(Value::Array(Vec::new()))));
    let of_id = Value::Map(doc! {"v": 2, "key": {"_id": 1}, "name": "_id_"});
    assert_eq!(list("system.views"), (None, Some(Value::Array(vec![of_id]))));
}

/// According to MongoDB's manual, "Database Profiler Output", `planSummary`, `keysExamined` and `docsExamined` belong
/// to each operation. A `getMore` is such an operation, too.
#[test]
fn entries_of_the_profiler_have_their_own_counts() {
    let shared = server();
    let pets = shared.db.collection("zoo.pets");
    for n in 0..1000 {
        pets.insert_one(doc! {"_id": n, "a": n}).expect("a document");
    }
    pets.create_index(doc! {"a": 1}).run().expect("an index");
    ok(&shared, doc! {"profile": 2, "$db": "zoo"});
    let of_entries = |op: &str| {
        let entries: Vec<Map> =
            shared.slow.entries("zoo").into_iter().filter(|entry| entry.text("op") == Some(op)).collect();
        shared.slow.clear("zoo");
        entries
    };
    for command in [
        doc! {"aggregate": "pets", "pipeline": [{"$match": {"a": {"$gte": 500}}}], "cursor": {"batchSize": 100}, "hint": "a_1", "$db": "zoo"},
        doc! {"find": "pets", "filter": {"a": {"$gte": 500}}, "batchSize": 100, "hint": "a_1", "$db": "zoo"},
    ] {
        let first = ok(&shared, command.clone());
        let op = if command.contains("find") { "query" } else { "command" };
        let entry = of_entries(op).pop().expect("an entry");
        assert_eq!(entry.text("planSummary"), Some("IXSCAN { a: 1 }"), "{entry}");
        let mut sum = entry.integer("docsExamined").expect("a count");
        assert!(sum >= 100 && entry.integer("keysExamined").is_some_and(|keys| keys >= 100), "{entry}");
        let mut id = first.document("cursor").and_then(|cursor| cursor.integer("id")).expect("a cursor");
        while id != 0 {
            let next = ok(&shared, doc! {"getMore": (id), "collection": "pets", "batchSize": 100, "$db": "zoo"});
            id = next.document("cursor").and_then(|cursor| cursor.integer("id")).expect("a cursor");
            let entry = of_entries("getmore").pop().expect("an entry");
            sum += entry.integer("docsExamined").expect("a count");
        }
        assert_eq!(sum, 500, "{command}");
    }
}

/// MongoDB 8.2 refuses such definitions with these codes. Here the definitions are stored, and the rules are the same.
#[test]
fn definitions_that_are_not_built_are_named_as_that() {
    let shared = server();
    shared.db.collection("zoo.pets").insert_one(doc! {"_id": 1}).expect("a document");
    let create = |key: Map, name: &str, more: Map| {
        let mut index = Map::from([("key", Value::Map(key)), ("name", Value::from(name))]);
        index.entries.extend(more.entries);
        reply(&shared, doc! {"createIndexes": "pets", "indexes": [(index)], "$db": "zoo"})
    };
    let made = create(doc! {"at": "2dsphere"}, "at", doc! {});
    assert!(made.text("note").is_some_and(|note| note.contains("at is kept")), "{made}");
    assert_eq!(made.integer("numIndexesAfter"), Some(2));
    let log = ok(&shared, doc! {"getLog": "startupWarnings", "$db": "admin"});
    assert!(log.to_string().contains("not built"), "{log}");
    for (key, name, more, code) in [
        (doc! {"at": "2dsphere"}, "at", doc! {}, None),
        (doc! {"at": "2dsphere"}, "at", doc! {"sparse": true}, Some(85)),
        (doc! {"at": "2dsphere"}, "other", doc! {}, Some(85)),
        (doc! {"at": "2d"}, "at", doc! {}, Some(86)),
        (doc! {"at": 1}, "at", doc! {}, Some(86)),
        (doc! {"a": "text"}, "text", doc! {}, None),
        (doc! {"b": "text"}, "second", doc! {}, Some(67)),
        (doc! {"$**": 1}, "all", doc! {}, None),
        (doc! {"$**": 1}, "every", doc! {}, Some(85)),
    ] {
        let made = create(key.clone(), name, more);
        assert_eq!(made.integer("code"), code, "{key} {name}: {made}");
    }
    for hint in [Value::from("at"), Value::Map(doc! {"at": "2dsphere"})] {
        let refused = reply(&shared, doc! {"find": "pets", "hint": (hint), "$db": "zoo"});
        assert_eq!(refused.integer("code"), Some(2));
        assert!(refused.text("errmsg").is_some_and(|text| text.contains("at, which is not built")), "{refused}");
    }
    let stats = ok(&shared, doc! {"collStats": "pets", "$db": "zoo"});
    assert_eq!(stats.integer("nindexes"), Some(4), "{stats}");
    let sizes = stats.document("indexSizes").expect("sizes");
    assert!(["_id_", "at", "text", "all"].iter().all(|name| sizes.contains(name)), "{sizes}");
    let list = doc! {"aggregate": "pets", "pipeline": [{"$indexStats": {}}], "cursor": {}, "$db": "zoo"};
    let list = ok(&shared, list);
    let batch = list.document("cursor").and_then(|cursor| cursor.elements("firstBatch")).expect("a batch");
    assert_eq!(batch.len(), 4, "{list}");
}
