use super::*;
use alluvium::doc;

const FIELDS: &[Field] =
    &[required("find", Kind::Text), optional("limit", Kind::Integer), optional("hint", Kind::TextOrDocument)];

#[test]
fn types_are_checked_by_name() {
    let check = |body: Map| check("find", FIELDS, &body).map_err(|error| (error.code, error.message));
    assert_eq!(check(doc! {"find": "pets", "limit": 3.0, "hint": "a_1", "other": 1}), Ok(()));
    assert_eq!(check(doc! {"find": "pets", "limit": null}), Ok(()));
    let missing = "BSON field 'find.find' is missing but a required field";
    assert_eq!(check(doc! {"limit": 1}), Err((40414, missing.to_owned())));
    for (body, found, expected) in [
        (doc! {"find": 1}, "find' is the wrong type 'int'", "'string'"),
        (doc! {"find": "pets", "limit": 1.5}, "limit' is the wrong type 'double'", "'[long, int, decimal, double]'"),
        (doc! {"find": "pets", "hint": [1]}, "hint' is the wrong type 'array'", "'[string, object]'"),
    ] {
        let message = format!("BSON field 'find.{found}, expected types {expected}");
        assert_eq!(check(body), Err((14, message)));
    }
}

#[test]
fn negative_counts_are_refused() {
    assert_eq!(doc! {"skip": 3_i64}.count("skip"), Ok(Some(3)));
    assert_eq!(doc! {}.count("skip"), Ok(None));
    assert_eq!(doc! {"skip": -1}.count("skip").map_err(|error| error.code), Err(51024));
}
