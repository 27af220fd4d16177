//! What the positional operator represents: the first element of an array for which the filter's conditions on it hold.

mod common;

use alluvium_document::path::FieldPath;
use alluvium_query::filter::Filter;
use common::{map_of, stored_document};

#[test]
fn the_first_element_that_meets_a_condition_is_found() {
    for (filter, document, array, expected) in [
        (r#"{"grades":80}"#, r#"{"grades":[85,80,80]}"#, "grades", Some(1)),
        (r#"{"grades":{"$gt":80,"$lt":90}}"#, r#"{"grades":[95,80,85]}"#, "grades", Some(0)),
        (r#"{"grades":{"$elemMatch":{"$gt":80,"$lt":90}}}"#, r#"{"grades":[95,80,85]}"#, "grades", Some(2)),
        (r#"{"grades":{"$in":[7,80]}}"#, r#"{"grades":[85,80]}"#, "grades", Some(1)),
        (r#"{"g.grade":85}"#, r#"{"g":[{"grade":80},5,{"grade":[1,85]}]}"#, "g", Some(2)),
        (
            r#"{"g":{"$elemMatch":{"grade":{"$lte":90},"mean":{"$gt":80}}}}"#,
            r#"{"g":[{"grade":80,"mean":75},{"grade":85,"mean":90}]}"#,
            "g",
            Some(1),
        ),
        (r#"{"g.grade":85,"g":{"$elemMatch":{"x":1}}}"#, r#"{"g":[{"grade":85},{"x":1}]}"#, "g", Some(1)),
        (r#"{"a.b":5}"#, r#"{"a":{"b":[4,5]}}"#, "a.b", Some(1)),
        (r#"{"a.b.c":5}"#, r#"{"a":{"b":[{"c":4},{"c":5}]}}"#, "a.b", Some(1)),
        (r#"{"$or":[{"g":1},{"g":3}]}"#, r#"{"g":[2,3,1]}"#, "g", Some(2)),
        (r#"{"$or":[{"g":9},{"g":3}]}"#, r#"{"g":[2,3,1]}"#, "g", Some(1)),
        (r#"{"$and":[{"x":1},{"g":3}]}"#, r#"{"x":1,"g":[2,3]}"#, "g", Some(1)),
        (r#"{"g":null}"#, r#"{"g":[1,null]}"#, "g", Some(1)),
        (r#"{"g.1":3}"#, r#"{"g":[2,3]}"#, "g", Some(1)),
        (r#"{"g":[2,3]}"#, r#"{"g":[2,3]}"#, "g", None),
        (r#"{"g":{"$size":2}}"#, r#"{"g":[2,3]}"#, "g", None),
        (r#"{"g":{"$ne":2}}"#, r#"{"g":[4,3]}"#, "g", None),
        (r#"{"g":2}"#, r#"{"g":2}"#, "g", None),
        (r#"{"x":2}"#, r#"{"x":2,"g":[2]}"#, "g", None),
        (r#"{"g":5}"#, r#"{"g":[2,3]}"#, "g", None),
        (r#"{"g":5}"#, r#"{}"#, "g", None),
        (r#"{"a.b":5}"#, r#"{"a":[{"b":[5]}]}"#, "a.b", None),
        (r#"{}"#, r#"{"g":[1]}"#, "g", None),
    ] {
        let parsed = Filter::parse(&map_of(filter)).unwrap();
        let mut map = map_of(document);
        map.push("_id", 1);
        let array: FieldPath = array.parse().unwrap();
        assert_eq!(parsed.position_in_map(&map, &array), expected, "{filter} {document}");
        assert_eq!(parsed.position(&stored_document(&map), &array).unwrap(), expected, "{filter} {document}");
    }
}
