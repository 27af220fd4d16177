use super::*;

#[test]
fn quartiles_between_neighbours() {
    let found = quartiles(vec![4.0, 1.0, 3.0, 2.0]);
    assert_eq!(found, Quartiles { min: 1.0, q1: 1.75, median: 2.5, q3: 3.25, max: 4.0 });
    let one = quartiles(vec![7.0]);
    assert_eq!((one.min, one.median, one.max), (7.0, 7.0, 7.0));
    assert_eq!(quartiles(Vec::new()).median, 0.0);
}
