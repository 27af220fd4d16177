//! Documents of 16 MB among small ones take the memory of a few of themselves, and the small ones go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(not(feature = "shuttle"))]

use testkit::pressure;

#[test]
fn a_large_document_among_small_ones_keeps_to_the_budget() {
    let small = pressure::amount(20_000, 5);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "large_documents", small, None);
    // The budget, of which little is used here; what the scenario itself holds of a large document, and a write's own copies
    // of it: its row, its batch, its part of the log.
    figures.check_memory(150);
}
