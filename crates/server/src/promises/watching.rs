//! The profiler and the log.

use super::{World, batch};
use crate::fields::Fields;
use alluvium::{Map, Value, doc};

#[test]
fn the_profiler_keeps_the_last_thousand_operations_of_all_databases() {
    let world = World::new();
    let connection = world.connect();
    for db in ["a", "b"] {
        connection.ok(db, doc! {"profile": 2});
    }
    for n in 0..700 {
        for db in ["a", "b"] {
            connection.ok(db, doc! {"find": "pets", "comment": n});
        }
    }
    let kept = |db: &str| {
        connection.ok(db, doc! {"profile": 0});
        let all = doc! {"find": "system.profile", "batchSize": 2000};
        batch(&connection.ok(db, all)).into_iter().filter(|entry| entry.text("op") == Some("query")).collect::<Vec<_>>()
    };
    let (a, b) = (kept("a"), kept("b"));
    let total = a.len() + b.len();
    assert!((990..=1000).contains(&total), "{total} and a few commands of this test");
    let comment = |entry: Option<&Map>| entry.and_then(|entry| entry.document("command")?.integer("comment"));
    assert_eq!((comment(a.last()), comment(b.last())), (Some(699), Some(699)), "the newest are kept");
    assert!(comment(a.first()) > Some(190), "the oldest are dropped: {:?}", a.first());
    // The entries are in memory, and not stored as documents of the database.
    assert!(world.shared.db.collections().iter().all(|info| info.database == "local"));
}

#[test]
fn slow_operations_are_logged_with_their_plans() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    let slow = |connection: &super::Connection<'_>| {
        let log = connection.ok("admin", doc! {"getLog": "global"});
        let lines = log.elements("log").expect("lines").iter().filter_map(Value::as_str).map(str::to_owned);
        lines.filter(|line| line.contains("slow operation")).collect::<Vec<_>>()
    };
    connection.ok("zoo", doc! {"find": "pets", "filter": {"name": "rex"}});
    assert_eq!(slow(&connection), Vec::<String>::new(), "no time has passed");
    connection.ok("zoo", doc! {"profile": 0, "slowms": (-1)});
    connection.ok("zoo", doc! {"find": "pets", "filter": {"name": "rex"}});
    let lines = slow(&connection);
    let is_whole = |line: &String| line.contains("find of zoo.pets") && line.contains("plan");
    assert!(lines.iter().any(is_whole), "{lines:?}");
}
