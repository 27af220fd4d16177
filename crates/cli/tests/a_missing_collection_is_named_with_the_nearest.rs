//! A collection that does not exist is never silently empty: it is named, with the nearest that does.

#![allow(clippy::disallowed_methods)]

mod common;

use common::Place;

#[test]
fn a_missing_collection_is_named_with_the_nearest() {
    let place = Place::new();
    place.good(&["put", "db", "comments", "1", "{}"]);
    place.good(&["put", "db", "archive.posts", "1", "{}"]);
    for arguments in [
        vec!["get", "db", "coments", "1"],
        vec!["scan", "db", "coments"],
        vec!["count", "db", "coments"],
        vec!["delete", "db", "coments", "1"],
        vec!["drop", "db", "coments", "--yes"],
        vec!["rename", "db", "coments", "other"],
    ] {
        let said = place.bad(3, &arguments);
        assert!(said.contains("main.coments") && said.contains("did you mean main.comments?"), "{said}");
    }
    let said = place.bad(3, &["count", "db", "archive.post"]);
    assert!(said.contains("archive.posts"), "{said}");
    assert_eq!(place.good(&["collections", "db"]), "archive.posts\nmain.comments\n");
}
