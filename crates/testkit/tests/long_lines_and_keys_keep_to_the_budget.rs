//! Lines of many megabytes are loaded by several threads, and sorted by keys of that length. Memory stays within the
//! budget and a few copies of a line, and few descriptors are open.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn long_lines_and_keys_keep_to_the_budget() {
    let lines = pressure::amount(24, 5);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "long_lines", lines, Some(64));
    // Each of two sorts has the document that is read in five copies: in the cache, as a row, its
    // key, and both on their way to a file.
    let most = figures.budget + 10 * pressure::LONG_LINE_BYTES;
    assert!(figures.taken() < most, "{} taken, {most} allowed: {figures:?}", figures.taken());
}
