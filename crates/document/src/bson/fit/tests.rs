use super::*;
use crate::json;

fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn the_first_value_that_bson_cannot_hold_is_named_by_its_path() {
    let nines = "9".repeat(35);
    let cases = [
        (r#"{"a":1,"b":{"c":[1,1e-7000]}}"#.to_owned(), "b.c.1", BsonError::Decimal),
        (format!(r#"{{"n":{nines}}}"#), "n", BsonError::Decimal),
        (r#"{"a":{"x\u0000y":1}}"#.to_owned(), "a.x\\0y", BsonError::Nul),
        (r#"{"r":{"$regularExpression":{"pattern":"a\u0000","options":""}}}"#.to_owned(), "r", BsonError::Nul),
    ];
    for (text, path, error) in cases {
        let mut map = map(&text);
        assert_eq!(unfit(&map), Some((path.to_owned(), error)), "{text}");
        fit(&mut map);
        assert_eq!(unfit(&map), None, "{text}");
    }
    assert_eq!(unfit(&map(r#"{"a":1e6144,"b":"\u0000","c":[{"d":0.1}]}"#)), None);
}

#[test]
fn decimals_are_rounded_as_mongodb_rounds_results() {
    // IEEE 754-2008 decimal128, which MongoDB implements with the Intel library: 34 digits, rounded half to even.
    let mut it = map(&format!(r#"{{"a":{}5,"b":1e-7000,"c":1e7000}}"#, "1".repeat(34)));
    fit(&mut it);
    let shown = |name: &str| match it.get(name) {
        Some(Value::Decimal(decimal)) => decimal.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown("a"), format!("1.{}2E+34", "1".repeat(32)));
    assert_eq!((shown("b").as_str(), shown("c").as_str()), ("0E-6176", "Infinity"));
}
