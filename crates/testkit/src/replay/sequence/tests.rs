use super::*;

const LONG: Duration = Duration::from_secs(600);

#[test]
fn only_what_is_needed_is_left() {
    let all: Vec<u32> = (0..120).collect();
    for needed in [vec![], vec![0], vec![119], vec![3, 4, 5], vec![7, 60, 61, 118]] {
        let fails = |steps: &[u32]| needed.iter().all(|step| steps.contains(step));
        assert_eq!(shrink(all.clone(), LONG, fails), needed);
    }
    assert_eq!(shrink(all.clone(), Duration::ZERO, |_| true), all, "without any time all is as it was");
}

#[test]
fn steps_draw_from_their_own_numbers() {
    let draw = |seed, step| rng_of(seed, step).u64(..);
    assert_eq!(draw(7, 3), draw(7, 3));
    let mut drawn: Vec<u64> = (0..20).flat_map(|seed| (0..20).map(move |step| draw(seed, step))).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 400);
}

#[test]
#[should_panic(expected = "step 30 after 12")]
fn a_failure_comes_again_at_the_end() {
    check(60, |steps| {
        let broken = steps.contains(&30) && steps.contains(&12);
        assert!(!broken, "step 30 after 12");
    });
}
