//! The disk fails while several threads write, flush and compact: [`alluvium_testkit::concurrency::failing_disk`],
//! under a seeded scheduler. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_env::schedules::OF_A_SEED;
use alluvium_testkit::concurrency::failing_disk::{self, Size};
use alluvium_testkit::seed;

const SIZE: Size = Size { writers: 3, batches: 12, changes: 80 };

#[test]
fn threads_on_a_failing_disk_under_any_schedule() {
    seed::each("threads_on_a_failing_disk_under_any_schedule --features shuttle", 0, 20, |seed| {
        alluvium_env::schedules::run(seed, move || drop(failing_disk::run(seed, SIZE)));
        seed::tally("schedules", OF_A_SEED);
    });
}
