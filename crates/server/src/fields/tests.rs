use super::*;
use alluvium::doc;

const FIELDS: &[Field] =
    &[required("find", Kind::Collection), optional("limit", Kind::Integer), optional("hint", Kind::Hint)];

#[test]
fn types_are_checked_by_name() {
    let check = |body: Map| check("find", FIELDS, &body).map_err(|error| (error.code, error.message));
    assert_eq!(check(doc! {"find": "pets", "limit": 3.0, "hint": "a_1", "other": 1}), Ok(()));
    assert_eq!(check(doc! {"find": "pets", "limit": null}), Ok(()));
    let missing = "BSON field 'find.find' is missing but a required field";
    assert_eq!(check(doc! {"limit": 1}), Err((40414, missing.to_owned())));
    assert_eq!(check(doc! {"find": null}).map_err(|(code, _)| code), Err(73));
    assert_eq!(check(doc! {"find": "pets", "hint": null}).map_err(|(code, _)| code), Err(9));
    for (body, code, found, expected) in [
        (doc! {"find": 1}, 73, "find' is the wrong type 'int'", "'string'"),
        (
            doc! {"find": "pets", "limit": 1.5},
            14,
            "limit' is the wrong type 'double'",
            "'[long, int, decimal, double]'",
        ),
        (doc! {"find": "pets", "hint": [1]}, 9, "hint' is the wrong type 'array'", "'[string, object]'"),
    ] {
        let message = format!("BSON field 'find.{found}, expected types {expected}");
        assert_eq!(check(body), Err((code, message)));
    }
}

#[test]
fn fields_that_are_right_are_refused_by_no_check() {
    let right = |body: &Map| are_right(FIELDS, true, body, |_| false);
    for body in [
        doc! {"find": "pets"},
        doc! {"find": "pets", "limit": 3.0, "hint": "a_1", "$db": "zoo", "lsid": {}, "$audit": 1},
        doc! {"find": "pets", "comment": null},
    ] {
        assert!(right(&body), "{body}");
        assert_eq!(check("find", FIELDS, &body).and(check("find", COMMON, &body)).err(), None, "{body}");
    }
    for body in [
        doc! {"find": 1},
        doc! {"limit": 1},
        doc! {"find": "pets", "limit": 1.5},
        doc! {"find": "pets", "hint": null},
        doc! {"find": "pets", "lsid": 1},
        doc! {"find": "pets", "other": 1},
    ] {
        assert!(!right(&body), "{body}");
    }
    assert!(are_right(FIELDS, false, &doc! {"find": "pets", "other": 1}, |_| false));
    assert!(are_right(FIELDS, true, &doc! {"limit": 1}, |name| name == "find"));
}

#[test]
fn negative_counts_are_refused() {
    assert_eq!(doc! {"skip": 3_i64}.count("skip"), Ok(Some(3)));
    assert_eq!(doc! {}.count("skip"), Ok(None));
    assert_eq!(doc! {"skip": -1}.count("skip").map_err(|error| error.code), Err(2));
}

#[test]
fn numbers_lose_their_fractions() {
    let decimal = |text: &str| Value::Decimal(text.parse().expect("a number"));
    for (value, expected) in [
        (Value::from(2.9), 2),
        (Value::from(-0.9), 0),
        (Value::from(f64::NAN), 0),
        (Value::from(f64::INFINITY), i64::MAX),
        (Value::from(i64::MIN), i64::MIN),
        (decimal("0.5"), 0),
        (decimal("1.5"), 2),
        (decimal("2.5"), 2),
        (decimal("-0.5"), 0),
        (decimal("0.5000000000000000000000000000000001"), 1),
        (decimal("0.4999999999999999999999999999999999"), 0),
        (decimal("9223372036854775808"), i64::MAX),
        (decimal("-Infinity"), i64::MIN),
        (decimal("NaN"), 0),
    ] {
        assert_eq!(truncated(&value), Some(expected), "{value}");
    }
    assert_eq!(truncated(&Value::from("1")), None);
}

#[test]
fn unknown_fields_are_named() {
    let refuse = |body: &Map| refuse_unknown("find", FIELDS, body.entries.iter().map(|(name, _)| name));
    assert_eq!(refuse(&doc! {"find": 1, "hint": 1}), Ok(()));
    let error = refuse(&doc! {"find": 1, "Hint": 1}).expect_err("unknown");
    assert_eq!((error.code, error.message.as_str()), (40415, "BSON field 'find.Hint' is an unknown field."));
}
