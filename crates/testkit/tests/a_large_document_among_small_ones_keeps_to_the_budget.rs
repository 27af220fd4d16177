//! Documents of 16 MB among small ones take no more memory than the budget, and do not stop the small ones.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn a_large_document_among_small_ones_keeps_to_the_budget() {
    let small = pressure::amount(20_000, 5);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "large_documents", small, None);
    // A write's own copies of a large document are not in the budget: its row, its batch, its part of the log, what a
    // merge reads and writes. But little of the budget is used here.
    figures.check_memory(115);
}
