//! Lines of many megabytes are loaded by several threads, and sorted by keys of that length. Memory stays within the
//! budget plus a few copies of a line, and few file descriptors are open.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn long_lines_and_keys_keep_to_the_budget() {
    let lines = pressure::amount(24, 5);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "long_lines", lines, Some(64));
    // Each of the two sorts has five copies of the document that is being read: in the cache, the row, its key, and
    // copies of the row and the key that are written to a file.
    let most = figures.budget + 10 * pressure::LONG_LINE_BYTES;
    assert!(figures.taken() < most, "{} taken, {most} allowed: {figures:?}", figures.taken());
}
