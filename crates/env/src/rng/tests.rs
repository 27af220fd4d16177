#![cfg(not(feature = "shuttle"))]

use super::*;

/// The published first numbers of SplitMix64 for the seed 1234567.
#[test]
fn the_numbers_are_splitmix64() {
    let rng = SeededRng::new(1_234_567);
    let wanted = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821_u64,
    ];
    assert_eq!(wanted.map(|_| rng.next_u64()), wanted);
}

#[test]
fn the_machine_seeds_each_generator_differently() {
    assert_ne!(OsRng::new().next_u64(), OsRng::new().next_u64());
}
