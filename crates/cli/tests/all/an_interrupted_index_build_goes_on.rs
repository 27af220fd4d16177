//! ctrl-C during `index create` stops it cleanly, and a message explains how it can be continued; a kill loses nothing
//! either.

use crate::common::{Ended, Place, ended, signal};
use std::time::{Duration, Instant};

const DOCS: usize = 60_000;
const CREATE: [&str; 5] = ["index", "create", "db", "c", r#"{"author": 1, "score": -1}"#];

fn loaded() -> Place {
    let place = Place::new();
    place.comments("c.jsonl", DOCS);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    place
}

/// The segments of the log; an open database has one segment more.
fn segments(place: &Place) -> Vec<String> {
    let names = std::fs::read_dir(place.path("db/wal")).expect("a log");
    let mut names: Vec<String> = names.map(|name| name.expect("a name").file_name().to_string_lossy().into()).collect();
    names.sort();
    names
}

/// Runs `index create`, and sends it a signal as soon as it has opened the database.
fn signalled(place: &Place, name: &str) -> Ended {
    let before = segments(place);
    let child = place.start(&[&CREATE[..], &["--memory", "8M"]].concat());
    let deadline = Instant::now() + Duration::from_secs(60);
    while segments(place) == before {
        assert!(Instant::now() < deadline, "it does not open the database");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, name);
    ended(child)
}

/// The output of `index create` when it is run again.
fn goes_on(place: &Place) -> String {
    let said = place.good(&CREATE);
    let listed = place.json(&["index", "list", "db", "c", "--json"]);
    assert_eq!(listed["indexes"][1]["ready"], true, "{listed}");
    let found = place.json(&["verify", "db", "--json"]);
    assert_eq!(found["indexes"][0]["entries"], DOCS, "{found}");
    assert_eq!(found["damage"].as_array().map(Vec::len), Some(0));
    said
}

#[test]
fn an_interrupted_index_build_goes_on() {
    let place = loaded();
    let ended = signalled(&place, "INT");
    assert_eq!(ended.code, Some(130), "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("its build continues when the database is opened"), "{}", ended.err);
    // The database was closed cleanly, so no end of the log is cut off.
    assert_eq!(place.run(&["count", "db", "c"]).err, "");
    let said = goes_on(&place);
    assert!(said.starts_with("the index author_1_score_-1 was being built: after "), "{said}");
    assert!(place.good(&CREATE).contains("exists already and is ready"));
}

#[test]
fn a_killed_index_build_goes_on() {
    let place = loaded();
    let ended = signalled(&place, "KILL");
    assert_eq!(ended.code, None, "{}", ended.out);
    assert_eq!(place.good(&["count", "db", "c"]), format!("{DOCS}\n"));
    goes_on(&place);
}
