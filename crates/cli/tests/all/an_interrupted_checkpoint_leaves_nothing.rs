//! ctrl-C during a checkpoint that copies its files, or during a restore: the command exits with 130 and removes its
//! unfinished output.

use crate::common::{Place, ended, signal};
use std::path::Path;
use std::process::Child;

/// The maximum number of attempts in which the command finishes before the interrupt.
const ATTEMPTS: usize = 30;

/// Waits until the path exists; returns false if the command finishes before.
fn wait_for(path: &Path, child: &mut Child) -> bool {
    while !path.exists() {
        if child.try_wait().expect("a process").is_some() {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Runs a command that creates `made`, and interrupts it as soon as `begun` exists. Repeats this until the interrupt
/// arrives before the command finishes.
fn interrupt(place: &Place, arguments: &[&str], begun: &str, made: &str) {
    for _ in 0..ATTEMPTS {
        let mut child = place.start(arguments);
        if wait_for(&place.path(begun), &mut child) {
            signal(&child, "INT");
        }
        let ended = ended(child);
        let left = || [made.to_owned(), format!("{made}.incomplete")].map(|name| place.path(&name).exists());
        match ended.code {
            Some(130) => {
                assert!(ended.err.contains("stopped: the unfinished copy was removed"), "{}", ended.err);
                assert_eq!(left(), [false, false]);
                return;
            }
            code => assert_eq!((code, left()), (Some(0), [true, false]), "{}", ended.err),
        }
        std::fs::remove_dir_all(place.path(made)).expect("it was made");
    }
    panic!("{arguments:?} was never interrupted");
}

#[test]
fn an_interrupted_checkpoint_leaves_nothing() {
    let place = Place::new();
    place.comments("c.jsonl", 60_000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id", "--memory", "8M"]);
    interrupt(&place, &["checkpoint", "db", "ck", "--copy"], "ck.incomplete/p000", "ck");
    place.good(&["checkpoint", "db", "ck"]);
    interrupt(&place, &["restore", "ck", "new", "--copy", "--quick"], "new.incomplete/p000", "new");
    place.good(&["restore", "ck", "new"]);
    assert_eq!(place.good(&["count", "new", "c"]), "60000\n");
}
