//! ctrl-C ends queries and writes by filter, alone and in scripts of the shell, with exit code 130.
//! The number of changed documents is reported.

#![cfg(unix)]

use crate::common::{Ended, Place, ended_soon, signal};
use std::io::{Read, Write};
use std::time::Duration;

const DOCS: usize = 30_000;

fn place() -> Place {
    let place = Place::new();
    place.comments("c.jsonl", DOCS);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    place
}

/// Runs a script, and sends a signal some time after its first output. Standard input stays open until the signal is
/// sent.
fn interrupted(place: &Place, script: &str, name: &str, after: Duration) -> Ended {
    let mut child = place.start(&["shell", "db"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).expect("a shell that reads");
    let mut first = [0];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut first).expect("a command that prints");
    std::thread::sleep(after);
    signal(&child, name);
    let ended = ended_soon(child);
    drop(stdin);
    ended
}

#[test]
fn a_script_ends_at_a_question_that_was_interrupted() {
    let place = place();
    for question in ["count c {\"no\": 1}", "distinct c no", "find c {\"no\": 1} --explain"] {
        let script = format!("count c\n{}put c late {{}}\n", format!("{question}\n").repeat(200));
        let ended = interrupted(&place, &script, "INT", Duration::from_millis(20));
        assert_eq!(ended.code, Some(130), "{question}: {}", ended.err);
        assert!(ended.err.contains("stopped; the rest of the script was not run"), "{question}: {}", ended.err);
        place.bad(3, &["get", "db", "c", "late"]);
    }
}

#[test]
fn a_script_ends_at_a_write_that_was_interrupted() {
    let place = place();
    for write in ["update c --where {} {\"$inc\": {\"n\": 1}} --many", "delete c --where {} --many"] {
        let script = format!("count c\n{write}\nput c late {{}}\n");
        let ended = interrupted(&place, &script, "INT", Duration::from_millis(20));
        assert_eq!(ended.code, Some(130), "{write}: {}", ended.err);
        assert!(ended.err.contains("line 2: stopped"), "{write}: {}", ended.err);
        place.bad(3, &["get", "db", "c", "late"]);
    }
}

#[test]
fn a_shell_that_is_terminated_has_the_exit_code_of_others() {
    let place = Place::new();
    place.good(&["put", "db", "c", "a", "{}"]);
    let ended = interrupted(&place, "count c\n", "TERM", Duration::ZERO);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
}

#[test]
fn an_interrupted_update_of_many_says_how_many_were_changed() {
    let place = place();
    // The delay is increased until the signal arrives during the writes.
    for round in 0..40 {
        let update = format!("{{\"$set\": {{\"round\": {round}}}}}");
        let mut child = place.start(&["update", "db", "c", "--where", "{}", &update, "--many"]);
        std::thread::sleep(Duration::from_millis(50 + 40 * round));
        if child.try_wait().expect("a child").is_none() {
            signal(&child, "INT");
        }
        let ended = ended_soon(child);
        if !ended.err.contains("had been updated") {
            continue;
        }
        assert_eq!(ended.code, Some(130), "{}", ended.err);
        let message =
            ended.err.split("before that, ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
        let counted = place.good(&["count", "db", "c", &format!("{{\"round\": {round}}}")]);
        assert_eq!(counted.trim(), message, "{}", ended.err);
        return;
    }
    panic!("it was never met while it wrote");
}

#[test]
fn all_ids_are_looked_at_before_the_first_is_deleted() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{}"]);
    place.good(&["put", "db", "c", "2", "{}"]);
    let said = place.bad(2, &["delete", "db", "c", "1", "2", "[1]"]);
    assert!(said.contains("_id cannot be of type"), "{said}");
    assert_eq!(place.good(&["count", "db", "c"]), "2\n");
}
