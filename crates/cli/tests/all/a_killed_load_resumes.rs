//! A load that is killed with -9 loses no acknowledged document, and continues when it is run again.

use crate::common::{Place, last_progress, same_lines, with_id};

const DOCS: usize = 40_000;

/// Kills a load when at least `least` documents are acknowledged, and returns the last acknowledged number; zero if the
/// load finished before.
fn load_and_kill(place: &Place, least: u64) -> u64 {
    let arguments = [
        "load",
        "db",
        "c",
        "c.jsonl",
        "--id-field",
        "id",
        "--memory",
        "8M",
        "--progress-json",
        "p",
        "--progress-ms",
        "2",
    ];
    let _nothing_yet = std::fs::remove_file(place.path("p"));
    let mut child = place.start(&arguments);
    let seen = place.wait_for_documents("p", least, &mut child);
    child.kill().expect("a child");
    let status = child.wait().expect("a child");
    if seen == 0 || status.code().is_some() {
        return 0;
    }
    last_progress(&place.path("p"))
}

#[test]
fn a_killed_load_resumes() {
    let place = Place::new();
    let lines = place.comments("c.jsonl", DOCS);
    let expected: Vec<String> = lines.iter().map(|line| with_id(line)).collect();
    let mut kills = 0;
    let mut before = 0;
    for part in 1..=4 {
        // The number counts only documents of this run.
        let least = if part == 1 { 3000 } else { 1 };
        let acknowledged = load_and_kill(&place, least);
        if acknowledged == 0 {
            break;
        }
        kills += 1;
        let scanned = place.good(&["scan", "db", "c"]);
        let found = scanned.lines().count();
        assert!(found as u64 >= before + acknowledged, "{found} found, {before} + {acknowledged} acknowledged");
        same_lines(&scanned, &expected[..found]);
        before = found as u64;
    }
    assert!(kills > 0, "no load was killed: all were faster");
    let summary = place.json(&["load", "db", "c", "c.jsonl", "--id-field", "id", "--json"]);
    assert_eq!(summary["outcome"], "done");
    assert_eq!(summary["documents_before"], before);
    assert_eq!(summary["documents"], DOCS as u64 - before);
    same_lines(&place.good(&["scan", "db", "c"]), &expected);
    place.good(&["verify", "db"]);
}
