use super::*;

#[test]
fn names_that_make_no_document_are_replaced() {
    let made = |names: &[&str]| made(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(made(&["a", "b.c", "b.d"]), ["a", "b.c", "b.d"]);
    // pandas writes its index under an empty name, and R its row names.
    assert_eq!(made(&["", "a", "a", "a_2", ""]), ["column_1", "a", "a_3", "a_2", "column_5"]);
    assert_eq!(made(&["a", "a.b", "a_b"]), ["a", "a_b_2", "a_b"]);
    assert_eq!(made(&["a..b", ".", "column_2", ""]), ["a__b", "_", "column_2", "column_4"]);
}
