//! The disk fails while several threads write, flush and compact: [`alluvium_testkit::concurrency::failing_disk`] with
//! real threads, which really race.

use alluvium_testkit::concurrency::failing_disk::{self, Size};
use alluvium_testkit::seed;
use std::cell::RefCell;
use std::collections::BTreeMap;

const SEQUENCES: u64 = 60;
const SIZE: Size = Size { writers: 4, batches: 60, changes: 300 };

#[test]
fn threads_on_a_failing_disk_lose_nothing() {
    let met: RefCell<BTreeMap<String, u64>> = RefCell::default();
    seed::each("threads_on_a_failing_disk_lose_nothing", 0, SEQUENCES, |seed| {
        for what in failing_disk::run(seed, SIZE) {
            *met.borrow_mut().entry(what).or_default() += 1;
        }
    });
    println!("{:?}", met.borrow());
    if seed::is_usual(SEQUENCES) {
        for kind in ["None", "Some(Poisoned)", "Some(OutcomeUnknown)", "lost what was not synced"] {
            assert!(met.borrow().contains_key(kind), "never met: {kind}");
        }
    }
}
