//! Commands on a collection that does not exist print a note or an error with the most similar name. Reads return
//! nothing and succeed; commands that need the collection fail.

use crate::common::Place;

#[test]
fn a_missing_collection_is_named_with_the_nearest() {
    let place = Place::new();
    place.good(&["put", "db", "comments", "1", "{}"]);
    place.good(&["put", "db", "archive.posts", "1", "{}"]);
    for arguments in [
        vec!["get", "db", "coments", "1"],
        vec!["delete", "db", "coments", "1"],
        vec!["update", "db", "coments", "1", "{\"$set\": {\"a\": 1}}"],
        vec!["stats", "db", "coments"],
        vec!["index", "list", "db", "coments"],
        vec!["index", "drop", "db", "coments", "--all"],
        vec!["drop", "db", "coments", "--yes"],
        vec!["rename", "db", "coments", "other"],
    ] {
        let said = place.bad(3, &arguments);
        assert!(said.contains("main.coments") && said.contains("did you mean main.comments?"), "{said}");
    }
    for (arguments, printed) in [
        (vec!["scan", "db", "coments"], ""),
        (vec!["count", "db", "coments"], "0\n"),
        (vec!["count", "db", "coments", "{\"a\": 1}"], "0\n"),
        (vec!["find", "db", "coments", "{}"], ""),
        (vec!["find", "db", "coments", "{}", "--hint", "a_1"], ""),
        (vec!["distinct", "db", "coments", "a"], ""),
        (vec!["export", "db", "coments"], ""),
        (vec!["delete", "db", "coments", "--where", "{}", "--many"], "deleted 0 documents\n"),
    ] {
        let done = place.run(&arguments);
        assert_eq!((done.code, done.out.as_str()), (Some(0), printed), "{arguments:?}: {}", done.err);
        let note = "note: there is no collection main.coments: did you mean main.comments?\n";
        assert_eq!(done.err, note, "{arguments:?}");
    }
    let said = place.run(&["count", "db", "archive.post"]);
    assert!(said.err.contains("archive.posts"), "{}", said.err);
    assert_eq!(place.good(&["collections", "db"]), "archive.posts\nmain.comments\n");
}
