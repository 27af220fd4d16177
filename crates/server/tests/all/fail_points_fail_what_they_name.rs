//! `configureFailPoint` over real connections.

use crate::common::Running;
use alluvium::{Map, Value, doc};
use alluvium_server::Config;
use std::time::{Duration, Instant};

fn server() -> Running {
    Running::with(Config { test_commands: true, threads: 2, ..Config::default() })
}

fn session() -> Value {
    Value::Binary(alluvium::Binary { subtype: 4, bytes: vec![7; 16] })
}

/// A retryable insert.
fn insert(number: i64, id: i32) -> Map {
    doc! {"insert": "pets", "documents": [{"_id": id}], "lsid": {"id": session()}, "txnNumber": number}
}

#[test]
fn without_test_commands_there_are_no_fail_points() {
    let server = Running::new();
    let mut client = server.client();
    client.fails(59, "admin", doc! {"configureFailPoint": "failCommand", "mode": "off"});
    let listed = client.ok("admin", doc! {"listCommands": 1}).to_string();
    assert!(!listed.contains("configureFailPoint"), "{listed}");
}

#[test]
fn commands_fail_as_often_as_said() {
    let server = server();
    let mut client = server.client();
    let data = doc! {"failCommands": ["find", "configureFailPoint"], "errorCode": 43};
    client.ok("admin", doc! {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": data});
    client.ok("zoo", doc! {"count": "pets"});
    client.fails(43, "zoo", doc! {"find": "pets"});
    client.ok("zoo", doc! {"find": "pets"});
    let reply = client.ok("admin", doc! {"configureFailPoint": "failCommand", "mode": "off"});
    assert_eq!(reply.get("count"), Some(&Value::Int64(1)));
}

#[test]
fn labels_are_those_of_retryable_writes_or_those_given() {
    let server = server();
    let mut client = server.client();
    let mut labels = |data: Map, command: Map| {
        client.ok("admin", doc! {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": data});
        client.run("zoo", command).get("errorLabels").cloned()
    };
    let retryable = Some(Value::Array(vec![Value::from("RetryableWriteError")]));
    let failing = |more: Map| {
        let mut data = doc! {"failCommands": ["insert"]};
        data.entries.extend(more.entries);
        data
    };
    assert_eq!(labels(failing(doc! {"errorCode": 91}), insert(1, 1)), retryable);
    assert_eq!(labels(failing(doc! {"errorCode": 2}), insert(2, 2)), None);
    assert_eq!(labels(failing(doc! {"errorCode": 91}), doc! {"insert": "pets", "documents": [{}]}), None);
    assert_eq!(labels(failing(doc! {"errorCode": 91, "errorLabels": []}), insert(3, 3)), None);
    let given = Some(Value::Array(vec![Value::from("Mine")]));
    assert_eq!(labels(failing(doc! {"errorCode": 2, "errorLabels": ["Mine"]}), insert(4, 4)), given);
    assert_eq!(labels(failing(doc! {"writeConcernError": {"code": 91}}), insert(5, 5)), retryable);
    assert_eq!(labels(failing(doc! {"writeConcernError": {"code": 64}}), insert(6, 6)), None);
    // Writes with a write concern error were executed; other failed writes were not.
    let found = server.client().documents("zoo", doc! {"find": "pets"});
    assert_eq!(found, [doc! {"_id": 5}, doc! {"_id": 6}]);
}

#[test]
fn connections_are_closed_instead_of_replies() {
    let server = server();
    let mut client = server.client();
    let data = doc! {"failCommands": ["ping"], "closeConnection": true};
    client.ok("admin", doc! {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": data});
    client.send("admin", doc! {"ping": 1}, &[], 0);
    assert!(client.is_closed());
    // A retryable write is carried out before the connection closes, unless the fail point sets an error code.
    for (at, data, written) in [(1, doc! {}, 1), (2, doc! {"failBeforeCommitExceptionCode": 1}, 0)] {
        let mut client = server.client();
        let point = doc! {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}, "data": data};
        client.ok("admin", point);
        client.send("zoo", insert(at, at as i32), &[], 0);
        assert!(client.is_closed());
        let found = server.client().documents("zoo", doc! {"find": "pets", "filter": {"_id": at}});
        assert_eq!(found.len(), written);
    }
}

#[test]
fn commands_that_wait_keep_no_others_waiting() {
    let server = server();
    let mut client = server.client();
    let data = doc! {"failCommands": ["count"], "blockConnection": true, "blockTimeMS": 1500};
    client.ok("admin", doc! {"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data});
    // More requests than there are threads.
    let mut waiting: Vec<_> = (0..40).map(|_| server.client()).collect();
    let began = Instant::now();
    for client in &mut waiting {
        client.send("zoo", doc! {"count": "pets"}, &[], 0);
    }
    for _ in 0..20 {
        client.ok("zoo", doc! {"find": "pets"});
    }
    assert!(began.elapsed() < Duration::from_millis(1200), "finds waited: {:?}", began.elapsed());
    client.fails(50, "zoo", doc! {"count": "pets", "maxTimeMS": 5});
    assert!(began.elapsed() < Duration::from_millis(1400), "the limit was late: {:?}", began.elapsed());
    for client in &mut waiting {
        assert_eq!(client.reply().get("n"), Some(&Value::Int32(0)));
    }
    assert!(began.elapsed() >= Duration::from_millis(1500));
}

#[test]
fn cursors_and_time_limits_fail() {
    let server = server();
    let mut client = server.client();
    client.ok("zoo", doc! {"insert": "pets", "documents": [{}, {}, {}]});
    let reply = client.ok("zoo", doc! {"find": "pets", "batchSize": 1});
    let Some(Value::Map(cursor)) = reply.get("cursor") else { panic!("{reply}") };
    let id = cursor.get("id").cloned().unwrap_or_default();
    let data = doc! {"errorCode": 280};
    let point = "failGetMoreAfterCursorCheckout";
    client.ok("admin", doc! {"configureFailPoint": point, "mode": {"times": 1}, "data": data});
    client.fails(280, "zoo", doc! {"getMore": (id.clone()), "collection": "pets"});
    client.fails(43, "zoo", doc! {"getMore": id, "collection": "pets"});
    client.ok("admin", doc! {"configureFailPoint": "maxTimeAlwaysTimeOut", "mode": "alwaysOn"});
    client.ok("zoo", doc! {"find": "pets"});
    client.fails(50, "zoo", doc! {"find": "pets", "maxTimeMS": 10_000});
}
