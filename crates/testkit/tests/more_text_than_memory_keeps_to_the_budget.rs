//! Text of many times the memory budget is written, read, changed, queried and sorted. During all this the database
//! stays within the budget, by its own figures and by those of the kernel. `ALLUVIUM_SECONDS=1200` uses some 10 GB.
#![cfg(not(feature = "shuttle"))]

use alluvium_testkit::pressure;

#[test]
fn more_text_than_memory_keeps_to_the_budget() {
    let megabytes = pressure::amount(100, 10);
    let figures = pressure::in_child(env!("CARGO_BIN_EXE_pressed"), "more_text_than_memory", megabytes, None);
    assert!(figures.bytes >= megabytes << 20);
    figures.check_memory(115);
}
