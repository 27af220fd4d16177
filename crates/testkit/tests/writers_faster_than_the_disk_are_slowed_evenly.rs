//! Writers demand ten times the throughput of the disk. Their throughput in each second is that of the disk, and memory
//! stays within the budget. Time is simulated; run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_testkit::pressure::overload::{self, Load};
use alluvium_testkit::seed;

#[test]
fn writers_faster_than_the_disk_are_slowed_evenly() {
    seed::each("writers_faster_than_the_disk_are_slowed_evenly", 0, 1, |seed| {
        let load = Load { partitions: 4, writers: 4, batch: 4, disk_bytes_per_s: 4_000_000, times: 10.0, seconds: 20 };
        overload::run(seed, load).check();
    });
}
