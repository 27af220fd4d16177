//! Ten thousand collections: opening the database reads little. The collections need few file descriptors, and no more
//! memory than the budget.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn ten_thousand_collections_stay_within_limits() {
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "many_collections", 10_000, None);
    figures.check_memory(115);
    assert!(figures.descriptors < 100, "{figures:?}");
    assert!(figures.opening < 2000, "{figures:?}");
}
