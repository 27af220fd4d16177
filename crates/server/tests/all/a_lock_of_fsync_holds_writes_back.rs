//! `fsync` with `lock`: writes of all clients wait until the last lock is released. Reads do not wait, even if more
//! writes wait than requests may run at a time.

use crate::common;
use crate::common::Running;
use alluvium::{Value, doc};
use alluvium_server::Config;

#[test]
fn writes_wait_for_the_last_unlock() {
    let server = Running::with(Config { threads: 1, ..Config::default() });
    let mut admin = server.client();
    admin.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 0}]});
    for locks in 1..=2 {
        let locked = admin.ok("admin", doc! {"fsync": 1, "lock": true});
        assert_eq!(locked.get("lockCount"), Some(&Value::Int64(locks)), "{locked}");
    }
    let mut writers: Vec<_> = (1..4).map(|id| (id, server.client())).collect();
    for (id, writer) in &mut writers {
        writer.send("zoo", doc! {"insert": "pets", "documents": [{"_id": (*id)}]}, &[], 0);
    }
    for write in [doc! {"$out": "copies"}, doc! {"$merge": "copies"}] {
        let writing = doc! {"aggregate": "pets", "pipeline": [write], "cursor": {}, "maxTimeMS": 1};
        server.client().fails(50, "zoo", writing);
    }
    let count = |admin: &mut common::Client| admin.ok("zoo", doc! {"count": "pets"}).get("n").cloned();
    assert_eq!(count(&mut admin), Some(Value::Int32(1)), "the writes wait, and reads do not");
    // This client disconnects while its write waits.
    let mut gone = server.client();
    gone.send("zoo", doc! {"insert": "pets", "documents": [{"_id": 99}]}, &[], 0);
    drop(gone);
    let unlocked = admin.ok("admin", doc! {"fsyncUnlock": 1});
    assert_eq!(unlocked.get("lockCount"), Some(&Value::Int64(1)));
    assert_eq!(count(&mut admin), Some(Value::Int32(1)), "one lock remains");
    admin.ok("admin", doc! {"fsyncUnlock": 1});
    for (_, writer) in &mut writers {
        assert_eq!(writer.reply().get("n"), Some(&Value::Int32(1)));
    }
    let found = count(&mut admin);
    assert!([Some(Value::Int32(4)), Some(Value::Int32(5))].contains(&found), "{found:?}");
    admin.fails(20, "admin", doc! {"fsyncUnlock": 1});
}

#[test]
fn writes_that_wait_are_listed_and_can_be_killed() {
    let server = Running::with(Config::default());
    let mut admin = server.client();
    admin.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 0}]});
    admin.ok("admin", doc! {"fsync": 1, "lock": true});
    let mut writer = server.client();
    writer.send("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}], "comment": "waits"}, &[], 0);
    let waiting = |admin: &mut common::Client| {
        let listed = admin.ok("admin", doc! {"currentOp": 1, "waitingForLock": true});
        listed.get("inprog").and_then(Value::as_array).unwrap_or_default().to_vec()
    };
    let mut listed = Vec::new();
    while listed.is_empty() {
        listed = waiting(&mut admin);
    }
    let [Value::Map(operation)] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(operation.get("ns"), Some(&Value::from("zoo.pets")), "{operation}");
    let command = operation.get("command").and_then(Value::as_map).expect("a command");
    assert_eq!(command.get("comment"), Some(&Value::from("waits")), "{operation}");
    assert!(!command.contains("documents"), "{operation}");
    admin.ok("admin", doc! {"killOp": 1, "op": (operation.get("opid").cloned().expect("a number"))});
    let reply = writer.reply();
    assert_eq!(reply.get("code"), Some(&Value::Int32(11601)), "{reply}");
    assert_eq!(waiting(&mut admin), [], "it is listed while it waits");
    admin.ok("admin", doc! {"fsyncUnlock": 1});
    let none = admin.ok("admin", doc! {"currentOp": 1, "waitingForLock": false});
    assert!(none.get("inprog").and_then(Value::as_array).is_some_and(|list| !list.is_empty()), "{none}");
    assert_eq!(admin.ok("zoo", doc! {"count": "pets"}).get("n"), Some(&Value::Int32(1)));
}
