use super::*;

#[test]
fn shares_are_rounded_but_never_to_nothing_or_all() {
    assert_eq!(
        [0.0, 0.001, 0.01, 0.455, 0.99, 0.999, 1.0].map(percent),
        ["0%", "<1%", "1%", "46%", "99%", ">99%", "100%"]
    );
}

#[test]
fn long_texts_are_cut_by_characters() {
    assert_eq!(shortened(&Value::from("ä".repeat(40))), Value::from("ä".repeat(40)));
    assert_eq!(shortened(&Value::from("ä".repeat(41))), Value::from("ä".repeat(40) + "…"));
    assert_eq!(shortened(&Value::from(5)), Value::from(5));
}
