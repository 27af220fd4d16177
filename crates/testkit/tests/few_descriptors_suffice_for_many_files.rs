//! A database of more files than the process may have descriptors is written, merged, read and scanned.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(not(feature = "shuttle"))]

use testkit::pressure;

#[test]
fn few_descriptors_suffice_for_many_files() {
    let megabytes = pressure::amount(40, 8);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "many_files", megabytes, Some(256));
    assert!(figures.files > 300, "{figures:?}");
    // Half of them is for the files, and the rest for whatever else the process does.
    assert!(figures.descriptors < 200, "{figures:?}");
}
