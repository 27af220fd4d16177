//! Clients at once, over crashes: some order of all their calls explains every answer that they were given.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::RefCell;
use testkit::histories::{self, Done, Size};
use testkit::seed;

fn histories(test: &str, usual: u64, size: Size) {
    let done = RefCell::new(Done::default());
    let name = format!("histories_are_linearizable {test}");
    seed::each(&name, 0, usual, |seed| done.borrow_mut().add(&histories::run(seed, size)));
    let done = done.into_inner();
    println!("{test}: {done:?}");
    for (what, count) in [
        ("histories", done.histories),
        ("calls in histories", done.calls),
        ("crashes in histories", done.kills + done.cuts),
    ] {
        seed::tally(what, count);
    }
    if seed::is_usual(usual) {
        assert!(done.kills > 0 && done.cuts > 0 && done.unknown > 0, "{done:?}");
    }
}

#[test]
fn short_ones_with_many_crashes() {
    histories("short_ones_with_many_crashes", 60, Size { clients: 8, calls: 600, crashes: 5 });
}

#[test]
fn long_ones() {
    histories("long_ones", 6, Size { clients: 8, calls: 10_000, crashes: 5 });
}
