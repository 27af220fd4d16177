//! Random operations with random options, and with flushes, compactions, kills and reopening in between. Every result
//! equals the result of the model.

use alluvium_env::mark::Mark;
use alluvium_testkit::runner::counts;
use alluvium_testkit::{Mix, Runner, seed, sequence};

/// Rare states that the usual sequences reach. If a state is never reached, the sequences prove less than their names
/// say.
static MET: [&Mark; 14] = [
    &alluvium_store::marks::SNAPSHOT_TOO_OLD,
    &alluvium_store::marks::SNAPSHOT_TOO_LARGE,
    &alluvium_lsm::marks::DELTA_REFUSED,
    &alluvium_lsm::marks::FOLD_IN_MERGE,
    &alluvium_env::marks::FILE_REOPENED,
    &alluvium_lsm::marks::FILES_HELD,
    &alluvium_store::marks::LOG_RESTORED,
    &alluvium_store::marks::DROP_WAITED,
    &alluvium_collections::marks::ENTRIES_SWEPT,
    &alluvium_collections::marks::STALE_ENTRY,
    &alluvium_collections::marks::FIRST_ARRAY,
    &alluvium_collections::marks::FIRST_CUT_KEY,
    &alluvium_collections::marks::CHANGE_GREW,
    &alluvium_collections::marks::KEY_TAKEN,
];

#[test]
fn any_operations_match_the_model() {
    seed::each("any_operations_match_the_model", 0, 800, |seed| {
        sequence::check(120, |steps| {
            let mut runner = Runner::new(seed, Mix::All, None);
            runner.run(steps);
            runner.finish();
        });
    });
    seed::must_have_met(800, &MET);
    counts::must_have_done(800, 20);
}

#[test]
fn any_operations_match_the_model_with_background_threads() {
    seed::each("any_operations_match_the_model", 10_000, 100, |seed| {
        sequence::check(120, |steps| {
            let mut runner = Runner::in_background(seed);
            runner.run(steps);
            runner.finish();
        });
    });
}
