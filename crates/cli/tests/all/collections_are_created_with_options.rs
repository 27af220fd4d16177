//! `create` creates collections with options: capped collections, and collections with a collation.

use crate::common::Place;

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

#[test]
fn a_collection_compares_by_its_collation() {
    let place = Place::new();
    place.bad(2, &["create", "db", "pets", "--collation", "en"]);
    assert!(place.bad(2, &["create", "db", "pets", "--collation", r#"{"locale": "xx"}"#]).contains("locale"));
    assert!(!place.path("db").exists());
    place.good(&["create", "db", "pets", "--collation", r#"{"locale": "en", "strength": 2}"#]);
    place.good(&["put", "db", "pets", "rex", r#"{"kind": "Dog"}"#]);
    let count = |more: &[&str]| place.good(&[&["count", "db", "pets", r#"{"kind": "DOG"}"#], more].concat());
    assert_eq!((count(&[]), count(&["--collation", r#"{"locale": "simple"}"#])), ("1\n".to_owned(), "0\n".to_owned()));
}
