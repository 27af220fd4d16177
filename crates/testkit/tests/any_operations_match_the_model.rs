//! Random operations under random options, with flushes, compactions, kills and reopening in
//! between: every answer is the model's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{Mix, Runner, seed};

#[test]
fn any_operations_match_the_model() {
    seed::each("any_operations_match_the_model", 0, 800, |seed| {
        let mut runner = Runner::new(seed, Mix::All, None);
        runner.run(120);
        runner.finish();
    });
}

#[test]
fn any_operations_match_the_model_with_background_threads() {
    seed::each("any_operations_match_the_model", 10_000, 100, |seed| {
        let mut runner = Runner::in_background(seed);
        runner.run(120);
        runner.finish();
    });
}
