use super::*;

#[test]
fn quartiles_lie_between_figures() {
    let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).expect("figures");
    assert_eq!([spread.min, spread.q1, spread.median, spread.q3, spread.max], [1.0, 1.75, 2.5, 3.25, 4.0]);
    assert_eq!(spread.count, 4);
    assert_eq!(Spread::of(&[7.0]), Some(Spread::single(7.0)));
    assert_eq!(Spread::of(&[]), None);
    assert_eq!(Spread::single(2.0).scaled(0.5), Spread::single(1.0));
}
