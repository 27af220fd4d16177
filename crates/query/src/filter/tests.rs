//! Equivalent filters have the same text, however they are written.

use super::*;
use alluvium_document::json;

fn filter(text: &str) -> Filter {
    let value = json::parse(text.as_bytes()).unwrap();
    Filter::parse(value.as_map().unwrap()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn filters_that_say_the_same_are_equal() {
    for (a, b) in [
        (r#"{"a":1}"#, r#"{"a":{"$eq":1}}"#),
        (r#"{"b":1,"a":2}"#, r#"{"$and":[{"a":2},{"b":1},{"a":{"$eq":2}}]}"#),
        (r#"{"a":{"$lt":5,"$gt":1}}"#, r#"{"a":{"$gt":1},"$and":[{"a":{"$lt":5}}]}"#),
        (r#"{"a":{"$in":[2,1,2]}}"#, r#"{"a":{"$in":[1,2]}}"#),
        (r#"{"$or":[{"a":1},{"$or":[{"b":1},{"c":1}]}]}"#, r#"{"$or":[{"a":1},{"b":1},{"c":1}]}"#),
        (r#"{"$or":[{"a":1}]}"#, r#"{"a":1}"#),
        (r#"{"a":{"$not":{"$not":{"$gt":1}}}}"#, r#"{"a":{"$gt":1}}"#),
        (r#"{"a":{"$all":[1,2]}}"#, r#"{"$and":[{"a":2},{"a":1}]}"#),
        (r#"{"a":{"$regex":"x","$options":"si"}}"#, r#"{"a":{"$regularExpression":{"pattern":"x","options":"isu"}}}"#),
        (r#"{"a":{"$bitsAllSet":[0,2]}}"#, r#"{"a":{"$bitsAllSet":5}}"#),
        (r#"{"a":{"$type":"number"}}"#, r#"{"a":{"$type":[1,"int",18,"decimal"]}}"#),
        (r#"{"a":1,"$comment":"why"}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(filter(a), filter(b), "{a} {b}");
        assert_eq!(filter(a).to_string(), filter(b).to_string());
    }
    for (a, b) in [(r#"{"a":1}"#, r#"{"a":2}"#), (r#"{"a":{"$gt":1}}"#, r#"{"a":{"$gte":1}}"#)] {
        assert_ne!(filter(a), filter(b), "{a} {b}");
    }
}

#[test]
fn many_branches_for_one_field_are_a_list() {
    let branch = |n: i32| Value::Map(Map::from([("a", n)]));
    let or = |n: i32| Map::from([("$or", Value::Array((0..n).map(branch).collect()))]);
    let list = Map::from([("a", Map::from([("$in", Value::Array((0..70).map(Value::from).collect()))]))]);
    assert_eq!(Filter::parse(&or(70)).unwrap(), Filter::parse(&list).unwrap());
    assert!(matches!(Filter::parse(&or(64)).unwrap().clauses[..], [tree::Clause::Or(_)]));
}

/// In a list, these values would be operators or patterns.
#[test]
fn what_is_no_value_of_a_list_stays_a_branch() {
    let branch = |value: Value| Value::Map(Map::from([("a", Map::from([("$eq", value)]))]));
    let regex = json::parse(br#"{"$regularExpression":{"pattern":"x","options":""}}"#).unwrap();
    for odd in [Value::Map(Map::from([("$x", 1)])), regex] {
        let branches = (0..70).map(Value::from).chain([odd]).map(branch).collect();
        let filter = Filter::parse(&Map::from([("$or", Value::Array(branches))])).unwrap();
        assert_eq!(Filter::parse(&filter.to_map()).as_ref(), Ok(&filter));
        assert!(matches!(&filter.clauses[..], [tree::Clause::Or(branches)] if branches.len() == 2));
    }
}

#[test]
fn references_have_fields_with_dollar_signs() {
    let array = json::parse(br#"{"r":[{"$ref":"u","$id":1},{"$ref":"v","$id":2,"x":3}]}"#).unwrap();
    for (text, matches) in [
        (r#"{"r":{"$elemMatch":{"$ref":"u","$id":1}}}"#, true),
        (r#"{"r":{"$elemMatch":{"$ref":"u","$id":2}}}"#, false),
        (r#"{"r":{"$elemMatch":{"$id":2}}}"#, true),
        (r#"{"r":{"$elemMatch":{"x":3,"$id":{"$gt":1}}}}"#, true),
        (r#"{"r":{"$elemMatch":{"$or":[{"$id":5},{"$ref":"v"}]}}}"#, true),
        (r#"{"r":{"$not":{"$elemMatch":{"$db":"d"}}}}"#, true),
        (r#"{"r":{"$elemMatch":{"$nor":[{"$id":1},{"$id":2}]}}}"#, false),
    ] {
        let filter = filter(text);
        assert_eq!(filter.matches_value(&array).unwrap(), matches, "{text}");
        assert_eq!(Filter::parse(&filter.to_map()), Ok(filter), "{text}");
    }
    for text in [r#"{"$id":1}"#, r#"{"$or":[{"$ref":"u"}]}"#, r#"{"r":{"$id":1}}"#, r#"{"r":{"$elemMatch":{"$x":1}}}"#]
    {
        let value = json::parse(text.as_bytes()).unwrap();
        assert!(Filter::parse(value.as_map().unwrap()).is_err(), "{text}");
    }
}

#[test]
fn an_unknown_operator_gets_the_nearest_as_a_suggestion() {
    let wrong = |filter: Map| Filter::parse(&filter).unwrap_err();
    for (filter, message) in [
        (Map::from([("a", Map::from([("$gtt", 1)]))]), "unknown operator $gtt for 'a': did you mean $gt?"),
        (Map::from([("a", Map::from([("$foo", 1)]))]), "unknown operator $foo for 'a'"),
        (Map::from([("$xor", 1)]), "unknown operator $xor: did you mean $or?"),
    ] {
        let error = wrong(filter);
        assert_eq!((error.code().number(), error.to_string().as_str()), (2, message));
    }
}
