mod declared {
    crate::declare_marks! {
        FIRST: "the first path was taken",
        SECOND: "the second path was taken",
    }
}

use declared::{ALL, FIRST, SECOND};

#[test]
fn each_path_is_counted_alone() {
    FIRST.hit();
    FIRST.hit();
    assert_eq!((FIRST.hits(), SECOND.hits()), (2, 0));
}

#[test]
fn all_lists_every_mark() {
    let descriptions: Vec<&str> = ALL.iter().map(|mark| mark.description()).collect();
    assert_eq!(descriptions, ["the first path was taken", "the second path was taken"]);
}
