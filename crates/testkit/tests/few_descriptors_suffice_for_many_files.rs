//! A database that has more files than the process may have file descriptors is written, merged, read and scanned. The
//! limit is 64 descriptors, and with `ALLUVIUM_SECONDS` 256.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::{pressure, seed};

#[test]
fn few_descriptors_suffice_for_many_files() {
    let (limit, megabytes) = match seed::requested_seconds() {
        None => (64, 40),
        Some(_) => (256, pressure::amount(200, 40)),
    };
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "many_files", megabytes, Some(limit));
    assert!(figures.files > limit, "{figures:?}");
    // Less than half of the descriptors are for sorted files; the rest is for other uses in the process.
    assert!(figures.descriptors < limit * 4 / 5, "{figures:?}");
    figures.check_memory(115);
}
