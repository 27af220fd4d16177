use super::*;

#[test]
fn mutations_follow_from_the_seed_and_change_inputs() {
    let make = |seed: u64| {
        let (mut rng, mut input) = (fastrand::Rng::with_seed(seed), b"some input of some length".to_vec());
        mutate(&mut rng, &mut input, b"another");
        input
    };
    assert_eq!(make(7), make(7));
    let changed = (0..100).filter(|seed| make(*seed) != b"some input of some length").count();
    assert!(changed > 80, "{changed} of 100");
    let mut empty = Vec::new();
    (0..100).for_each(|seed| mutate(&mut fastrand::Rng::with_seed(seed), &mut empty, b""));
}

#[test]
#[should_panic(expected = "no target")]
fn a_target_that_is_not_there_is_named() {
    run("nothing", b"");
}
