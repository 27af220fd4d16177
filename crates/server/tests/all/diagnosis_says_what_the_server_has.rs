//! Commands about the contents of a server, and commands that change how the server works.

use crate::common::{Client, Running};
use alluvium::{Map, Value, doc};
use alluvium_server::Config;

fn alone() -> Running {
    Running::with(Config { replica_set: None, ..Config::default() })
}

/// The value at a path of field names.
fn at<'a>(reply: &'a Map, path: &[&str]) -> &'a Value {
    let (first, rest) = path.split_first().expect("a path");
    let value = reply.get(first).unwrap_or_else(|| panic!("no {first} in {reply}"));
    if rest.is_empty() { value } else { at(value.as_map().expect("a document"), rest) }
}

fn hash(client: &mut Client, db: &str, collection: &str) -> Value {
    at(&client.ok(db, doc! {"dbHash": 1}), &["collections", collection]).clone()
}

#[test]
fn hashes_are_of_the_documents_in_the_order_of_their_ids() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("a", doc! {"insert": "pets", "documents": [{"_id": 1, "n": "rex"}, {"_id": 2}]});
    client.ok("b", doc! {"insert": "pets", "documents": [{"_id": 2}, {"_id": 1, "n": "rex"}]});
    assert_eq!(hash(&mut client, "a", "pets"), hash(&mut client, "b", "pets"));
    let before = client.ok("b", doc! {"dbHash": 1});
    client.ok("b", doc! {"update": "pets", "updates": [{"q": {"_id": 2}, "u": {"$set": {"n": "tom"}}}]});
    let after = client.ok("b", doc! {"dbHash": 1});
    assert_ne!(before.get("md5"), after.get("md5"));
    assert_eq!(before.get("uuids"), after.get("uuids"));
    // The MD5 of the document {_id: 1} as BSON.
    client.ok("c", doc! {"insert": "one", "documents": [{"_id": 1}]});
    client.ok("c", doc! {"create": "view", "viewOn": "one", "pipeline": []});
    client.ok("c", doc! {"create": "log", "capped": true, "size": 4096});
    let reply = client.ok("c", doc! {"dbHash": 1, "collections": ["one"]});
    assert_eq!(at(&reply, &["collections", "one"]), &Value::from("ac31f467545a7db3022b1c5083a9a0a0"));
    let reply = client.ok("c", doc! {"dbHash": 1});
    let names: Vec<&str> =
        at(&reply, &["collections"]).as_map().unwrap().iter().map(|(name, _)| name.as_str().unwrap()).collect();
    assert_eq!(names, ["log", "one", "system.views"]);
    assert_eq!(reply.get("capped"), Some(&Value::Array(vec!["log".into()])));
    client.fails(2, "c", doc! {"dbHash": 1, "collections": [1]});
}

#[test]
fn the_use_of_collections_is_counted() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}]});
    let reply = client.ok("zoo", doc! {"find": "pets", "batchSize": 1});
    let id = at(&reply, &["cursor", "id"]).clone();
    client.ok("zoo", doc! {"getMore": id, "collection": "pets"});
    client.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {"_id": 1}, "limit": 1}]});
    client.ok("zoo", doc! {"count": "pets"});
    let reply = client.ok("admin", doc! {"top": 1});
    for (what, count) in [("insert", 1), ("queries", 1), ("getmore", 1), ("remove", 1), ("commands", 1), ("total", 5)] {
        assert_eq!(at(&reply, &["totals", "zoo.pets", what, "count"]), &Value::Int64(count), "{what}");
    }
    assert_eq!(at(&reply, &["totals", "zoo.pets", "readLock", "count"]), &Value::Int64(3));
    assert_eq!(at(&reply, &["totals", "zoo.pets", "writeLock", "count"]), &Value::Int64(2));
}

#[test]
fn sizes_are_of_ranges_too() {
    let server = Running::new();
    let mut client = server.client();
    let documents: Vec<Value> = (0..100).map(|n| Value::Map(doc! {"_id": n, "n": n})).collect();
    client.ok("zoo", doc! {"insert": "pets", "documents": (Value::Array(documents))});
    client.ok("zoo", doc! {"createIndexes": "pets", "indexes": [{"key": {"n": 1}, "name": "n_1"}]});
    let all = client.ok("zoo", doc! {"dataSize": "zoo.pets"});
    // A document has a length of 4 bytes, 2 fields of 4 bytes with their types and names, and an end byte.
    assert_eq!((all.get("numObjects"), all.get("size")), (Some(&Value::Int64(100)), Some(&Value::Int64(100 * 21))));
    let range = |min: i32, max: i32| {
        doc! {"dataSize": "zoo.pets", "keyPattern": {"n": 1}, "min": {"n": min}, "max": {"n": max}}
    };
    for (min, max, count) in [(10, 30, 20), (5, 5, 0), (30, 10, 0), (90, 1000, 10)] {
        assert_eq!(client.ok("zoo", range(min, max)).get("numObjects"), Some(&Value::Int64(count)));
    }
    client.fails(96, "zoo", doc! {"dataSize": "zoo.pets", "min": {"x": 1}, "max": {"x": 2}});
    client.fails(2, "zoo", doc! {"dataSize": "zoo.pets", "min": {"n": 1}});
    let cut = client.ok("zoo", doc! {"dataSize": "zoo.pets", "maxObjects": 9});
    assert_eq!(cut.get("maxReached"), Some(&Value::Bool(true)));
}

#[test]
fn collections_are_validated_by_their_rules_too() {
    let server = alone();
    let mut client = server.client();
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "n": 1}, {"_id": 2, "n": "x"}]});
    client.ok("zoo", doc! {"createIndexes": "pets", "indexes": [{"key": {"n": 1}, "name": "n_1"}]});
    client.ok("zoo", doc! {"collMod": "pets", "validator": {"n": {"$type": "int"}}});
    let reply = client.ok("zoo", doc! {"validate": "pets", "full": true});
    for (path, expected) in [
        (["nrecords"].as_slice(), Value::Int32(2)),
        (&["valid"], Value::Bool(true)),
        (&["nNonCompliantDocuments"], Value::Int32(1)),
        (&["keysPerIndex", "_id_"], Value::Int32(2)),
        (&["keysPerIndex", "n_1"], Value::Int32(2)),
        (&["repairMode"], Value::from("None")),
    ] {
        assert_eq!(at(&reply, path), &expected, "{path:?}");
    }
    assert!(!client.ok("zoo", doc! {"validate": "pets", "metadata": true}).contains("nrecords"));
    client.fails(72, "zoo", doc! {"validate": "pets", "metadata": true, "full": true});
    client.fails(115, "zoo", doc! {"validate": "pets", "background": true});
    client.fails(26, "zoo", doc! {"validate": "$pets"});
    client.fails(73, "zoo", doc! {"validate": 1});
}

#[test]
fn explanations_have_the_shapes_of_queries() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "n": 1}, {"_id": 2, "n": 2}]});
    let mut explain = |command: Map| client.ok("zoo", doc! {"explain": (command)});
    let one = explain(doc! {"find": "pets", "filter": {"n": 1}});
    let other = explain(doc! {"find": "pets", "filter": {"n": 2}});
    for path in
        [["queryPlanner", "planCacheShapeHash"].as_slice(), &["queryPlanner", "planCacheKey"], &["queryShapeHash"]]
    {
        assert_eq!(at(&one, path), at(&other, path));
    }
    let matching = doc! {"aggregate": "pets", "pipeline": [{"$match": {"n": 3}}], "cursor": {}};
    let path = ["queryPlanner", "planCacheShapeHash"];
    assert_eq!(at(&explain(matching), &path), at(&one, &path));
    let delete = explain(doc! {"delete": "pets", "deletes": [{"q": {}, "limit": 0}]});
    assert_eq!(at(&delete, &["executionStats", "executionStages", "stage"]), &Value::from("DELETE"));
    assert_eq!(at(&delete, &["executionStats", "executionStages", "nWouldDelete"]), &Value::Int32(2));
    client.fails(20, "zoo", doc! {"explain": {"insert": "pets"}});
    client.fails(59, "zoo", doc! {"explain": {}});
}

#[test]
fn concerns_have_defaults() {
    let server = Running::new();
    let mut client = server.client();
    let implicit = client.ok("admin", doc! {"getDefaultRWConcern": 1});
    assert_eq!(implicit.get("defaultWriteConcernSource"), Some(&Value::from("implicit")));
    for (code, body) in [
        (2, doc! {"setDefaultRWConcern": 1}),
        (2, doc! {"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "snapshot"}}),
        (2, doc! {"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 0}}),
        (79, doc! {"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "tag"}}),
    ] {
        client.fails(code, "admin", body);
    }
    let set = doc! {
        "setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"}, "defaultWriteConcern": {"w": "majority"}
    };
    let first = client.ok("admin", set.clone());
    let second = client.ok("admin", set);
    assert_ne!(first.get("updateOpTime"), second.get("updateOpTime"));
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    assert_eq!(client.documents("zoo", doc! {"find": "pets"}).len(), 1);
    client.fails(20, "admin", doc! {"setDefaultRWConcern": 1, "defaultWriteConcern": {}});
    let unset = client.ok("admin", doc! {"setDefaultRWConcern": 1, "defaultReadConcern": {}});
    assert_eq!(unset.get("defaultReadConcernSource"), Some(&Value::from("implicit")));
    alone().client().fails(51300, "admin", doc! {"getDefaultRWConcern": 1});
}

#[test]
fn writes_of_users_can_be_blocked() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("admin", doc! {"setUserWriteBlockMode": 1, "global": true});
    client.ok("admin", doc! {"setUserWriteBlockMode": 1, "global": true});
    client.fails(371, "zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    client.fails(371, "zoo", doc! {"aggregate": "pets", "pipeline": [{"$out": "others"}], "cursor": {}});
    let bulk = doc! {"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "zoo.pets"}]};
    client.fails(371, "admin", bulk);
    client.ok("zoo", doc! {"find": "pets"});
    client.ok("admin", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    let other = doc! {"setUserWriteBlockMode": 1, "global": false, "reason": "DiskUseThresholdExceeded"};
    client.fails(20, "admin", other);
    client.ok("admin", doc! {"setUserWriteBlockMode": 1, "global": false});
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
}

#[test]
fn a_client_ends_the_server() {
    let server = Running::new();
    let mut client = server.client();
    client.fails(13, "zoo", doc! {"shutdown": 1});
    client.ok("admin", doc! {"shutdown": 1});
    assert!(client.is_closed());
}

#[test]
fn files_have_hashes() {
    let server = Running::new();
    let mut client = server.client();
    let bytes = |bytes: &[u8]| Value::Binary(alluvium::Binary { subtype: 0, bytes: bytes.to_vec() });
    let chunk = |n: i32, data: &[u8]| Value::Map(doc! {"_id": n, "files_id": 7, "n": n, "data": (bytes(data))});
    client.ok("zoo", doc! {"insert": "fs.chunks", "documents": (Value::Array(vec![chunk(1, b"c"), chunk(0, b"ab")]))});
    let reply = client.ok("zoo", doc! {"filemd5": 7, "root": "fs"});
    assert_eq!(reply.get("md5"), Some(&Value::from("900150983cd24fb0d6963f7d28e17f72")));
    assert_eq!(reply.get("numChunks"), Some(&Value::Int32(2)));
    client.ok("zoo", doc! {"insert": "fs.chunks", "documents": (Value::Array(vec![chunk(3, b"d")]))});
    client.fails(10040, "zoo", doc! {"filemd5": 7});
}

#[test]
fn what_the_stable_api_does_not_have_is_found() {
    let server = Running::new();
    let mut client = server.client();
    let index = doc! {"key": {"n": 1}, "name": "n_1", "sparse": true};
    client.ok("zoo", doc! {"createIndexes": "pets", "indexes": [(index)]});
    let strict = doc! {"validateDBMetadata": 1, "apiParameters": {"version": "1", "strict": true}};
    let reply = client.ok("admin", strict);
    let Some(Value::Array(errors)) = reply.get("apiVersionErrors") else { panic!("{reply}") };
    let message = "The index with name n_1 is not allowed in API version 1.";
    let expected = doc! {"ns": "zoo.pets", "code": 323, "codeName": "APIStrictError", "errmsg": message};
    assert_eq!(errors, &[Value::Map(expected)]);
    client.fails(40414, "admin", doc! {"validateDBMetadata": 1, "apiParameters": {}});
}

#[test]
fn indexes_are_built_again_and_have_no_quorum() {
    let server = alone();
    let mut client = server.client();
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "n": 1}]});
    let index = doc! {"key": {"n": 1}, "name": "n_1", "unique": true};
    client.ok("zoo", doc! {"createIndexes": "pets", "indexes": [(index)]});
    let before = client.documents("zoo", doc! {"listIndexes": "pets"});
    let reply = client.ok("zoo", doc! {"reIndex": "pets"});
    assert_eq!(reply.get("nIndexes"), Some(&Value::Int32(2)));
    assert_eq!(client.documents("zoo", doc! {"listIndexes": "pets"}), before);
    Running::new().client().fails(20, "zoo", doc! {"reIndex": "pets"});
    client.fails(27, "zoo", doc! {"setIndexCommitQuorum": "pets", "indexNames": ["n_1"], "commitQuorum": "majority"});
}

#[test]
fn the_only_member_of_a_set_stays_what_it_is() {
    let server = Running::new();
    let mut client = server.client();
    client.fails(262, "admin", doc! {"replSetStepDown": 60});
    client.ok("admin", doc! {"replSetStepDown": 60, "force": true});
    client.fails(95, "admin", doc! {"replSetFreeze": 60});
    client.fails(95, "admin", doc! {"replSetMaintenance": true});
    alone().client().fails(76, "admin", doc! {"replSetStepDown": 60});
}

#[test]
fn reads_have_a_time_limit_by_default() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("admin", doc! {"setClusterParameter": {"defaultMaxTimeMS": {"readOperations": 60_000}}});
    client.ok("zoo", doc! {"find": "pets"});
    let reply = client.ok("admin", doc! {"getClusterParameter": "defaultMaxTimeMS"});
    let Some(Value::Array(found)) = reply.get("clusterParameters") else { panic!("{reply}") };
    let expected = doc! {"_id": "defaultMaxTimeMS", "readOperations": (Value::Int64(60_000))};
    assert_eq!(found, &[Value::Map(expected)]);
    client.fails(2, "admin", doc! {"setClusterParameter": {"defaultMaxTimeMS": {"readOperations": -1}}});
}
