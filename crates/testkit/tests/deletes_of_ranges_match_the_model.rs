//! Random operations on the key/value store, including deletes of ranges, with snapshots, flushes, compactions, kills,
//! power cuts and reopening in between. Every result equals the result of the model.

use alluvium_testkit::key_value::{Cuts, KvRunner, PARTS};
use alluvium_testkit::{seed, sequence};

const NAME: &str = "deletes_of_ranges_match_the_model";

#[test]
fn any_operations() {
    seed::each(NAME, 0, 150, |seed| sequence::check(150, |steps| KvRunner::new(seed, Cuts::None, false).run(steps)));
    seed::must_have_met(150, &[&alluvium_lsm::marks::RANGE_FORGOTTEN, &alluvium_lsm::marks::FILE_UNDER_RANGE]);
}

#[test]
fn any_operations_with_power_cuts() {
    seed::each(NAME, 20_000, 40, |seed| sequence::check(80, |steps| KvRunner::new(seed, Cuts::Some, false).run(steps)));
}

#[test]
fn any_operations_with_background_threads() {
    seed::each(NAME, 40_000, 30, |seed| sequence::check(150, |steps| KvRunner::new(seed, Cuts::None, true).run(steps)));
}

#[test]
fn any_operations_with_power_cuts_at_every_change() {
    const SEQUENCES: u64 = 8 * PARTS;
    let name = format!("{NAME} at_every_change");
    seed::each(&name, 480_000, SEQUENCES, |seed| {
        let cuts = Cuts::Part(seed % PARTS);
        sequence::check(40, |steps| KvRunner::new(seed / PARTS, cuts, false).run(steps));
    });
    seed::must_have_met(SEQUENCES, &[&alluvium_testkit::marks::CRASH_DURING_RECOVERY]);
}
