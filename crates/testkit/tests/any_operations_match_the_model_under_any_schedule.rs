//! The operations of `any_operations_match_the_model`, with background threads, under a seeded scheduler. A seed
//! determines every step of each thread, and a failing sequence is shortened. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_env::schedules::OF_A_SEED;
use alluvium_testkit::{Runner, seed, sequence};

const STEPS: u32 = 60;

#[test]
fn any_operations_match_the_model_under_any_schedule() {
    seed::each("any_operations_match_the_model_under_any_schedule --features shuttle", 0, 10, |seed| {
        sequence::check(STEPS, |steps| {
            let steps = steps.to_vec();
            alluvium_env::schedules::run(seed, move || {
                let mut runner = Runner::in_background(seed);
                runner.run(&steps);
                runner.finish();
            });
        });
        seed::tally("schedules", OF_A_SEED);
    });
}
