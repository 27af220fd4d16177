use super::*;

#[test]
fn numbers_come_in_numeric_order_and_names_in_that_of_their_bytes() {
    let sorted =
        ["!", "0", "01", "02", "1", "2", "10", "9a", "100", "1000", "A", "B", "a", "a.0", "a.2", "a.10", "a.b"];
    let paths: Vec<FieldPath> = sorted.iter().map(|text| text.parse().unwrap()).collect();
    for (i, a) in paths.iter().enumerate() {
        for (j, b) in paths.iter().enumerate() {
            assert_eq!(compare_paths(a, b), i.cmp(&j), "{a} {b}");
        }
    }
}
