//! A sort with a small budget keeps only a few documents in memory, regardless of the size and the number of the
//! documents.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn a_sort_of_large_documents_keeps_a_few_of_them() {
    let large = pressure::amount(6, 10);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "large_sorts", large, Some(64));
    // The document that is read, and the copies of it that are made when it is written to a file and read again.
    let most = figures.budget + 6 * pressure::LARGE_SORTED_BYTES;
    assert!(figures.taken() < most, "{} taken, {most} allowed: {figures:?}", figures.taken());
}
