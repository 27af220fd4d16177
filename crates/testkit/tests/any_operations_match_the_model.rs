//! Random operations under random options, with flushes, compactions, kills and reopening in
//! between: every answer is the model's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium_env::marks::Rare;
use alluvium_testkit::{Mix, Runner, effects, seed, sequence};

/// What the usual sequences meet: if one is never met, they prove less than they say.
const MET: [Rare; 13] = [
    Rare::SnapshotTooOld,
    Rare::SnapshotTooLarge,
    Rare::DeltaRefused,
    Rare::FoldInMerge,
    Rare::FileReopened,
    Rare::FilesHeld,
    Rare::LogRestored,
    Rare::DropWaited,
    Rare::EntriesSwept,
    Rare::StaleEntry,
    Rare::FirstArray,
    Rare::ChangeGrew,
    Rare::KeyTaken,
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
    effects::must_have_done(800, 20);
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
