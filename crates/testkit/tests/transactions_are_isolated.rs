//! Transactions beside each other and beside plain writers, over flushes, merges, ended snapshots and crashes: what they
//! read and leave is what snapshot isolation allows.

use alluvium_testkit::concurrency::isolation::{self, Done, Size};
use alluvium_testkit::seed;
use std::cell::RefCell;

fn runs(test: &str, usual: u64, size: Size) {
    let done = RefCell::new(Done::default());
    seed::each(&format!("transactions_are_isolated {test}"), 0, usual, |seed| {
        done.borrow_mut().add(&isolation::run(seed, size));
    });
    let done = done.into_inner();
    println!("{test}: {done:?}");
    for (what, count) in [
        ("runs of transactions", done.runs),
        ("transactions", done.committed + done.aborted + done.unknown),
        ("conflicts of transactions", done.conflicts),
        ("crashes beside transactions", done.crashes),
    ] {
        seed::tally(what, count);
    }
    if seed::is_usual(usual) {
        let met =
            [done.committed, done.aborted, done.conflicts, done.too_old, done.refused, done.unknown, done.crashes];
        assert!(!met.contains(&0), "{done:?}");
    }
}

#[test]
fn with_few_lists() {
    runs("with_few_lists", 80, Size { clients: 5, plain: 2, transactions: 60 });
}
