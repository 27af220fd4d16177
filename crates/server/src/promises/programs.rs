//! Requests of existing programs and test suites, with MongoDB's replies.

use super::{Connection, SECOND, World, batch, cursor_of, insert, with};
use crate::config::Config;
use crate::fields::Fields;
use alluvium::{Map, Timestamp, Value, doc};

fn operation_time(reply: &Map) -> Timestamp {
    match reply.get("operationTime") {
        Some(Value::Timestamp(time)) => *time,
        other => panic!("no time: {other:?}"),
    }
}

/// `$clusterTime` as drivers send it.
fn cluster_time(time: u32, increment: u32) -> (&'static str, Value) {
    ("$clusterTime", Value::Map(doc! {"clusterTime": (Value::Timestamp(Timestamp { time, increment }))}))
}

/// The second of the clock of a [`World`] at its beginning: 2026-01-01.
const NOW: u32 = 1_767_225_600;

#[test]
fn times_of_operations_are_those_of_the_clock_across_restarts() {
    let world = World::new();
    let connection = world.connect();
    let first = operation_time(&connection.ok("zoo", insert(1)));
    assert_eq!(first.time, NOW);
    world.clock.advance(100 * SECOND);
    let second = operation_time(&connection.ok("zoo", insert(2)));
    assert_eq!(second.time, NOW + 100);
    // The clocks of these servers begin at zero again.
    for next in [world.after_a_kill(), world.after_a_cut()] {
        let time = operation_time(&next.connect().ok("zoo", doc! {"ping": 1}));
        assert!(time > second && time.time < NOW + 120, "{time:?} after {second:?}");
    }
}

#[test]
fn a_cluster_time_advances_the_time_and_later_reads_are_after_it() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let ahead = cluster_time(NOW + 1000, 5);
    let reply = connection.ok("zoo", with(doc! {"ping": 1}, [ahead.clone()]));
    assert!(operation_time(&reply) >= Timestamp { time: NOW + 1000, increment: 5 }, "{reply}");
    let after = Value::Timestamp(Timestamp { time: NOW + 1000, increment: 5 });
    let read = doc! {"find": "pets", "readConcern": {"afterClusterTime": (after)}};
    assert_eq!(batch(&connection.ok("zoo", read)).len(), 1);
    assert!(operation_time(&connection.ok("zoo", insert(2))).time == NOW + 1000);
    let future = Value::Timestamp(Timestamp { time: NOW + 2000, increment: 1 });
    let read = |name: &str, level: &str| doc! {"find": "pets", "readConcern": {"level": level, name: (future.clone())}};
    // MongoDB 8.0: `waitForReadConcernImpl` in `read_concern_mongod.cpp`.
    connection.fails(72, "zoo", read("afterClusterTime", "local"));
    connection.fails(72, "zoo", read("atClusterTime", "snapshot"));
    // `vector_clock.cpp`: more than a year ahead of the clock.
    connection.fails(206, "zoo", with(doc! {"ping": 1}, [cluster_time(NOW + 366 * 86_400, 1)]));
    connection.fails(14, "zoo", with(doc! {"ping": 1}, [("$clusterTime", Value::Map(doc! {"clusterTime": 1}))]));
}

#[test]
fn a_snapshot_is_found_by_every_time_of_its_range() {
    let world = World::new();
    let connection = world.connect();
    let from = operation_time(&connection.ok("zoo", insert(1)));
    let read = |at: Option<Timestamp>| {
        let mut concern = doc! {"level": "snapshot"};
        at.into_iter().for_each(|at| concern.push("atClusterTime", Value::Timestamp(at)));
        doc! {"find": "pets", "readConcern": (concern)}
    };
    connection.ok("zoo", with(doc! {"ping": 1}, [cluster_time(NOW + 10, 7)]));
    let to = operation_time(&connection.ok("zoo", read(None)));
    connection.ok("zoo", insert(2));
    let middle = Timestamp { time: NOW + 5, increment: 1 };
    for at in [middle, to] {
        assert_eq!(batch(&connection.ok("zoo", read(Some(at)))).len(), 1, "{at:?}");
    }
    assert!(from < middle);
    assert_eq!(batch(&connection.ok("zoo", read(None))).len(), 2);
}

#[test]
fn the_operation_log_is_refused_by_name() {
    let world = World::new();
    let connection = world.connect();
    let tail = doc! {"find": "oplog.rs", "tailable": true, "awaitData": true};
    let refused = connection.fails(115, "local", tail);
    assert!(refused.text("errmsg").is_some_and(|text| text.contains("local.oplog.rs")), "{refused}");
    connection.fails(115, "local", doc! {"aggregate": "oplog.rs", "pipeline": [], "cursor": {}});
    connection.ok("zoo", doc! {"find": "oplog.rs"});
}

#[test]
fn a_cursor_of_a_collection_that_was_dropped_ends_with_175() {
    // MongoDB 8.0, `jstests/core/query/cursor/getmore_invalidated_documents.js`: the error is QueryPlanKilled.
    let world = World::new();
    let connection = world.connect();
    let open = |command: Map| {
        connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]});
        let id = cursor_of(&connection.ok("zoo", command));
        doc! {"getMore": (Value::Int64(id)), "collection": "pets"}
    };
    let find = || doc! {"find": "pets", "batchSize": 1};
    let aggregate =
        doc! {"aggregate": "pets", "pipeline": [{"$match": {"_id": {"$gt": 0}}}], "cursor": {"batchSize": 1}};
    for (command, change) in [
        (find(), ("zoo", doc! {"drop": "pets"})),
        (aggregate, ("zoo", doc! {"drop": "pets"})),
        (find(), ("zoo", doc! {"dropDatabase": 1})),
        (find(), ("admin", doc! {"renameCollection": "zoo.pets", "to": "zoo.others", "dropTarget": true})),
    ] {
        let more = open(command);
        connection.ok(change.0, change.1.clone());
        connection.fails(175, "zoo", more.clone());
        connection.fails(43, "zoo", more);
    }
    let more = open(find());
    connection.ok("zoo", doc! {"drop": "pets"});
    connection.ok("zoo", insert(9));
    connection.fails(175, "zoo", more);
    // A snapshot keeps all its documents.
    connection.ok("zoo", doc! {"drop": "pets"});
    let more = open(with(find(), [("readConcern", Value::Map(doc! {"level": "snapshot"}))]));
    connection.ok("zoo", doc! {"drop": "pets"});
    assert_eq!(batch(&connection.ok("zoo", more)).len(), 2);
}

#[test]
fn a_write_to_a_name_that_cannot_exist_fails_as_a_whole() {
    // MongoDB 8.0: `NamespaceStringUtil` refuses the name before the statements run.
    let world = World::new();
    let connection = world.connect();
    for name in ["a$b", ".a", "system.foo"] {
        for command in [
            doc! {"insert": name, "documents": [{"_id": 1}]},
            doc! {"update": name, "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]},
            doc! {"delete": name, "deletes": [{"q": {}, "limit": 0}]},
        ] {
            connection.fails(73, "zoo", command);
        }
    }
}

#[test]
fn counts_are_exact_after_updates() {
    let world = World::new();
    let connection = world.connect();
    let documents: Vec<Value> = (0..3201).map(|n| Value::Map(doc! {"_id": n, "a": 0})).collect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": (Value::Array(documents))});
    let counts = || {
        let count = connection.ok("zoo", doc! {"count": "pets"}).integer("n");
        let stats = connection.ok("zoo", doc! {"collStats": "pets"}).integer("count");
        let objects = connection.ok("zoo", doc! {"dbStats": 1}).integer("objects");
        let stage = doc! {"aggregate": "pets", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}};
        let staged = batch(&connection.ok("zoo", stage))[0].integer("count");
        [count, stats, objects, staged].map(Option::unwrap_or_default)
    };
    assert_eq!(counts(), [3201; 4]);
    connection.ok("zoo", doc! {"update": "pets", "updates": [{"q": {}, "u": {"$inc": {"a": 1}}, "multi": true}]});
    assert_eq!(counts(), [3201; 4]);
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {"_id": {"$lt": 101}}, "limit": 0}]});
    connection
        .ok("zoo", doc! {"update": "pets", "updates": [{"q": {"_id": -1}, "u": {"$set": {"a": 1}}, "upsert": true}]});
    assert_eq!(counts(), [3101; 4]);
    connection.ok("zoo", doc! {"create": "odd", "viewOn": "pets", "pipeline": [{"$match": {"_id": {"$gt": 3000}}}]});
    assert_eq!(connection.ok("zoo", doc! {"count": "odd"}).integer("n"), Some(200));
    assert_eq!(connection.ok("zoo", doc! {"count": "pets", "limit": 10}).integer("n"), Some(10));
}

#[test]
fn collections_are_listed_by_name() {
    let world = World::new();
    let connection = world.connect();
    for name in ["cats", "dogs", "birds"] {
        connection.ok("zoo", doc! {"create": name});
    }
    let names = |filter: Map| {
        let reply = connection.ok("zoo", doc! {"listCollections": 1, "filter": (filter)});
        batch(&reply).iter().filter_map(|entry| entry.text("name").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(names(doc! {"name": "dogs"}), ["dogs"]);
    assert_eq!(names(doc! {"name": {"$eq": "dogs"}, "type": "view"}), Vec::<String>::new());
    assert_eq!(names(doc! {"name": {"$in": ["dogs", "cats", "none"]}}), ["cats", "dogs"]);
    assert_eq!(names(doc! {"name": {"$ne": "dogs"}}), ["birds", "cats"]);
    assert_eq!(names(doc! {"name": {"$in": ["dogs", 1]}}), ["dogs"]);
}

#[test]
fn indexes_that_are_not_built_are_kept_and_listed() {
    let world = World::new();
    let connection = world.connect();
    let create = |specification: Map| doc! {"createIndexes": "pets", "indexes": [(specification)]};
    let specifications = [
        doc! {"key": {"name": "text"}, "name": "name_text"},
        doc! {"key": {"place": "2dsphere"}, "name": "place_2dsphere", "background": true},
        doc! {"key": {"$**": 1}, "name": "all"},
        doc! {"key": {"p": "2d", "a": 1}, "name": "flat", "min": 0},
    ];
    for specification in &specifications {
        connection.ok("zoo", create(specification.clone()));
        let again = connection.ok("zoo", create(specification.clone()));
        assert_eq!(again.text("note"), Some("all indexes already exist"));
    }
    connection.ok("zoo", create(doc! {"key": {"a": 1}, "name": "a_1"}));
    let names = |connection: &Connection<'_>| {
        let list = batch(&connection.ok("zoo", doc! {"listIndexes": "pets"}));
        let mut names: Vec<String> = list.iter().filter_map(|index| index.text("name").map(str::to_owned)).collect();
        names.sort();
        names
    };
    let all = ["_id_", "a_1", "all", "flat", "name_text", "place_2dsphere"];
    assert_eq!(names(&connection), all);
    connection.ok("admin", doc! {"fsync": 1});
    assert_eq!(names(&world.after_a_cut().connect()), all);
    // Queries that need such an index are refused. Definitions whose guarantees an unbuilt index could not keep are
    // refused, too.
    connection.ok("zoo", insert(1));
    connection.ok("zoo", doc! {"find": "pets", "filter": {"name": "rex"}});
    let search = connection.run("zoo", doc! {"find": "pets", "filter": {"$text": {"$search": "rex"}}});
    assert!(!search.flag("ok") && search.text("errmsg").is_some_and(|text| text.contains("$text")), "{search}");
    connection.fails(67, "zoo", create(doc! {"key": {"b": "text"}, "name": "b", "unique": true}));
    connection.fails(86, "zoo", create(doc! {"key": {"b": 1}, "name": "all"}));
    connection.fails(86, "zoo", create(doc! {"key": {"b": "text"}, "name": "a_1"}));
    connection.ok("zoo", doc! {"dropIndexes": "pets", "index": "all"});
    connection.ok("zoo", doc! {"dropIndexes": "pets", "index": {"place": "2dsphere"}});
    assert_eq!(names(&connection), ["_id_", "a_1", "flat", "name_text"]);
    connection.ok("zoo", doc! {"dropIndexes": "pets", "index": "*"});
    assert_eq!(names(&connection), ["_id_"]);
}

#[test]
fn documents_before_changes_are_an_option_of_collections() {
    let world = World::new();
    let connection = world.connect();
    let images = |enabled: bool| ("changeStreamPreAndPostImages", Value::Map(doc! {"enabled": enabled}));
    let create = |name: &str| Map::from([("create", Value::from(name))]);
    connection.ok("zoo", with(create("pets"), [images(true)]));
    connection.ok("zoo", with(create("pets"), [images(true)]));
    connection.fails(48, "zoo", create("pets"));
    connection.fails(48, "zoo", with(create("pets"), [images(false)]));
    let limits = [images(true), ("capped", Value::Bool(true)), ("size", Value::Int32(4096))];
    connection.ok("zoo", with(create("log"), limits));
    let options = |name: &str| {
        let list = Map::from([("listCollections", Value::Int32(1)), ("filter", Value::Map(doc! {"name": name}))]);
        let found = batch(&connection.ok("zoo", list));
        found[0].document("options").and_then(|options| options.document("changeStreamPreAndPostImages")).cloned()
    };
    assert_eq!((options("pets"), options("log")), (Some(doc! {"enabled": true}), Some(doc! {"enabled": true})));
    let change = |name: &str| Map::from([("collMod", Value::from(name))]);
    connection.ok("zoo", with(change("pets"), [images(false)]));
    assert_eq!(options("pets"), None);
    connection.ok("zoo", create("pets"));
    connection.ok("zoo", with(change("pets"), [images(true)]));
    assert_eq!(options("pets"), Some(doc! {"enabled": true}));
    connection.ok("zoo", doc! {"create": "view", "viewOn": "pets"});
    connection.fails(72, "zoo", with(doc! {"create": "other", "viewOn": "pets"}, [images(true)]));
    connection.fails(72, "zoo", with(change("view"), [images(true)]));
    connection.fails(72, "config", with(create("pets"), [images(true)]));
    for (code, wrong) in [
        (14, Value::Bool(true)),
        (14, Value::Map(doc! {"enabled": 1})),
        (40_415, Value::Map(doc! {"enabled": true, "other": 1})),
        (40_414, Value::Map(Map::new())),
    ] {
        let wrong = || [("changeStreamPreAndPostImages", wrong.clone())];
        connection.fails(code, "zoo", with(create("wrong"), wrong()));
        connection.fails(code, "zoo", with(change("pets"), wrong()));
    }
}

#[test]
fn options_without_effect_are_kept() {
    let world = World::new();
    let connection = world.connect();
    let create = doc! {
        "create": "pets", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
        "storageEngine": {"wiredTiger": {"configString": "block_compressor=zstd"}},
        "indexOptionDefaults": {"storageEngine": {"wiredTiger": {}}}
    };
    connection.ok("zoo", create.clone());
    connection.ok("zoo", create.clone());
    connection.fails(48, "zoo", doc! {"create": "pets"});
    let list = batch(&connection.ok("zoo", doc! {"listCollections": 1, "filter": {"name": "pets"}}));
    let options = list[0].document("options").expect("options");
    let clustered = doc! {"v": 2, "key": {"_id": 1}, "name": "_id_", "unique": true};
    assert_eq!(options.document("clusteredIndex"), Some(&clustered));
    for name in ["storageEngine", "indexOptionDefaults"] {
        assert_eq!(options.get(name), create.get(name));
    }
    // MongoDB 8.2, according to documentdb's functional tests: test_listIndexes_collection_variants.py,
    // test_listCollections_collection_types.py.
    assert!(!list[0].contains("idIndex"), "{}", list[0]);
    let list = || doc! {"listIndexes": "pets"};
    let indexes = batch(&connection.ok("zoo", list()));
    assert_eq!(indexes, [with(clustered, [("clustered", Value::Bool(true))])]);
    // From the same suite: test_listIndexes_errors.py and test_listIndexes_bson_type_errors.py.
    let built = |name| (name, Value::Bool(true));
    let wrapped = batch(&connection.ok("zoo", with(list(), [built("includeIndexBuildInfo")])));
    assert_eq!(wrapped[0].document("spec"), Some(&indexes[0]));
    let both = [built("includeIndexBuildInfo"), built("includeBuildUUIDs")];
    connection.fails(72, "zoo", with(list(), both));
    for (code, option) in [
        (40_415, ("filter", Value::Map(doc! {"name": "a"}))),
        (14, ("cursor", Value::Map(doc! {"batchSize": "abc"}))),
        (40_415, ("cursor", Value::Map(doc! {"batchSize": 1, "unknown": true}))),
        (2, ("cursor", Value::Map(doc! {"batchSize": (-1)}))),
    ] {
        connection.fails(code, "zoo", with(list(), [option]));
    }
    connection.fails(14, "admin", doc! {"bulkWrite": 1, "ops": [], "nsInfo": [], "cursor": {"batchSize": "abc"}});
    for (index, code) in [(doc! {"key": {"a": 1}, "unique": true}, 72), (doc! {"key": {"_id": 1}}, 40414)] {
        connection.fails(code, "zoo", doc! {"create": "others", "clusteredIndex": (index)});
    }
    for (encrypted, code) in [
        (doc! {"fields": [{"path": "a"}]}, 40414),
        (doc! {"escCollection": "x"}, 40414),
        (doc! {"fields": [{"path": "a", "keyId": 1}]}, 14),
        (doc! {"fields": []}, 115),
    ] {
        connection.fails(code, "zoo", doc! {"create": "others", "encryptedFields": (encrypted)});
    }
    connection.ok("zoo", doc! {"create": "strict", "validator": {"a": 1}, "validationAction": "errorAndLog"});
    let reply = connection.run("zoo", doc! {"insert": "strict", "documents": [{"a": 2}]});
    let error = reply.elements("writeErrors").and_then(|errors| errors[0].as_map()?.integer("code"));
    assert_eq!(error, Some(121), "{reply}");
}

#[test]
fn expired_documents_are_looked_for_as_often_as_the_parameter_says() {
    let world = World::new();
    let connection = world.connect();
    let set = |value: Value| with(doc! {"setParameter": 1}, [("ttlMonitorSleepSecs", value)]);
    assert_eq!(connection.ok("admin", set(Value::Int32(1))).integer("was"), Some(60));
    connection.fails(2, "admin", set(Value::Int32(0)));
    connection.ok("admin", doc! {"setParameter": 1, "ttlMonitorEnabled": false});
    connection.ok("admin", doc! {"setParameter": 1, "transactionLifetimeLimitSeconds": 3});
    let found = connection.ok("admin", doc! {"getParameter": 1, "transactionLifetimeLimitSeconds": 1});
    assert_eq!(found.integer("transactionLifetimeLimitSeconds"), Some(3));
    connection.fails(72, "admin", doc! {"setParameter": 1, "colour": 3});
}

#[test]
fn the_profiler_has_each_statement_with_its_plan_and_counts() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}, {"_id": 3}]});
    connection.ok("zoo", doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1"}]});
    connection.ok("zoo", doc! {"profile": 2});
    let update = doc! {"$set": {"b": 1}};
    connection.ok(
        "zoo",
        doc! {
            "update": "pets",
            "updates": [{"q": {"a": 1}, "u": (update.clone()), "multi": true}, {"q": {"_id": 3}, "u": (update)}]
        },
    );
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {"b": 1}, "limit": 1}]});
    connection.ok("zoo", doc! {"find": "pets", "filter": {"b": 1}});
    connection.ok("zoo", insert(9));
    connection.ok("zoo", doc! {"profile": 0});
    let entries = batch(&connection.ok("zoo", doc! {"find": "system.profile"}));
    let counted = connection.ok("zoo", doc! {"count": "system.profile", "query": {"op": "update"}, "limit": 5});
    assert_eq!(counted.integer("n"), Some(2), "txmongo 26.0.0 counts so");
    let ops: Vec<&str> = entries.iter().filter_map(|entry| entry.text("op")).collect();
    assert_eq!(ops, ["update", "update", "remove", "query", "insert"], "{entries:?}");
    let [many, one, removed, found, inserted] = entries.as_slice() else { panic!("five entries") };
    assert_eq!(many.document("command").and_then(|command| command.document("q")), Some(&doc! {"a": 1}));
    let counts = |entry: &Map, names: &[&str]| names.iter().map(|name| entry.integer(name)).collect::<Vec<_>>();
    assert_eq!(counts(many, &["nMatched", "nModified"]), [Some(2), Some(2)], "{many}");
    let examined: i64 = counts(many, &["keysExamined", "docsExamined"]).into_iter().flatten().sum();
    assert!(examined >= 2, "{many}");
    assert_eq!(counts(one, &["nMatched", "nModified"]), [Some(1), Some(1)]);
    assert_eq!(counts(removed, &["ndeleted"]), [Some(1)]);
    assert_eq!(counts(found, &["nreturned", "docsExamined", "keysExamined"]), [Some(2), Some(2), Some(0)], "{found}");
    assert_eq!(found.text("planSummary"), Some("COLLSCAN"));
    assert_eq!(counts(inserted, &["ninserted"]), [Some(1)]);
    assert!(["COLLSCAN", "IXSCAN { a: 1 }"].contains(&many.text("planSummary").expect("a plan")), "{many}");
}

/// As in MongoDB 8.0: jstests/core/query/profile_count.js, profile_distinct.js, profile_findandmodify.js in
/// jstests/core/administrative/profile.
#[test]
fn the_profiler_has_plans_and_counts_of_all_commands() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}, {"_id": 3}]});
    for db in ["zoo", "farm"] {
        connection.ok(db, doc! {"profile": 2});
    }
    connection.ok("zoo", doc! {"count": "pets"});
    connection.ok("zoo", doc! {"count": "pets", "query": {"a": 1}});
    connection.ok("zoo", doc! {"distinct": "pets", "key": "a", "query": {"a": 2}});
    connection.ok("zoo", doc! {"findAndModify": "pets", "query": {"a": 1}, "update": {"$set": {"b": 1}}});
    connection.ok("zoo", doc! {"findAndModify": "pets", "query": {"a": 2}, "remove": true});
    let ops = doc! {"bulkWrite": 1, "nsInfo": [{"ns": "zoo.pets"}, {"ns": "farm.cows"}], "ops": [
        {"insert": 0, "document": {"_id": 9}},
        {"insert": 1, "document": {"_id": 9}},
        {"update": 0, "filter": {"a": 1}, "updateMods": {"$set": {"c": 1}}, "multi": true},
        {"delete": 0, "filter": {"a": 1}}
    ]};
    connection.ok("admin", ops);
    let entries = |db: &str| {
        connection.ok(db, doc! {"profile": 0});
        batch(&connection.ok(db, doc! {"find": "system.profile"}))
    };
    let shown = |entry: &Map| {
        let names = ["keysExamined", "docsExamined", "nMatched", "nModified", "ninserted", "ndeleted"];
        let counts = names.iter().filter_map(|name| Some(format!("{name} {}", entry.integer(name)?)));
        let words = [entry.text("op"), entry.text("ns"), entry.text("planSummary")].map(Option::unwrap_or_default);
        words.into_iter().map(str::to_owned).chain(counts).collect::<Vec<_>>().join(", ")
    };
    let shown: Vec<String> = entries("zoo").iter().chain(&entries("farm")).map(shown).collect();
    let expected = [
        "command, zoo.pets, RECORD_STORE_FAST_COUNT, keysExamined 0, docsExamined 0",
        "command, zoo.pets, COLLSCAN, keysExamined 0, docsExamined 3",
        "command, zoo.pets, COLLSCAN, keysExamined 0, docsExamined 3",
        "command, zoo.pets, COLLSCAN, keysExamined 0, docsExamined 1, nMatched 1, nModified 1",
        "command, zoo.pets, COLLSCAN, keysExamined 0, docsExamined 2, ndeleted 1",
        "insert, zoo.pets, , ninserted 1",
        "update, zoo.pets, COLLSCAN, keysExamined 0, docsExamined 3, nMatched 1, nModified 1",
        "remove, zoo.pets, COLLSCAN, keysExamined 0, docsExamined 1, ndeleted 1",
        "insert, farm.cows, , ninserted 1",
    ];
    assert_eq!(shown, expected);
}

/// MongoDB 8.0: system variables can be used in all expressions (manual, "Variables in Aggregation Expressions").
#[test]
fn the_cluster_time_is_a_variable_of_queries_and_updates() {
    let world = World::new();
    let connection = world.connect();
    let time = operation_time(&connection.ok("zoo", insert(1)));
    let at_least = |value: Option<&Value>| matches!(value, Some(Value::Timestamp(seen)) if *seen >= time);
    let of_kind = doc! {"$expr": {"$eq": [{"$type": "$$CLUSTER_TIME"}, "timestamp"]}};
    connection.ok("zoo", doc! {"create": "view", "viewOn": "pets", "pipeline": [{"$set": {"t": "$$CLUSTER_TIME"}}]});
    for (command, count) in [
        (doc! {"find": "pets", "filter": (of_kind.clone()), "projection": {"t": "$$CLUSTER_TIME"}}, 1),
        (doc! {"find": "view", "filter": {}}, 1),
        (doc! {"aggregate": "pets", "pipeline": [{"$project": {"t": "$$CLUSTER_TIME"}}], "cursor": {}}, 1),
    ] {
        let documents = batch(&connection.ok("zoo", command.clone()));
        assert_eq!(documents.iter().filter(|document| at_least(document.get("t"))).count(), count, "{command}");
    }
    let set = || Value::Array(vec![Value::Map(doc! {"$set": {"t": "$$CLUSTER_TIME"}})]);
    connection.ok("zoo", doc! {"update": "pets", "updates": [{"q": (of_kind.clone()), "u": (set())}]});
    let changed = doc! {"findAndModify": "pets", "query": {"_id": 1}, "update": (set()), "new": true};
    assert!(at_least(connection.ok("zoo", changed).document("value").and_then(|value| value.get("t"))));
    let counted = connection.ok("zoo", doc! {"count": "pets", "query": (of_kind.clone())});
    assert_eq!(counted.integer("n"), Some(1));
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": (of_kind), "limit": 1}]});
    assert_eq!(world.count("zoo.pets"), 0);
    // A standalone server has no cluster time.
    let alone = World::with(Config { replica_set: None, ..Config::default() });
    alone.connect().fails(10_071_200, "zoo", doc! {"find": "pets", "projection": {"t": "$$CLUSTER_TIME"}});
}

/// MongoDB 8.2, according to documentdb's functional tests: core/cursors/commands/getMore and killCursors.
#[test]
fn numbers_of_cursors_are_of_64_bits_and_found_by_any_name() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}]});
    let id = cursor_of(&connection.ok("zoo", doc! {"find": "pets", "batchSize": 1}));
    for wrong in [Value::Int32(7), Value::from(7.0)] {
        connection.fails(14, "zoo", doc! {"getMore": (wrong), "collection": "pets"});
    }
    let more = || doc! {"getMore": (Value::Int64(id)), "collection": "pets"};
    connection.fails(14, "zoo", with(more(), [("term", Value::Int32(1))]));
    connection.fails(40_415, "zoo", with(more(), [("skip", Value::Int32(1))]));
    connection.fails(40_415, "zoo", doc! {"killCursors": "pets", "cursors": [], "unknown": 1});
    // If one of the numbers is invalid, no cursor is closed.
    connection.fails(14, "zoo", doc! {"killCursors": "pets", "cursors": [(Value::Int64(id)), "bad"]});
    let killed = connection.ok("zoo", doc! {"killCursors": "others", "cursors": [null, (Value::Int64(id))]});
    assert_eq!(killed.elements("cursorsKilled"), Some(&[Value::Int64(id)][..]));
    connection.fails(43, "zoo", more());
}

#[test]
fn a_bulk_write_to_a_name_that_cannot_exist_fails() {
    let world = World::new();
    let connection = world.connect();
    for namespace in ["zoo", "zoo.", ".pets", "zoo.a$b", "zo o.pets"] {
        let ops = doc! {"bulkWrite": 1, "nsInfo": [{"ns": "zoo.pets"}, {"ns": namespace}], "ops": [
            {"insert": 0, "document": {}}, {"insert": 1, "document": {}}
        ]};
        connection.fails(73, "admin", ops);
    }
    assert_eq!(world.count("zoo.pets"), 0);
}

#[test]
fn the_plan_of_a_pipeline_is_explained_without_running_it() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    // The pipeline would fail if it were executed.
    let divided = doc! {"$project": {"a": {"$divide": [1, {"$subtract": ["$_id", 1]}]}}};
    let fails = doc! {"aggregate": "pets", "pipeline": [(divided)], "cursor": {}};
    assert!(!connection.run("zoo", fails.clone()).flag("ok"));
    let explain = |verbosity: &str| doc! {"explain": (fails.clone()), "verbosity": verbosity};
    connection.ok("zoo", explain("queryPlanner"));
    assert!(!connection.run("zoo", explain("executionStats")).flag("ok"));
    let mut option = fails.clone();
    option.push("explain", true);
    connection.ok("zoo", option);
}

#[test]
fn fields_and_modes_that_drivers_send_are_accepted() {
    let world = World::with(Config { test_commands: true, ..Config::default() });
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {}, "limit": 1}], "bypassDocumentValidation": true});
    for mode in [doc! {"times": 1, "skip": 0}, doc! {"activationProbability": 0.5}] {
        let data = doc! {"failCommands": ["find"], "errorCode": 6};
        connection.ok("admin", doc! {"configureFailPoint": "failCommand", "mode": (mode), "data": (data)});
    }
    let version = connection.ok("admin", doc! {"buildInfo": 1});
    assert_eq!(version.text("version"), Some(crate::config::MONGODB_VERSION));
}

#[test]
fn collections_keep_the_order_of_insertion_if_the_server_is_told_to() {
    let world = World::with(Config { natural_order: true, ..Config::default() });
    let connection = world.connect();
    let ids = |connection: &Connection<'_>, command: Map| {
        batch(&connection.ok("zoo", command)).iter().filter_map(|document| document.integer("_id")).collect::<Vec<_>>()
    };
    let find = || doc! {"find": "pets"};
    for id in [10, 1, 2, 11] {
        connection.ok("zoo", insert(id));
    }
    assert_eq!(ids(&connection, find()), [10, 1, 2, 11]);
    // An update keeps the position of a document. A document that is deleted and inserted again gets a new position.
    connection.ok("zoo", doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]});
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {"_id": 10}, "limit": 1}]});
    connection.ok("zoo", insert(10));
    let expected = [1, 2, 11, 10];
    assert_eq!(ids(&connection, find()), expected);
    assert_eq!(ids(&connection, doc! {"find": "pets", "sort": {"$natural": -1}}), [10, 11, 2, 1]);
    // MongoDB's manual for `$natural`: the order is the order of the documents on the disk, for every filter.
    let range = || doc! {"_id": {"$gt": 1}};
    assert_eq!(ids(&connection, doc! {"find": "pets", "filter": (range()), "sort": {"$natural": 1}}), [2, 11, 10]);
    assert_eq!(ids(&connection, doc! {"find": "pets", "filter": (range()), "hint": {"$natural": -1}}), [10, 11, 2]);
    assert_eq!(
        ids(&connection, doc! {"find": "pets", "filter": {"_id": {"$in": [10, 2]}}, "sort": {"$natural": 1}}),
        [2, 10]
    );
    let pipeline = doc! {"aggregate": "pets", "pipeline": [{"$match": {"b": null}}], "cursor": {}};
    assert_eq!(ids(&connection, pipeline), expected);
    assert_eq!(connection.ok("zoo", doc! {"count": "pets"}).integer("n"), Some(4));
    // The collection is not capped, and clients see no option.
    let list = batch(&connection.ok("zoo", doc! {"listCollections": 1}));
    assert_eq!(list[0].document("options"), Some(&Map::new()));
    assert_eq!(list[0].document("info").and_then(|info| info.get("naturalOrder")), Some(&Value::Bool(true)));
    let reply = connection.run("zoo", doc! {"find": "pets", "tailable": true});
    assert!(!reply.flag("ok"), "{reply}");
    connection.ok("admin", doc! {"fsync": 1});
    for next in [world.after_a_kill(), world.after_a_cut()] {
        let connection = next.connect();
        assert_eq!(ids(&connection, find()), expected);
        connection.ok("zoo", insert(3));
        assert_eq!(ids(&connection, find()), [1, 2, 11, 10, 3]);
    }
    // Without the option of the server, a single collection can have natural order.
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"create": "pets", "naturalOrder": true});
    // MongoDB's `create` fails with 48 if the collection exists with other options.
    connection.ok("zoo", doc! {"create": "pets", "naturalOrder": true});
    connection.ok("zoo", doc! {"create": "plain"});
    for other in [
        doc! {"create": "pets"},
        doc! {"create": "pets", "naturalOrder": false},
        doc! {"create": "plain", "naturalOrder": true},
    ] {
        assert_eq!(connection.run("zoo", other.clone()).integer("code"), Some(48), "{other}");
    }
    let view = doc! {"create": "view", "viewOn": "pets", "naturalOrder": true};
    assert_eq!(connection.run("zoo", view).integer("code"), Some(72));
    for name in ["pets", "others"] {
        connection.ok("zoo", doc! {"insert": name, "documents": [{"_id": 2}, {"_id": 1}]});
    }
    assert_eq!(ids(&connection, find()), [2, 1]);
    assert_eq!(ids(&connection, doc! {"find": "others"}), [1, 2]);
}
