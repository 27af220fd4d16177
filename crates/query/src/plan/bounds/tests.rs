//! The least text that is greater than all texts with a prefix.

use super::*;

#[test]
fn the_text_behind_a_prefix_is_behind_all_that_begin_with_it() {
    for (prefix, next) in [("abc", "abd"), ("a\u{10ffff}", "b"), ("\u{d7ff}", "\u{e000}"), ("z", "{")] {
        assert_eq!(after_prefix(prefix).as_deref(), Some(next));
        assert!(format!("{prefix}\u{10ffff}").as_bytes() < next.as_bytes());
    }
    assert_eq!(after_prefix("\u{10ffff}"), None);
    assert_eq!(after_prefix(""), None);
}
