//! `create` makes capped collections, which keep their newest documents in the order of insertion.

mod common;

use common::Place;

#[test]
fn a_capped_collection_keeps_the_newest() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{}"]);
    place.good(&["create", "db", "log", "--capped", "1M", "--max", "2"]);
    for id in ["c", "a", "b"] {
        place.good(&["put", "db", "log", id, "{}"]);
    }
    assert_eq!(place.good(&["find", "db", "log", "{}"]), "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n");
    assert_eq!(
        place.good(&["find", "db", "log", "{}", "--sort", "{$natural: -1}"]),
        "{\"_id\":\"b\"}\n{\"_id\":\"a\"}\n"
    );
    place.good(&["verify", "db"]);
    assert!(place.bad(1, &["create", "db", "log"]).contains("exists"));
    place.bad(2, &["create", "db", "other", "--max", "2"]);
    place.bad(1, &["create", "db", "other", "--capped", "0"]);
}
