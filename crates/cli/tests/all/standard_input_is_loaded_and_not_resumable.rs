//! `load … -` reads standard input, and reports that it cannot continue after an interruption.

use crate::common::{Place, ended_soon, signal};
use std::io::Write;

#[test]
fn standard_input_is_loaded_and_not_resumable() {
    let place = Place::new();
    let ended = place.run_with(&["load", "db", "c", "-"], b"{\"_id\":1}\n{\"_id\":2}");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("not resumable"), "{}", ended.err);
    assert_eq!(place.good(&["count", "db", "c"]), "2\n");
}

#[test]
fn a_signal_ends_a_load_that_waits_for_input() {
    let place = Place::new();
    let mut child = place.start(&["load", "db", "c", "-", "--progress-json", "p", "--progress-ms", "10"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"_id\":1}\n").expect("a reader");
    while std::fs::metadata(place.path("p")).map_or(0, |file| file.len()) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    signal(&child, "TERM");
    // The signal arrives while the pipe is open.
    let ended = ended_soon(child);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    drop(stdin);
}
