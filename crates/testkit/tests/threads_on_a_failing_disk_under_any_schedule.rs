//! The disk fails while several threads write, flush and compact: [`testkit::failing`], under a seeded scheduler. Run with
//! `--features shuttle`.
#![cfg(feature = "shuttle")]

use env::schedules::OF_A_SEED;
use testkit::failing::{self, Size};
use testkit::seed;

const SIZE: Size = Size { writers: 3, batches: 12, changes: 80 };

#[test]
fn threads_on_a_failing_disk_under_any_schedule() {
    seed::each("threads_on_a_failing_disk_under_any_schedule --features shuttle", 0, 20, |seed| {
        env::schedules::run(seed, move || drop(failing::run(seed, SIZE)));
        seed::tally("schedules", OF_A_SEED);
    });
}
