//! Thirty-two threads write to sixteen partitions as fast as they can. The throughput is steady in each second, no
//! thread starves, and memory stays within the budget. Time is simulated; run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_testkit::pressure::overload::{self, Load};
use alluvium_testkit::seed;

#[test]
fn many_writers_to_many_partitions_are_served_alike() {
    seed::each("many_writers_to_many_partitions_are_served_alike", 0, 1, |seed| {
        let load =
            Load { partitions: 16, writers: 32, batch: 1, disk_bytes_per_s: 4_000_000, times: 10.0, seconds: 20 };
        overload::run(seed, load).check();
    });
}
