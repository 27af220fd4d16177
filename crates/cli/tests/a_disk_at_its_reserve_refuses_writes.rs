//! With less free than `--disk-reserve`, writes end with the exit code of a full disk, and everything else works.

#![allow(clippy::expect_used, clippy::panic)]

mod common;

use common::Place;

const NO_SPACE: i32 = 7;
/// More than any disk has.
const RESERVE: [&str; 2] = ["--disk-reserve", "8000000G"];

#[test]
fn a_disk_at_its_reserve_refuses_writes() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", r#"{"kind":"dog"}"#]);
    let with = |command: &[&'static str]| [command, &RESERVE].concat();
    let said = place.bad(NO_SPACE, &with(&["put", "db", "pets", "tom", r#"{"kind":"cat"}"#]));
    assert!(said.contains("disk_reserve_bytes"), "{said}");
    assert_eq!(place.good(&with(&["count", "db", "pets"])), "1\n");
    place.good(&with(&["compact", "db"]));
    place.good(&with(&["delete", "db", "pets", "rex"]));
    place.good(&["put", "db", "pets", "tom", r#"{"kind":"cat"}"#, "--disk-reserve", "0"]);
    assert_eq!(place.good(&["count", "db", "pets"]), "1\n");
}
