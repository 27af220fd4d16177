//! Commands and the error codes that MongoDB answers them with, as the conformance suite of documentdb has measured
//! them on MongoDB 8.2.

use super::{fill, reply, server};
use crate::config::Config;
use crate::replica_set::ReplicaSet;
use crate::shared::Shared;
use alluvium::{Binary, Map, Timestamp, Value, doc};

/// A server without a replica set.
fn alone() -> Shared {
    let mut shared = server();
    shared.config = Config { replica_set: None, ..Config::default() };
    shared.replica_set = ReplicaSet::open(&shared.db, &shared.config).expect("no configuration");
    fill(&shared);
    shared
}

/// Runs commands on a database, and compares their error codes; 0 means success.
fn check(shared: &Shared, db: &str, cases: impl IntoIterator<Item = (Map, i32)>) {
    let mut wrong = Vec::new();
    for (mut body, expected) in cases {
        let shown = body.to_string();
        body.push("$db", db);
        let reply = reply(shared, body);
        let code = reply.get("code").and_then(Value::as_i64).unwrap_or(0);
        if code != i64::from(expected) {
            wrong.push(format!("{shown}: {code} and not {expected}: {reply}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn decimal(text: &str) -> Value {
    Value::Decimal(text.parse().expect("a number"))
}

#[test]
fn fields_of_aggregate() {
    let aggregate = |fields: Map| {
        let mut body = doc! {"aggregate": "pets", "pipeline": [], "cursor": {}};
        fields.entries.into_iter().for_each(|(name, value)| drop(body.insert(name, value)));
        body
    };
    let cases = [
        (doc! {}, 0),
        (doc! {"aggregate": 2}, 2),
        (doc! {"aggregate": null}, 73),
        (doc! {"aggregate": 1}, 73),
        (doc! {"aggregate": 1, "pipeline": [{"$match": {}}]}, 73),
        (doc! {"aggregate": 1, "pipeline": [{"$documents": []}]}, 0),
        (doc! {"pipeline": [{"$documents": []}]}, 73),
        (doc! {"allowDiskUse": 1}, 14),
        (doc! {"allowDiskUse": null}, 14),
        (doc! {"explain": 1}, 14),
        (doc! {"explain": true, "writeConcern": {"w": 1}}, 9),
        (doc! {"explain": true, "pipeline": [{"$out": "others"}]}, 0),
        (doc! {"cursor": null}, 14),
        (doc! {"cursor": {"batchSize": "1"}}, 14),
        (doc! {"cursor": {"batchSize": (-1)}}, 2),
        (doc! {"cursor": {"batchSize": 1.5}}, 0),
        (doc! {"cursor": {"BatchSize": 1}}, 40415),
        (doc! {"hint": 1}, 9),
        (doc! {"hint": null}, 9),
        (doc! {"Hint": "a_1"}, 40415),
        (doc! {"let": {"A": 1}}, 9),
        (doc! {"let": {"a.b": 1}}, 9),
        (doc! {"let": {"NOW": 1}}, 4_738_901),
        (doc! {"let": {"a": "$x"}}, 4_890_500),
        (doc! {"let": {"a": {"$literal": "$x"}}}, 0),
        (doc! {"let": {"a": "$$NOW"}}, 51144),
        (doc! {"maxTimeMS": 1.5}, 9),
        (doc! {"maxTimeMS": (-1)}, 2),
    ];
    check(&alone(), "zoo", cases.map(|(fields, code)| (aggregate(fields), code)));
}

#[test]
fn concerns_of_reads_and_writes() {
    let null = Value::Timestamp(Timestamp { time: 0, increment: 0 });
    let past = Value::Timestamp(Timestamp { time: 1, increment: 1 });
    let read = |concern: Map| doc! {"find": "pets", "readConcern": (Value::Map(concern))};
    let write = |concern: Map| doc! {"insert": "pets", "documents": [{}], "writeConcern": (Value::Map(concern))};
    let cases = [
        (read(doc! {"level": "local"}), 0),
        (read(doc! {"level": null}), 0),
        (read(doc! {"level": 1}), 14),
        (read(doc! {"level": "nonsense"}), 2),
        (read(doc! {"level": "snapshot"}), 123),
        (read(doc! {"level": "linearizable"}), 123),
        (read(doc! {"Level": "local"}), 40415),
        (read(doc! {"provenance": "nonsense"}), 2),
        (read(doc! {"provenance": 1}), 14),
        (read(Map::from([("afterClusterTime", Value::Null)])), 14),
        (read(Map::from([("afterClusterTime", null)])), 72),
        (read(Map::from([("afterClusterTime", past)])), 20),
        (write(doc! {"w": 0}), 0),
        (write(doc! {"w": 1.5}), 0),
        (write(doc! {"w": 2}), 2),
        (write(doc! {"w": "nonsense"}), 2),
        (write(doc! {"w": 51}), 9),
        (write(doc! {"j": "x"}), 14),
        (write(doc! {"W": 1}), 40415),
        (doc! {"ping": 1, "writeConcern": {"w": 1}}, 72),
        (doc! {"ping": 1, "readConcern": {"level": "majority"}}, 72),
        (doc! {"compact": "pets", "writeConcern": {}}, 72),
    ];
    check(&alone(), "zoo", cases);
    // The only member of a set carries out the write, and reports that no other member exists.
    let reply = reply(&server(), doc! {"insert": "pets", "documents": [{}], "writeConcern": {"w": 2}, "$db": "zoo"});
    assert!(reply.contains("writeConcernError"), "{reply}");
}

#[test]
fn unknown_fields_and_wrong_names() {
    let uuid = |subtype| Value::Binary(Binary { subtype, bytes: vec![7; 16] });
    let with_uuid = Map::from([("ns", Value::from("zoo.pets")), ("collectionUUID", uuid(4))]);
    let cases = [
        (doc! {"find": "pets", "nonsense": 1}, 40415),
        (doc! {"createUser": "a", "pwd": "b", "roles": [], "pwdd": "c"}, 40415),
        (doc! {"updateUser": "a", "password": "c"}, 40415),
        (doc! {"createRole": "a", "privileges": [], "roles": [], "nonsense": 1}, 40415),
        (doc! {"grantRolesToUser": "a", "roles": [], "nonsense": 1}, 40415),
        (doc! {"dropUser": "a", "writeConcern": {"w": 1}, "nonsense": 1}, 40415),
        (doc! {"usersInfo": 1, "nonsense": 1}, 40415),
        (doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1"}], "nonsense": 1}, 40415),
        (doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1"}], "v": 2}, 0),
        (doc! {"dropIndexes": "pets", "index": "*", "nonsense": 1}, 40415),
        (doc! {"find": 1}, 73),
        (doc! {"find": "pets", "filter": null}, 14),
        (doc! {"find": "pets", "skip": (-1)}, 2),
        (doc! {"find": "pets", "limit": 1.9}, 0),
        (doc! {"insert": 1, "documents": [{}]}, 73),
        (doc! {"insert": "pets", "documents": [{}], "ordered": 1}, 14),
        (doc! {"update": "pets", "updates": [{"q": {}, "u": "x"}]}, 9),
        (doc! {"update": "pets", "updates": [{"q": {}, "u": {}, "nonsense": 1}]}, 40415),
        (doc! {"delete": "pets", "deletes": [{"q": {}, "limit": 1, "nonsense": 1}]}, 40415),
        (doc! {"findAndModify": "pets", "update": 1}, 9),
        (doc! {"findAndModify": "pets", "remove": true, "hint": 1}, 9),
        (doc! {"killSessions": [null]}, 0),
        (doc! {"killSessions": [{"other": 1}]}, 40415),
        (Map::from([("killSessions", Value::Array(vec![Map::from([("id", uuid(3))]).into()]))]), 14),
        (doc! {"killAllSessions": [{"user": "a"}]}, 40414),
        (doc! {"killAllSessions": [{"user": "a", "db": "b"}]}, 0),
        (doc! {"killAllSessions": null}, 40414),
        (doc! {"compact": "nothing"}, 26),
        (doc! {"compact": "pets", "freeSpaceTargetMB": 0.5}, 2),
        (doc! {"compact": "pets", "dryRun": 1}, 14),
        (Map::from([("insert", "pets".into()), ("documents", doc! {}.into()), ("collectionUUID", uuid(4))]), 14),
        (Map::from([("find", Value::from("pets")), ("comment", uuid(4))]), 0),
    ];
    check(&alone(), "zoo", cases);
    let operations = |operation: Map| {
        let ops = Value::Array(vec![operation.into()]);
        Map::from([
            ("bulkWrite", Value::Int32(1)),
            ("ops", ops),
            ("nsInfo", vec![doc! {"ns": "zoo.pets"}.into()].into()),
        ])
    };
    let cases = [
        (operations(doc! {"insert": 0, "document": {}}), 0),
        (operations(doc! {"insert": 0, "document": null}), 40414),
        (operations(doc! {"update": 0, "filter": {}, "updateMods": 1}), 9),
        (operations(doc! {"update": 0, "filter": {}, "updateMods": {}, "multi": 1}), 14),
        (operations(doc! {"delete": 0, "filter": {}, "hint": 1}), 9),
        (operations(doc! {"nonsense": 0}), 40415),
        (doc! {"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": 1}]}, 14),
    ];
    let shared = alone();
    check(&shared, "admin", cases);
    let ops = vec![doc! {"insert": 0, "document": {}}.into()];
    let body = Map::from([
        ("bulkWrite", Value::Int32(1)),
        ("ops", Value::Array(ops)),
        ("nsInfo", Value::Array(vec![with_uuid.into()])),
        ("$db", Value::from("admin")),
    ]);
    let reply = reply(&shared, body);
    assert_eq!(reply.get("nErrors"), Some(&Value::Int32(1)), "{reply}");
}

#[test]
fn stages_of_the_server() {
    let stage = |collection: Value, stages: Value| {
        Map::from([("aggregate", collection), ("pipeline", stages), ("cursor", Value::Map(Map::new()))])
    };
    let of_database = |stages: Value| stage(Value::Int32(1), stages);
    let of_collection = |stages: Value| stage(Value::from("pets"), stages);
    let one = |name: &str, operand: Value| Value::Array(vec![Map::from([(name, operand)]).into()]);
    let shared = alone();
    let catalog = |operand: Map| of_database(one("$listClusterCatalog", operand.into()));
    let sessions = |operand: Map| of_database(one("$listLocalSessions", operand.into()));
    let figures = |operand: Map| of_collection(one("$collStats", operand.into()));
    let facet = |name: &str| one("$facet", Map::from([("x", one(name, doc! {}.into()))]).into());
    check(
        &shared,
        "zoo",
        [
            (catalog(doc! {}), 0),
            (catalog(doc! {"shards": 1}), 14),
            (catalog(doc! {"Shards": true}), 40415),
            (of_database(one("$listClusterCatalog", Value::Null)), 9_621_302),
            (of_collection(one("$listClusterCatalog", doc! {}.into())), 9_621_301),
            (of_collection(facet("$listClusterCatalog")), 9_621_301),
            (sessions(doc! {}), 0),
            (sessions(doc! {"allUsers": 1}), 14),
            (sessions(doc! {"allUsers": true, "users": [{"user": "a", "db": "b"}]}), 12),
            (sessions(doc! {"users": [{"user": "a"}]}), 40414),
            (sessions(doc! {"users": [{"user": "a", "db": "b", "c": 1}]}), 40415),
            (of_collection(one("$listLocalSessions", doc! {}.into())), 73),
            (of_collection(one("$planCacheStats", doc! {}.into())), 0),
            (of_collection(one("$planCacheStats", doc! {"allHosts": 1}.into())), 13111),
            (of_collection(one("$planCacheStats", doc! {"allHosts": true}.into())), 4_503_200),
            (of_collection(one("$planCacheStats", doc! {"other": true}.into())), 9),
            (of_collection(facet("$planCacheStats")), 40600),
            (of_collection(facet("$querySettings")), 40600),
            (of_collection(one("$querySettings", doc! {}.into())), 73),
            (of_database(one("$querySettings", Value::from(1))), 7_746_800),
            (of_database(one("$currentOp", doc! {}.into())), 73),
            (figures(doc! {"count": {}, "storageStats": {}, "latencyStats": {}, "queryExecStats": {}}), 0),
            (figures(doc! {"count": 1}), 14),
            (figures(doc! {"count": {"x": 1}}), 31170),
            (figures(doc! {"latencyStats": {"histograms": 1}}), 14),
            (figures(doc! {"latencyStats": {"other": true}}), 40415),
            (figures(Map::from([("storageStats", Value::Map(Map::from([("scale", decimal("0.5"))])))])), 2),
        ],
    );
    let operations = |operand: Map| of_database(one("$currentOp", operand.into()));
    let behind = Value::Array(vec![doc! {"$currentOp": {}}.into(), doc! {"$currentOp": {}}.into()]);
    check(
        &shared,
        "admin",
        [
            (operations(doc! {"idleConnections": true, "idleCursors": true, "truncateOps": true}), 0),
            (operations(doc! {"allUsers": null}), 14),
            (operations(doc! {"other": true}), 40415),
            (operations(doc! {"targetAllNodes": true}), 9),
            (of_database(behind), 40602),
        ],
    );
}

#[test]
fn administration() {
    let images = |value: Value| {
        let expiry = Map::from([("expireAfterSeconds", value)]);
        doc! {"setClusterParameter": {"changeStreamOptions": {"preAndPostImages": (Value::Map(expiry))}}}
    };
    let shared = alone();
    let cases = [
        (doc! {"fsync": 1, "lock": "x"}, 14),
        (doc! {"fsync": 1, "bogus": 1}, 40415),
        (doc! {"fsync": 1, "writeConcern": {}}, 72),
        (doc! {"fsync": 1, "lock": true}, 0),
        (doc! {"lockInfo": 1}, 0),
        (doc! {"fsyncUnlock": 1}, 0),
        (doc! {"fsyncUnlock": 1}, 20),
        (doc! {"autoCompact": 1}, 14),
        (doc! {"autoCompact": true, "freeSpaceTargetMB": 0}, 2),
        (doc! {"autoCompact": true, "freeSpaceTargetMB": 8_796_093_022_208_i64}, 2),
        (doc! {"autoCompact": true, "freeSpaceTargetMB": 30}, 0),
        (doc! {"autoCompact": true, "freeSpaceTargetMB": 50}, 23),
        (doc! {"autoCompact": false}, 0),
        (doc! {"setFeatureCompatibilityVersion": "8.2"}, 7_369_100),
        (doc! {"setFeatureCompatibilityVersion": "8.2", "confirm": true}, 0),
        (doc! {"setFeatureCompatibilityVersion": "8", "confirm": true}, 4_926_900),
        (doc! {"setParameter": 1}, 72),
        (doc! {"setParameter": 1, "logLevel": 2, "nonsense": 1}, 72),
        (doc! {"setParameter": 1, "featureCompatibilityVersion": "8.0"}, 20),
        (doc! {"setClusterParameter": {}}, 4),
        (images(Value::from("off")), 0),
        (images(Value::from(0)), 2),
        (doc! {"getClusterParameter": "*"}, 0),
        (doc! {"getClusterParameter": "nonsense"}, 4),
        (doc! {"logRotate": "server"}, 0),
        (doc! {"logRotate": "audit"}, 4),
        (doc! {"logRotate": null}, 14),
        (doc! {"dropConnections": 1, "hostAndPort": ["a:1", "[::1]:2", "b", null]}, 0),
        (doc! {"dropConnections": 1, "hostAndPort": ["a:0"]}, 9),
        (doc! {"dropConnections": 1, "hostAndPort": [1]}, 14),
        (doc! {"dropConnections": 1}, 40414),
        (doc! {"killOp": 1}, 4),
        (doc! {"killOp": 1, "op": 1.5}, 2),
        (doc! {"rotateCertificates": 1}, 0),
    ];
    check(&shared, "admin", cases);
    let reply =
        reply(&shared, doc! {"getParameter": 1, "logLevel": 1, "featureCompatibilityVersion": 1, "$db": "admin"});
    assert_eq!(reply.get("logLevel"), Some(&Value::Int32(0)), "a command that fails sets nothing: {reply}");
    assert_eq!(reply.get("featureCompatibilityVersion"), Some(&doc! {"version": "8.2"}.into()));
}

#[test]
fn indexes_that_queries_may_use() {
    let shared = alone();
    // With this number of documents, a scan costs more than the index.
    let documents = (10..1_000).map(|number| doc! {"_id": (number), "a": (number)});
    shared.db.collection("zoo.pets").insert_many(documents).expect("documents");
    let index = doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1"}]};
    let change = |index: Map| Map::from([("collMod", Value::from("pets")), ("index", Value::Map(index))]);
    let cases = [
        (index, 0),
        (change(doc! {"name": "a_1"}), 72),
        (change(doc! {"name": "a_1", "keyPattern": {"a": 1}, "hidden": true}), 72),
        (change(doc! {"name": "other", "hidden": true}), 27),
        (change(doc! {"name": "_id_", "hidden": true}), 2),
        (change(doc! {"name": "a_1", "hidden": "x"}), 14),
        (change(doc! {"name": "a_1", "other": 1}), 40415),
        (change(doc! {"keyPattern": {"a": 1}, "hidden": true}), 0),
        (doc! {"find": "pets", "hint": "a_1"}, 2),
        (change(doc! {"name": "a_1", "hidden": false, "expireAfterSeconds": 100}), 0),
        (doc! {"find": "pets", "hint": "a_1"}, 0),
        (doc! {"planCacheSetFilter": "pets", "query": {"a": 1}, "indexes": []}, 2),
        (doc! {"planCacheSetFilter": "pets", "query": {"a": 1}, "indexes": ["none"]}, 0),
        (doc! {"planCacheListFilters": ""}, 73),
    ];
    check(&shared, "zoo", cases);
    let plan = |value: i32| {
        let query = doc! {"find": "pets", "filter": {"a": (value)}};
        let reply = reply(&shared, doc! {"explain": (Value::Map(query)), "verbosity": "queryPlanner", "$db": "zoo"});
        reply.get("queryPlanner").map(Value::to_string).unwrap_or_default()
    };
    assert!(!plan(7).contains("IXSCAN"), "{}", plan(7));
    check(&shared, "zoo", [(doc! {"planCacheClearFilters": "pets"}, 0)]);
    assert!(plan(7).contains("IXSCAN"), "{}", plan(7));
}
