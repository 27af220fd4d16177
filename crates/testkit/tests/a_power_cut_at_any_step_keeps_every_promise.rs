//! The power is cut before every write, sync, rename, creation and removal of generated
//! sequences, in all three durabilities; each disk that is left opens, and keeps the promises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::Durability;
use testkit::cuts::{self, Hits};
use testkit::seed;

#[test]
fn a_power_cut_at_any_step_keeps_every_promise() {
    let hits = std::cell::RefCell::new(Hits::default());
    seed::each("a_power_cut_at_any_step_keeps_every_promise", 0, 20, |seed| {
        for durability in [Durability::Sync, Durability::Periodic, Durability::Bulk] {
            hits.borrow_mut().add(&cuts::run(seed, durability, None));
        }
    });
    let hits = hits.into_inner();
    for (kind, count) in &hits.points {
        println!("{kind:?} {count}");
    }
    println!("{} cuts, {} lossy, {} second cuts", hits.total(), hits.lossy, hits.second_cuts);
}
