use super::*;

#[test]
fn a_part_of_a_second_is_no_rate() {
    let points = |times: &[f64]| times.iter().map(|time| (*time, 5.0)).collect::<Vec<_>>();
    let mut cut = points(&[1.0, 2.0, 3.01, 3.4]);
    leave_out_the_rest(&mut cut);
    assert_eq!(cut, points(&[1.0, 2.0, 3.01]));
    for mut whole in [points(&[1.0, 2.0, 3.0, 3.98]), points(&[0.4]), points(&[1.0, 1.2])] {
        let before = whole.clone();
        leave_out_the_rest(&mut whole);
        assert_eq!(whole, before);
    }
}
