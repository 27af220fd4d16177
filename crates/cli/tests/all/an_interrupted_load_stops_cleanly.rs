//! ctrl-C and SIGTERM stop a load between two slices; it exits with 130, and continues when it is
//! run again.

use crate::common::{Place, ended, same_lines, signal, with_id};

const DOCS: usize = 60_000;

fn interrupt(name: &str) {
    let place = Place::new();
    let lines = place.comments("c.jsonl", DOCS);
    let load = ["load", "db", "c", "c.jsonl", "--id-field", "id", "--memory", "8M", "--json"];
    let mut child = place.start(&[&load[..], &["--progress-json", "p", "--progress-ms", "2"]].concat());
    let seen = place.wait_for_documents("p", 100, &mut child);
    assert!(seen > 0, "the load was too fast to be interrupted");
    signal(&child, name);
    let ended = ended(child);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("run the same command again"), "{}", ended.err);
    let summary: serde_json::Value = serde_json::from_str(&ended.out).expect("a summary");
    assert_eq!(summary["outcome"], "stopped");
    let before = summary["documents"].as_u64().expect("a number");
    assert!(before >= seen && before < DOCS as u64, "{seen} {before}");
    // Exactly the reported documents exist. The log is sealed, so no end of it is cut off.
    let counted = place.run(&["count", "db", "c"]);
    assert_eq!((counted.out, counted.err.as_str()), (format!("{before}\n"), ""));
    let summary = place.json(&load);
    assert_eq!(summary["documents"], DOCS as u64 - before);
    let expected: Vec<String> = lines.iter().map(|line| with_id(line)).collect();
    same_lines(&place.good(&["scan", "db", "c"]), &expected);
}

#[test]
fn an_interrupted_load_stops_cleanly() {
    interrupt("INT");
}

#[test]
fn a_terminated_load_stops_cleanly() {
    interrupt("TERM");
}
