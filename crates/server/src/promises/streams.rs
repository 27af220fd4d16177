//! A change stream returns each change once, in the order of the cluster time, also after a restart.

mod options;

use super::{Connection, SECOND, World, batch, cursor_of, insert, lsid, with};
use crate::config::Config;
use crate::fields::Fields;
use crate::waits::Event;
use alluvium::{Map, Timestamp, Value, doc};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A change stream over a collection with options.
fn watch(options: Map) -> Map {
    stages(vec![Value::Map(doc! {"$changeStream": (Value::Map(options))})])
}

fn stages(stages: Vec<Value>) -> Map {
    doc! {"aggregate": "pets", "pipeline": (Value::Array(stages)), "cursor": {}}
}

/// The next batch of a stream; it does not wait.
fn more(id: i64) -> Map {
    doc! {"getMore": (Value::Int64(id)), "collection": "pets", "maxTimeMS": 0}
}

/// The token after which a stream continues behind a batch.
fn token(reply: &Map) -> Map {
    let cursor = reply.document("cursor").expect("a cursor");
    cursor.document("postBatchResumeToken").expect("a token").clone()
}

fn resume(token: Map) -> Map {
    watch(Map::from([("resumeAfter", Value::Map(token))]))
}

/// The token of an event.
fn id(event: &Map) -> Map {
    event.document("_id").expect("a token").clone()
}

fn time(event: &Map, field: &str) -> Timestamp {
    match event.get(field) {
        Some(Value::Timestamp(time)) => *time,
        other => panic!("{field} is {other:?}"),
    }
}

fn kinds(events: &[Map]) -> Vec<&str> {
    events.iter().filter_map(|event| event.text("operationType")).collect()
}

/// The `_id`s of the documents that events are about.
fn keys(events: &[Map]) -> Vec<i64> {
    events.iter().filter_map(|event| event.document("documentKey")?.integer("_id")).collect()
}

fn labels(reply: &Map) -> Vec<&str> {
    reply.elements("errorLabels").unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

fn synced(body: Map) -> Map {
    with(body, [("writeConcern", Value::Map(doc! {"w": "majority"}))])
}

/// An update of the document 1.
fn update(change: &str) -> Map {
    let change = alluvium_document::json::parse(change.as_bytes()).expect("an update");
    doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": (change)}]}
}

/// All events after a token, at a new connection to a server.
fn events_after(world: &World, token: &Map) -> Vec<Map> {
    batch(&world.connect().ok("zoo", resume(token.clone())))
}

#[test]
fn each_change_is_an_event_with_the_time_of_its_write() {
    let world = World::new();
    let connection = world.connect();
    let whole = doc! {"aggregate": 1, "pipeline": [{"$changeStream": {"fullDocument": "updateLookup"}}], "cursor": {}};
    let stream = cursor_of(&connection.ok("zoo", whole));
    let rename = doc! {"renameCollection": "zoo.pets", "to": "zoo.beasts"};
    let writes = [
        ("zoo", insert(1)),
        ("zoo", update(r#"{"$set": {"age": 3}}"#)),
        ("zoo", update(r#"{"$unset": {"age": 1}}"#)),
        ("zoo", update(r#"{"name": "rex"}"#)),
        ("zoo", doc! {"delete": "pets", "deletes": [{"q": {"_id": 1}, "limit": 1}]}),
        ("admin", rename),
        ("zoo", doc! {"drop": "beasts"}),
    ];
    let mut times = Vec::new();
    for (db, write) in writes {
        world.clock.advance(SECOND / 3);
        times.push(time(&connection.ok(db, write), "operationTime"));
    }
    connection.ok("shop", insert(9));
    let batch = batch(&connection.ok(
        "zoo",
        with(
            doc! {"getMore": (Value::Int64(stream))},
            [("collection", Value::from("$cmd.aggregate")), ("maxTimeMS", Value::from(0))],
        ),
    ));
    let (pets, key) = (doc! {"db": "zoo", "coll": "pets"}, doc! {"_id": 1});
    let of_pet = |kind: &str| doc! {"operationType": kind, "ns": (pets.clone()), "documentKey": (key.clone())};
    let updated = |fields: Map, removed: Vec<Value>| {
        let removed = Value::Array(removed);
        let description = doc! {"updatedFields": (fields), "removedFields": (removed), "truncatedArrays": []};
        with(of_pet("update"), [("fullDocument", Value::Null), ("updateDescription", Value::Map(description))])
    };
    let whole = |kind: &str, document: Map| with(of_pet(kind), [("fullDocument", Value::Map(document))]);
    let expected = [
        whole("insert", doc! {"_id": 1}),
        updated(doc! {"age": 3}, Vec::new()),
        updated(doc! {}, vec![Value::from("age")]),
        whole("replace", doc! {"_id": 1, "name": "rex"}),
        of_pet("delete"),
        doc! {"operationType": "rename", "ns": (pets.clone()), "to": {"db": "zoo", "coll": "beasts"}},
        doc! {"operationType": "drop", "ns": {"db": "zoo", "coll": "beasts"}},
    ];
    assert_eq!(batch.len(), expected.len(), "{batch:?}");
    for ((event, expected), written) in batch.iter().zip(expected).zip(times) {
        assert_eq!(time(event, "clusterTime"), written, "{event}");
        let mut rest = event.clone();
        let added = ["_id", "clusterTime", "wallTime"];
        assert!(added.iter().all(|field| rest.remove(field).is_some()), "{event}");
        assert_eq!(rest.entries.len(), expected.entries.len(), "{event}");
        assert!(expected.iter().all(|(name, value)| rest.get(name.as_str().unwrap()) == Some(value)), "{event}");
    }
}

#[test]
fn a_stream_over_everything_and_one_with_stages() {
    let world = World::new();
    let connection = world.connect();
    let everything =
        doc! {"aggregate": 1, "pipeline": [{"$changeStream": {"allChangesForCluster": true}}], "cursor": {}};
    let all = token(&connection.ok("admin", everything));
    let filter = doc! {"$match": {"documentKey._id": {"$gt": 1}}};
    let project = doc! {"$project": {"documentKey": 1}};
    let first = Value::Map(doc! {"$changeStream": {}});
    let some = connection.ok("zoo", stages(vec![first, Value::Map(filter), Value::Map(project)]));
    for n in 1..4 {
        connection.ok("zoo", insert(n));
        connection.ok("shop", insert(n + 10));
    }
    let found = batch(&connection.ok("zoo", more(cursor_of(&some))));
    assert_eq!(keys(&found), [2, 3]);
    assert!(found.iter().all(|event| event.entries.len() == 2), "{found:?}");
    let stage = Map::from([("allChangesForCluster", Value::from(true)), ("startAfter", Value::Map(all))]);
    let again = doc! {"aggregate": 1, "pipeline": [{"$changeStream": (Value::Map(stage))}], "cursor": {}};
    assert_eq!(keys(&batch(&connection.ok("admin", again))), [1, 11, 2, 12, 3, 13]);
}

#[test]
fn streams_are_resumed_across_restarts_with_the_same_times() {
    let world = World::new();
    let connection = world.connect();
    let opened = connection.ok("zoo", watch(doc! {}));
    let mut times = Vec::new();
    for n in 1..5 {
        world.clock.advance(SECOND * 40);
        times.push(time(&connection.ok("zoo", synced(insert(n))), "operationTime"));
    }
    let read = batch(&connection.ok("zoo", more(cursor_of(&opened))));
    assert_eq!(keys(&read), [1, 2, 3, 4]);
    let empty = token(&connection.ok("zoo", more(cursor_of(&opened))));
    // This write is lost by a power cut.
    connection.ok("zoo", insert(5));
    for (next, last) in [(world.after_a_kill(), vec![5]), (world.after_a_cut(), Vec::new())] {
        let all = events_after(&next, &token(&opened));
        assert_eq!(keys(&all)[..4], [1, 2, 3, 4]);
        assert_eq!(all[..4], read[..], "the events are the same");
        assert_eq!(keys(&events_after(&next, &id(&read[1]))), [vec![3, 4], last.clone()].concat());
        assert_eq!(keys(&events_after(&next, &empty)), last, "a token of an empty batch");
        for (n, time) in times.iter().enumerate() {
            let at = watch(Map::from([("startAtOperationTime", Value::Timestamp(*time))]));
            let found = batch(&next.connect().ok("zoo", at));
            assert_eq!(keys(&found)[0], n as i64 + 1, "the write with the time is included");
        }
        next.connect().ok("zoo", insert(6));
        assert_eq!(keys(&events_after(&next, &empty)), [last, vec![6]].concat());
    }
}

#[test]
fn a_stream_may_begin_in_the_future() {
    let world = World::new();
    let connection = world.connect();
    let now = time(&connection.ok("zoo", insert(1)), "operationTime");
    let later = Timestamp { time: now.time + 100, increment: 1 };
    let opened = connection.ok("zoo", watch(Map::from([("startAtOperationTime", Value::Timestamp(later))])));
    connection.ok("zoo", insert(2));
    world.clock.advance(SECOND * 101);
    connection.ok("zoo", insert(3));
    assert_eq!(keys(&batch(&connection.ok("zoo", more(cursor_of(&opened))))), [3]);
}

#[test]
fn events_of_a_transaction_have_one_time() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"create": "pets"});
    let opened = connection.ok("zoo", watch(doc! {}));
    let within =
        |body: Map| with(body, [("lsid", lsid(1)), ("txnNumber", Value::Int64(1)), ("autocommit", Value::Bool(false))]);
    connection.ok("zoo", with(within(insert(1)), [("startTransaction", Value::Bool(true))]));
    connection.ok("zoo", insert(9));
    connection.ok("zoo", within(insert(2)));
    let done = connection.ok("admin", within(doc! {"commitTransaction": 1}));
    let events = batch(&connection.ok("zoo", more(cursor_of(&opened))));
    assert_eq!(keys(&events), [9, 1, 2]);
    let session = |event: &Map| Some((event.document("lsid")?.get("id").cloned(), event.get("txnNumber").cloned()));
    let own = Some((lsid(1).as_map().and_then(|lsid| lsid.get("id").cloned()), Some(Value::Int64(1))));
    assert_eq!(events.iter().map(session).collect::<Vec<_>>(), [None, own.clone(), own]);
    let committed = time(&done, "operationTime");
    let times: Vec<Timestamp> = events.iter().map(|event| time(event, "clusterTime")).collect();
    assert!(times[0] < committed && times[1..] == [committed, committed], "{times:?}");
    // A stream that is resumed in the middle continues with the second one.
    assert_eq!(keys(&events_after(&world, &id(&events[1]))), [2]);
    let at = watch(Map::from([("startAtOperationTime", Value::Timestamp(committed))]));
    assert_eq!(keys(&batch(&connection.ok("zoo", at))), [1, 2]);
}

#[test]
fn a_stream_ends_with_its_collection() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let opened = connection.ok("zoo", watch(doc! {}));
    connection.ok("zoo", doc! {"drop": "pets"});
    let last = connection.ok("zoo", more(cursor_of(&opened)));
    let events = batch(&last);
    assert_eq!((kinds(&events), cursor_of(&last)), (vec!["drop", "invalidate"], 0));
    assert_eq!(token(&last), id(&events[1]));
    connection.fails(43, "zoo", more(cursor_of(&opened)));
    // After the drop, the invalidation follows; after the invalidation, only `startAfter` continues.
    let again = connection.ok("zoo", resume(id(&events[0])));
    assert_eq!((kinds(&batch(&again)), cursor_of(&again)), (vec!["invalidate"], 0));
    connection.fails(260, "zoo", resume(id(&events[1])));
    connection.ok("zoo", insert(2));
    let next = world.after_a_kill();
    let after = watch(Map::from([("startAfter", Value::Map(id(&events[1])))]));
    let found = next.connect().ok("zoo", after);
    assert_eq!(keys(&batch(&found)), [2]);
    assert_ne!(cursor_of(&found), 0);
    // A batch that is full with the invalidation is the last one, too.
    let options = Map::from([("resumeAfter", Value::Map(token(&opened)))]);
    let stage = Value::Map(doc! {"$changeStream": (Value::Map(options))});
    let one = doc! {"aggregate": "pets", "pipeline": (Value::Array(vec![stage])), "cursor": {"batchSize": 2}};
    assert_eq!(cursor_of(&connection.ok("zoo", one)), 0);
}

#[test]
fn the_token_of_a_batch_is_that_of_its_last_event() {
    let world = World::new();
    let connection = world.connect();
    let opened = connection.ok("zoo", watch(doc! {}));
    for n in 1..4 {
        connection.ok("zoo", insert(n));
    }
    let stream = cursor_of(&opened);
    for n in 1..4 {
        let reply = connection.ok("zoo", with(more(stream), [("batchSize", Value::from(1))]));
        let events = batch(&reply);
        assert_eq!((keys(&events), n == 3 || token(&reply) == id(&events[0])), (vec![n], true));
        assert_eq!(keys(&events_after(&world, &token(&reply))).len() as i64, 3 - n);
    }
    // Events that do not fit into one reply.
    let text = "x".repeat(9 << 20);
    for n in 4..6 {
        connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": n, "text": (text.clone())}]});
    }
    let reply = connection.ok("zoo", more(stream));
    assert_eq!(keys(&batch(&reply)), [4]);
    assert_eq!(keys(&events_after(&world, &token(&reply))), [5]);
    assert_eq!(keys(&batch(&connection.ok("zoo", more(stream)))), [5]);
}

#[test]
fn views_and_empty_changes_of_options_are_expanded_events() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let uuid = collection_uuid_of(&connection, "beasts");
    let whole = |expanded: bool| {
        let stage = Value::Map(Map::from([("$changeStream", Map::from([("showExpandedEvents", expanded)]))]));
        Map::from([
            ("aggregate", Value::from(1)),
            ("pipeline", Value::Array(vec![stage])),
            ("cursor", Value::Map(Map::new())),
        ])
    };
    let streams = [true, false].map(|expanded| cursor_of(&connection.ok("zoo", whole(expanded))));
    // A stream over the collection whose name the view has, which does not exist.
    let of_name = doc! {"aggregate": "young", "pipeline": [{"$changeStream": {}}], "cursor": {}};
    let of_name = cursor_of(&connection.ok("zoo", of_name));
    let commands = [
        ("zoo", doc! {"create": "young", "viewOn": "pets", "pipeline": []}),
        ("zoo", doc! {"collMod": "young", "viewOn": "beasts", "pipeline": []}),
        ("zoo", doc! {"drop": "young"}),
        ("zoo", doc! {"collMod": "pets"}),
        ("admin", doc! {"renameCollection": "zoo.pets", "to": "zoo.beasts", "dropTarget": true}),
    ];
    commands.into_iter().for_each(|(db, command)| drop(connection.ok(db, command)));
    let read = |stream: i64, name: &str| {
        let first = Map::from([("getMore", Value::Int64(stream)), ("collection", Value::from(name))]);
        batch(&connection.ok("zoo", with(first, [("maxTimeMS", Value::from(0))])))
    };
    let found = read(streams[0], "$cmd.aggregate");
    assert_eq!(kinds(&found), ["create", "modify", "drop", "modify", "rename"]);
    assert_eq!((found[0].text("nsType"), found[0].get("collectionUUID")), (Some("view"), None));
    let described = |at: usize| found[at].document("operationDescription").cloned();
    assert_eq!(described(0), Some(doc! {"viewOn": "pets", "pipeline": []}));
    assert_eq!(described(1), Some(doc! {"viewOn": "beasts", "pipeline": []}));
    assert_eq!(described(3), Some(doc! {}));
    assert_eq!(described(4).and_then(|renamed| renamed.get("dropTarget").cloned()), Some(uuid));
    assert_eq!(kinds(&read(streams[1], "$cmd.aggregate")), ["rename"]);
    assert_eq!(kinds(&read(of_name, "young")), [""; 0]);
}

/// The UUID of a new collection.
fn collection_uuid_of(connection: &Connection<'_>, name: &str) -> Value {
    connection.ok("zoo", Map::from([("create", name)]));
    let listed = batch(&connection.ok("zoo", doc! {"listCollections": 1, "filter": {"name": name}}));
    listed[0].document("info").and_then(|info| info.get("uuid").cloned()).expect("a UUID")
}

/// A document with a number that is the value of `levels` documents, one in the other, and of the document around them.
pub(super) fn nested(id: i32, levels: usize) -> Map {
    let inner = (1..levels).fold(Value::Int32(0), |value, _| Value::Map(Map::from([("a", value)])));
    Map::from([("_id", Value::Int32(id)), ("a", inner)])
}

#[test]
fn no_document_is_too_deep_or_too_large_for_a_stream() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"create": "pets", "changeStreamPreAndPostImages": {"enabled": true}});
    let room = "x".repeat((16 << 20) - 30);
    let large = Map::from([("_id", Value::Int32(2)), ("text", Value::from(room.as_str()))]);
    let options = doc! {"fullDocument": "updateLookup", "fullDocumentBeforeChange": "whenAvailable"};
    let added = [
        r#"{"$match": {"operationType": {"$ne": "drop"}}}"#,
        r#"{"$addFields": {"zoo": "north", "whole": {"of": "$documentKey"}}}"#,
        r#"{"$project": {"wallTime": 0}}"#,
        r#"{"$unset": "lsid"}"#,
        r#"{"$redact": "$$KEEP"}"#,
        r#"{"$replaceWith": {"$mergeObjects": ["$$ROOT", {"last": 1}]}}"#,
    ];
    let mut all = vec![Value::Map(Map::from([("$changeStream", Value::Map(options))]))];
    all.extend(added.map(|stage| alluvium_document::json::parse(stage.as_bytes()).expect("a stage")));
    let streams: Vec<i64> =
        [&all[..1], &all[..]].map(|some| cursor_of(&connection.ok("zoo", stages(some.to_vec())))).to_vec();
    for document in [nested(1, alluvium::MAX_DEPTH), large] {
        connection.ok(
            "zoo",
            Map::from([("insert", Value::from("pets")), ("documents", Value::Array(vec![Value::Map(document)]))]),
        );
    }
    connection.ok("zoo", update(r#"{"$set": {"name": "rex"}}"#));
    connection.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {}, "limit": 0}]});
    for stream in streams {
        let mut found = Vec::new();
        while found.len() < 5 {
            found.extend(batch(&connection.ok("zoo", more(stream))));
        }
        assert_eq!(kinds(&found), ["insert", "insert", "update", "delete", "delete"]);
        assert_eq!(found[0].document("fullDocument"), Some(&nested(1, alluvium::MAX_DEPTH)));
        let text = |field: &str, at: usize| found[at].document(field).and_then(|whole| whole.text("text"));
        assert_eq!(
            (text("fullDocument", 1), text("fullDocumentBeforeChange", 4)),
            (Some(room.as_str()), Some(room.as_str()))
        );
    }
}

#[test]
fn an_update_by_a_pipeline_has_the_difference() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "tags": [1, 2, 3, 4], "text": "long"}]});
    let opened = connection.ok("zoo", watch(doc! {}));
    connection.ok("zoo", update(r#"[{"$set": {"tags": {"$slice": ["$tags", 2]}}}]"#));
    let merge = r#"{"into": "pets", "whenMatched": [{"$set": {"text": "new"}}]}"#;
    let merge = alluvium_document::json::parse(merge.as_bytes()).expect("a stage");
    let merge = Value::Map(Map::from([("$merge", merge)]));
    connection.ok("zoo", doc! {"aggregate": "pets", "pipeline": (Value::Array(vec![merge])), "cursor": {}});
    connection.ok("zoo", update(r#"{"text": "another"}"#));
    let events = batch(&connection.ok("zoo", more(cursor_of(&opened))));
    assert_eq!(kinds(&events), ["update", "update", "replace"]);
    let changes: Vec<&Map> = events.iter().filter_map(|event| event.document("updateDescription")).collect();
    let truncated = Value::Array(vec![Value::Map(doc! {"field": "tags", "newSize": 2})]);
    assert_eq!(
        changes,
        [
            &doc! {"updatedFields": {}, "removedFields": [], "truncatedArrays": (truncated)},
            &doc! {"updatedFields": {"text": "new"}, "removedFields": [], "truncatedArrays": []},
        ]
    );
}

#[test]
fn the_token_of_an_event_that_the_stream_does_not_have_ends_it() {
    let world = World::new();
    let connection = world.connect();
    let whole = doc! {"aggregate": 1, "pipeline": [{"$changeStream": {"showExpandedEvents": true}}], "cursor": {}};
    let stream = cursor_of(&connection.ok("zoo", whole));
    connection.ok("zoo", doc! {"create": "pets"});
    connection.ok("zoo", doc! {"insert": "birds", "documents": [{"_id": 1}]});
    let more_of_all = doc! {"getMore": (Value::Int64(stream)), "collection": "$cmd.aggregate", "maxTimeMS": 0};
    let events = batch(&connection.ok("zoo", more_of_all));
    assert_eq!(kinds(&events), ["create", "create", "insert"]);
    assert_eq!(events[0].text("nsType"), Some("collection"));
    let expanded = [("resumeAfter", Value::Map(id(&events[0]))), ("showExpandedEvents", Value::from(true))];
    let known = connection.ok("zoo", watch(Map::from(expanded)));
    // Of a kind that the stream does not return, and of another collection.
    let others = [&events[0], &events[2]].map(|event| cursor_of(&connection.ok("zoo", resume(id(event)))));
    connection.ok("zoo", insert(1));
    for other in others {
        let reply = connection.fails(280, "zoo", more(other));
        assert_eq!(labels(&reply), ["NonResumableChangeStreamError"]);
    }
    assert_eq!(keys(&batch(&connection.ok("zoo", more(cursor_of(&known))))), [1]);
}

#[test]
fn a_stream_ends_if_what_it_needs_is_missing() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let required = connection.ok("zoo", watch(doc! {"fullDocumentBeforeChange": "required"}));
    let unset = Value::Map(doc! {"$unset": "_id"});
    let without = connection.ok("zoo", stages(vec![Value::Map(doc! {"$changeStream": {}}), unset]));
    connection.ok("zoo", update(r#"{"$set": {"age": 3}}"#));
    assert_eq!(labels(&connection.fails(47, "zoo", more(cursor_of(&required)))), [""; 0]);
    let fatal = connection.fails(280, "zoo", more(cursor_of(&without)));
    assert_eq!(labels(&fatal), ["NonResumableChangeStreamError"]);
    // A token of a collection that was never recorded.
    let place = token(&connection.ok("shop", watch(doc! {})));
    let lost = connection.fails(286, "aviary", resume(place));
    assert_eq!(labels(&lost), ["NonResumableChangeStreamError"]);
    let cure = lost.text("errmsg").is_some_and(|text| text.contains("alluvium changes record"));
    assert!(cure, "{lost}");
}

#[test]
fn errors_after_which_a_stream_may_be_resumed_have_a_label() {
    let world = World::with(Config { test_commands: true, ..Config::default() });
    let connection = world.connect();
    let fail = |code: i32| {
        let data = doc! {"errorCode": code, "closeConnection": false};
        doc! {"configureFailPoint": "failGetMoreAfterCursorCheckout", "mode": {"times": 1}, "data": (Value::Map(data))}
    };
    for (code, is_labelled) in [(6, true), (63, true), (133, true), (234, true), (13388, true), (43, false), (1, false)]
    {
        let opened = connection.ok("zoo", watch(doc! {}));
        connection.ok("admin", fail(code));
        let reply = connection.fails(code.into(), "zoo", more(cursor_of(&opened)));
        assert_eq!(labels(&reply).contains(&"ResumableChangeStreamError"), is_labelled, "{reply}");
    }
    // Not a change stream.
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}]});
    let found = connection.ok("zoo", doc! {"find": "pets", "batchSize": 1});
    connection.ok("admin", fail(6));
    let get_more = doc! {"getMore": (Value::Int64(cursor_of(&found))), "collection": "pets"};
    assert_eq!(labels(&connection.fails(6, "zoo", get_more)), [""; 0]);
}

/// True if the request that waits is to be executed again. Notes the end of its wait.
pub(super) fn is_woken(connection: &Connection<'_>) -> bool {
    let wait = connection.client.waits.take_wait().expect("a wait");
    connection.client.waits.resume(wait.until);
    let Event::Documents { changed, .. } = &wait.event else { panic!("another event") };
    pin!(changed.notified()).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
}

#[test]
fn a_stream_waits_for_changes_without_a_thread() {
    let world = World::new();
    let (connection, other) = (world.connect(), world.connect());
    let stream = cursor_of(&connection.ok("zoo", watch(doc! {})));
    let get_more = || doc! {"getMore": (Value::Int64(stream)), "collection": "pets"};
    // The request returns without a reply, and leaves a wait of a second.
    connection.run("zoo", get_more());
    let until = world.shared.env.clock.now() + SECOND;
    assert!(!is_woken(&connection));
    connection.run("zoo", get_more());
    other.ok("zoo", insert(1));
    assert!(is_woken(&connection), "by the change");
    assert_eq!(keys(&batch(&connection.ok("zoo", get_more()))), [1]);
    // A change of another collection that is recorded does not end the wait.
    other.ok("shop", watch(doc! {}));
    connection.run("zoo", get_more());
    other.ok("shop", insert(1));
    assert!(is_woken(&connection));
    connection.run("zoo", get_more());
    let wait = connection.client.waits.take_wait().expect("it waits again");
    assert_eq!(wait.until, until);
    // When the time is over, the reply is an empty batch with a token.
    world.clock.advance(SECOND);
    connection.client.waits.resume(wait.until);
    let empty = connection.ok("zoo", get_more());
    assert_eq!((batch(&empty), cursor_of(&empty)), (Vec::new(), stream));
    assert_eq!(keys(&events_after(&world, &token(&empty))), [0; 0]);
    // A cursor that is closed ends the wait.
    connection.run("zoo", get_more());
    other.ok("zoo", doc! {"killCursors": "pets", "cursors": [(Value::Int64(stream))]});
    assert!(is_woken(&connection));
    connection.fails(237, "zoo", get_more());
}
