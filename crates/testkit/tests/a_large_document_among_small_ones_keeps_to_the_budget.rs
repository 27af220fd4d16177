//! Documents of 16 MB among small ones take no more memory than the budget, and do not block writes of the small ones.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn a_large_document_among_small_ones_keeps_to_the_budget() {
    let small = pressure::amount(20_000, 5);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "large_documents", small, None);
    // The copies of a large document that a write makes are not in the budget: the row, the batch, the part of the log,
    // and the input and output of a merge. This test uses only a small part of the budget, so there is room for them.
    figures.check_memory(115);
}
