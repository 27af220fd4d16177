//! `rename` and `drop`, which requires a confirmation.

use crate::common::Place;

#[test]
fn collections_are_renamed_and_dropped() {
    let place = Place::new();
    place.good(&["put", "db", "a", "1", "{\"x\":1}"]);
    place.good(&["put", "db", "b", "1", "{\"x\":2}"]);
    let said = place.bad(1, &["rename", "db", "a", "b"]);
    assert!(said.contains("main.b"), "{said}");
    place.good(&["rename", "db", "a", "old.a"]);
    assert_eq!(place.good(&["get", "db", "old.a", "1"]), "{\"_id\":1,\"x\":1}\n");
    let said = place.bad(2, &["drop", "db", "b"]);
    assert!(said.contains("--yes"), "{said}");
    assert_eq!(place.good(&["count", "db", "b"]), "1\n");
    place.good(&["drop", "db", "b", "--yes"]);
    assert_eq!(place.good(&["collections", "db"]), "old.a\n");
    assert_eq!(place.good(&["count", "db", "b"]), "0\n");
    place.bad(3, &["rename", "db", "b", "c"]);
}
