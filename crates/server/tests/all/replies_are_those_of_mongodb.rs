//! Replies that drivers and programs read, field by field.

use crate::common::{Client, MORE_TO_COME, OP_MSG, Running};
use alluvium::{Binary, Map, Timestamp, Value, doc};

#[test]
fn lists_with_filters_may_contain_rules_and_pipelines() {
    let server = Running::new();
    let mut client = server.client();
    let rules = doc! {"$jsonSchema": {"required": ["name"]}};
    client.ok("zoo", doc! {"create": "checked", "validator": (rules.clone())});
    client.ok("zoo", doc! {"create": "view", "viewOn": "checked", "pipeline": [{"$match": {"a": 1}}]});
    for (name, kind) in [("checked", "collection"), ("view", "view")] {
        let found = client.documents("zoo", doc! {"listCollections": 1, "filter": {"name": name}});
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].get("type"), Some(&Value::from(kind)));
    }
}

#[test]
fn duplicates_are_described() {
    let server = Running::new();
    let mut client = server.client();
    client
        .ok("zoo", doc! {"createIndexes": "pets", "indexes": [{"key": {"name": 1}, "name": "name_1", "unique": true}]});
    let documents = doc! {"insert": "pets", "documents": [{"_id": 1, "name": "rex"}, {"_id": 2, "name": "rex"}]};
    let reply = client.ok("zoo", documents);
    let Some(Value::Array(errors)) = reply.get("writeErrors") else { panic!("{reply}") };
    let message = "E11000 duplicate key error collection: zoo.pets index: name_1 dup key: { name: \"rex\" }";
    let expected = doc! {
        "index": 1, "code": 11000, "errmsg": message, "keyPattern": {"name": 1}, "keyValue": {"name": "rex"}
    };
    assert_eq!(errors, &[Value::Map(expected)]);
}

#[test]
fn an_operation_is_found_by_its_comment() {
    let server = Running::new();
    let mut client = server.client();
    let stages = doc! {"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}, "comment": "find me"};
    let running = client.documents("admin", stages);
    let commented = running.iter().filter_map(|operation| operation.get("command").and_then(Value::as_map));
    assert_eq!(commented.filter(|command| command.get("comment") == Some(&Value::from("find me"))).count(), 1);
}

#[test]
fn a_connection_continues_after_errors_and_silence() {
    let server = Running::new();
    let mut client = server.client();
    let hello = client.query("admin", &doc! {"isMaster": 1, "helloOk": true});
    assert_eq!(hello.get("ismaster"), Some(&Value::Bool(true)));
    client.fails(59, "zoo", doc! {"nonsense": 1});
    client.fails(14, "zoo", doc! {"find": "pets", "filter": 1});
    let silent = doc! {"insert": "pets", "writeConcern": {"w": 0}};
    client.send("zoo", silent, &[("documents", &[doc! {"_id": 1}, doc! {"_id": 1}])], MORE_TO_COME);
    assert_eq!(client.documents("zoo", doc! {"find": "pets"}), [doc! {"_id": 1}]);
    // A document that is not valid BSON is refused. A message with an unknown section ends the connection.
    client.send_raw(OP_MSG, &[0, 0, 0, 0, 0, 7, 0, 0, 0, 99, 0, 0]);
    assert_eq!(client.reply().get("code"), Some(&Value::Int32(22)));
    client.ok("admin", Map::from([("ping", Value::Int32(1))]));
    client.send_raw(OP_MSG, &[0, 0, 0, 0, 9]);
    assert!(client.is_closed());
}

#[test]
fn a_server_of_its_own_reads_no_snapshots() {
    let server = Running::with(alluvium_server::Config { replica_set: None, ..Default::default() });
    let mut client = server.client();
    client.fails(123, "zoo", doc! {"find": "pets", "readConcern": {"level": "snapshot"}});
    client.ok("zoo", doc! {"find": "pets", "readConcern": {"level": "majority"}});
}

#[test]
fn a_command_that_fails_reports_its_write_concern_too() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("zoo", doc! {"create": "pets"});
    client.ok("zoo", doc! {"create": "others"});
    let rename = doc! {"renameCollection": "zoo.pets", "to": "zoo.others", "writeConcern": {"w": 2}};
    let reply = client.fails(48, "admin", rename);
    let error = reply.get("writeConcernError").and_then(Value::as_map).expect("an error");
    assert_eq!(error.get("code"), Some(&Value::Int32(100)));
}

#[test]
fn an_update_by_an_unknown_stage_fails_as_a_whole() {
    let server = Running::new();
    let mut client = server.client();
    let unknown = doc! {"update": "pets", "updates": [{"q": {}, "u": [{"$nonsense": true}]}]};
    client.fails(40324, "zoo", unknown);
    let wrong = doc! {"update": "pets", "updates": [{"q": {}, "u": {"$nonsense": {"a": 1}}}]};
    assert!(client.ok("zoo", wrong).contains("writeErrors"));
}

#[test]
fn an_insert_fills_empty_timestamps() {
    let server = Running::new();
    let mut client = server.client();
    let empty = || Value::Timestamp(Timestamp { time: 0, increment: 0 });
    let documents = || doc! {"insert": "times", "documents": [{"at": (empty()), "in": {"at": (empty())}, "n": 1}]};
    client.ok("zoo", documents());
    let mut kept = documents();
    kept.push("bypassEmptyTsReplacement", true);
    client.ok("zoo", kept);
    let found = client.documents("zoo", doc! {"find": "times"});
    let filled = found.iter().filter(|map| matches!(map.get("at"), Some(Value::Timestamp(at)) if at.time > 0)).count();
    assert_eq!((found.len(), filled), (2, 1));
    assert!(found.iter().all(|map| map.get("in") == Some(&Value::Map(doc! {"at": (empty())}))));
}

#[test]
fn options_of_collections_are_checked() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("zoo", doc! {"create": "pets", "idIndex": {"key": {"_id": 1}, "name": "x", "v": 2}});
    client.ok("zoo", doc! {"create": "view", "viewOn": "pets", "pipeline": [null, {"$limit": 1}]});
    let refused = [
        (40415, doc! {"create": "x", "other": 1}),
        (73, doc! {"create": 1}),
        (48, doc! {"create": "view"}),
        (2, doc! {"create": "x", "viewOn": ""}),
        (14, doc! {"create": "x", "viewOn": "pets", "pipeline": [1]}),
        (2, doc! {"create": "x", "idIndex": {"key": {"a": 1}, "name": "_id_"}}),
        (197, doc! {"create": "x", "idIndex": {"key": {"_id": 1}, "name": "_id_", "unique": true}}),
        (72, doc! {"create": "x", "viewOn": "pets", "idIndex": {"key": {"_id": 1}, "name": "_id_"}}),
        (40414, doc! {"create": "x", "collation": {}}),
        (2, doc! {"create": "x", "collation": {"locale": "en", "strength": 6}}),
        (72, doc! {"create": "x", "expireAfterSeconds": 1}),
        (72, doc! {"create": "x", "storageEngine": {"other": {}}}),
        (2, doc! {"create": "x", "storageEngine": {"wiredTiger": {"configString": "no=1"}}}),
        (72, doc! {"collMod": "pets", "dryRun": true}),
        (72, doc! {"collMod": "pets", "expireAfterSeconds": 1}),
        (5_255_100, doc! {"dropDatabase": 2}),
        (14, doc! {"dropDatabase": true}),
    ];
    for (code, command) in refused {
        client.fails(code, "zoo", command);
    }
    let engine = "block_compressor=zlib,log=(enabled,a=b),\"type\"=file";
    client.ok("zoo", doc! {"create": "x", "storageEngine": {"wiredTiger": {"configString": engine}}});
}

#[test]
fn a_rename_replaces_the_collection_that_the_client_means() {
    let server = Running::new();
    let mut client = server.client();
    for name in ["pets", "others"] {
        client.ok("zoo", doc! {"create": name});
    }
    client.ok("zoo", doc! {"create": "view", "viewOn": "pets", "pipeline": []});
    let uuid_of = |client: &mut Client, name: &str| {
        let list = client.ok("zoo", doc! {"listCollections": 1, "filter": {"name": name}});
        let batch = list.get("cursor").and_then(|cursor| cursor.as_map()?.get("firstBatch")?.as_array());
        let info = batch.and_then(|batch| batch.first()?.as_map()?.get("info")?.as_map()?.get("uuid").cloned());
        info.expect("a UUID")
    };
    let rename = |to: &str, target: Value| doc! {"renameCollection": "zoo.pets", "to": to, "dropTarget": target};
    let (pets, others) = (uuid_of(&mut client, "pets"), uuid_of(&mut client, "others"));
    let binary = |subtype, len| Value::Binary(Binary { subtype, bytes: vec![0; len] });
    client.fails(14, "admin", rename("zoo.others", Value::Int32(1)));
    client.fails(207, "admin", rename("zoo.others", binary(3, 16)));
    client.fails(207, "admin", rename("zoo.others", binary(4, 8)));
    client.fails(361, "admin", rename("zoo.others", binary(4, 16)));
    client.fails(361, "admin", rename("zoo.others", pets.clone()));
    client.fails(72, "admin", rename("ark.others", others.clone()));
    client.fails(48, "admin", rename("zoo.others", Value::Bool(false)));
    client.fails(48, "admin", rename("zoo.view", Value::Bool(true)));
    for to in ["zoo.system.views", "zoo.a$", "local.oplog.rs"] {
        client.fails(20, "admin", rename(to, Value::Bool(false)));
    }
    client.fails(
        361,
        "admin",
        doc! {"renameCollection": "zoo.pets", "to": "zoo.x", "collectionUUID": (others.clone())},
    );
    client.fails(40415, "admin", doc! {"renameCollection": "zoo.pets", "to": "zoo.x", "collection": 1});
    client.ok("admin", rename("zoo.others", others));
    assert_eq!(uuid_of(&mut client, "others"), pets);
}

#[test]
fn lists_have_what_every_server_has() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("zoo", doc! {"create": "pets"});
    let names = |client: &mut Client, list: Map, field: &str| {
        let reply = client.ok(if field == "databases" { "admin" } else { "zoo" }, list);
        let list = match field {
            "databases" => reply.get(field).cloned(),
            _ => reply.get("cursor").and_then(|cursor| cursor.as_map()?.get("firstBatch").cloned()),
        };
        let list = list.as_ref().and_then(Value::as_array).expect("a list").to_vec();
        list.iter().filter_map(|entry| Some(entry.as_map()?.get("name")?.as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let databases = names(&mut client, doc! {"listDatabases": 1}, "databases");
    assert_eq!(databases, ["admin", "config", "local", "zoo"]);
    assert_eq!(
        names(&mut client, doc! {"listDatabases": 1, "filter": {"empty": false}}, "databases")
            .last()
            .map(String::as_str),
        Some("zoo")
    );
    assert_eq!(names(&mut client, doc! {"listCollections": 1}, "cursor"), ["pets"]);
    client.ok("zoo", doc! {"create": "view", "viewOn": "pets", "pipeline": []});
    assert_eq!(names(&mut client, doc! {"listCollections": 1}, "cursor"), ["pets", "system.views", "view"]);
    for (code, wrong) in [
        (14, doc! {"listCollections": 1, "nameOnly": 1}),
        (14, doc! {"listCollections": 1, "cursor": {"batchSize": "2"}}),
        (40415, doc! {"listCollections": 1, "cursor": {"size": 2}}),
        (40415, doc! {"listCollections": 1, "names": true}),
    ] {
        client.fails(code, "zoo", wrong);
    }
    client.fails(73, "zoo", doc! {"create": "v", "viewOn": "pets", "pipeline": [{"$documents": []}]});
}
