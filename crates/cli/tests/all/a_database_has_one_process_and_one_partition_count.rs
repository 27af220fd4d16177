//! A second process is refused with a clear error, and so is another number of partitions.

use crate::common;
use crate::common::{Place, ended};
use std::io::Write;
use std::process::{Child, ChildStdin};

/// A load that keeps the database open until its input ends.
fn open_database(place: &Place) -> (Child, ChildStdin) {
    let mut child = place.start(&["load", "db", "c", "-", "--progress-json", "p", "--progress-ms", "5"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"_id\":1}\n").expect("a reader");
    // The load writes progress after it has opened the database.
    while std::fs::metadata(place.path("p")).map_or(0, |file| file.len()) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    (child, stdin)
}

#[test]
fn a_database_in_use_is_refused_and_left_alone() {
    let place = Place::new();
    let (child, stdin) = open_database(&place);
    for arguments in [vec!["count", "db", "c"], vec!["put", "db", "c", "1", "{}"], vec!["stats", "db"]] {
        let said = place.bad(6, &arguments);
        assert!(said.contains("is in use by another process") && said.contains("--wait SECONDS"), "{said}");
        #[cfg(target_os = "linux")]
        assert!(said.contains(&format!("The process {} (alluvium) has it open", child.id())), "{said}");
    }
    // Waits until the time has passed, or until the other process has ended.
    place.bad(6, &["count", "db", "c", "--wait", "1"]);
    let waiting = place.start(&["count", "db", "c", "--wait", "60"]);
    drop(stdin);
    let ended = ended(child);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let waited = common::ended(waiting);
    assert_eq!((waited.code, waited.out.as_str()), (Some(0), "1\n"), "{}", waited.err);
}

#[test]
fn an_interrupt_ends_the_waiting() {
    let place = Place::new();
    let (child, stdin) = open_database(&place);
    let waiting = place.start(&["find", "db", "c", "--wait", "60"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    common::signal(&waiting, "INT");
    assert_eq!(common::ended_soon(waiting).code, Some(130));
    drop(stdin);
    assert_eq!(ended(child).code, Some(0));
}

#[test]
fn another_partition_count_is_refused() {
    let place = Place::new();
    place.write("in.jsonl", "{\"_id\":1}\n");
    place.good(&["load", "db", "c", "in.jsonl", "--partitions", "3"]);
    let said = place.bad(2, &["load", "db", "c", "in.jsonl", "--partitions", "2"]);
    assert!(said.contains("the number of partitions of db is 3, not 2"), "{said}");
    place.good(&["load", "db", "c", "in.jsonl", "--partitions", "3"]);
    assert_eq!(place.json(&["stats", "db", "--json"])["partitions"].as_array().map(Vec::len), Some(3));
}
