//! No filter takes memory or time far beyond its size, whatever its structure.

use crate::common::map_of;
use alluvium_document::{MAX_DEPTH, Map, Value};
use alluvium_query::filter::{ElementFilter, Filter, MAX_FILTER_BYTES};

fn refused(filter: &Map) -> (i32, &'static str) {
    let error = Filter::parse(filter).unwrap_err();
    assert!(!error.to_string().is_empty());
    (error.code().number(), error.code().name())
}

fn within(name: &str, levels: usize, inner: Map) -> Map {
    (0..levels).fold(inner, |inner, _| Map::from([(name, Value::Array(vec![Value::Map(inner)]))]))
}

#[test]
fn filters_nest_to_the_limit_and_no_further() {
    let value = |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    Filter::parse(&Map::from([("a", value(MAX_DEPTH - 1))])).unwrap();
    assert_eq!(refused(&Map::from([("a", value(MAX_DEPTH))])), (15, "Overflow"));
    // Each level is a map in an array.
    for name in ["$and", "$or", "$nor"] {
        let leaf = || Map::from([("a", 1)]);
        let filter = Filter::parse(&within(name, MAX_DEPTH / 2 - 1, leaf())).unwrap();
        filter.matches_map(&map_of(r#"{"a":1}"#)).unwrap();
        assert_eq!(refused(&within(name, MAX_DEPTH / 2, leaf())).0, 15);
    }
    // Filters that are too deep to be stored in a database, and filters whose recursion would exhaust the stack.
    assert_eq!(refused(&within("$and", 10_000, Map::new())).0, 15);
    assert_eq!(ElementFilter::parse(&value(MAX_DEPTH)).unwrap_err().code().number(), 15);
    let elements = (0..MAX_DEPTH / 2 - 1).fold(Map::from([("a", Value::from(1))]), |inner, _| {
        Map::from([("a", Value::Map(Map::from([("$elemMatch", Value::Map(inner))])))])
    });
    Filter::parse(&elements).unwrap();
}

#[test]
fn paths_have_as_many_names_as_values_nest() {
    let path = |names: usize| Map::from([(vec!["a"; names].join("."), Value::Null)]);
    assert!(Filter::parse(&path(MAX_DEPTH)).unwrap().matches_map(&Map::new()).unwrap());
    assert_eq!(refused(&path(MAX_DEPTH + 1)), (15, "Overflow"));
}

/// At every array a number has two meanings. Without a limit, the search would not end on any machine.
#[test]
fn paths_of_many_positions_end() {
    let path = |names: usize| Map::from([(vec!["0"; names].join("."), Value::from("no"))]);
    assert_eq!(refused(&path(17)).0, 15);
    let filter = Filter::parse(&path(16)).unwrap();
    let nested =
        (0..MAX_DEPTH / 2 - 1).fold(Value::Null, |inner, _| Value::Array(vec![Value::Map(Map::from([("0", inner)]))]));
    assert!(!filter.matches_map(&Map::from([("0", nested)])).unwrap());
}

#[test]
fn filters_are_no_larger_than_documents() {
    let text = "x".repeat(MAX_FILTER_BYTES);
    assert_eq!(refused(&Map::from([("a", text.as_str())])), (10334, "BSONObjectTooLarge"));
    assert!(Filter::parse(&Map::from([("a", &text[..MAX_FILTER_BYTES - 100])])).is_ok());
}

/// Patterns for which backtracking engines need exponential time.
#[test]
fn patterns_take_no_longer_than_the_text() {
    let text = Value::from("a".repeat(100_000));
    for pattern in ["(a+)+$b", "(a|aa)*b", "(.*)*=(.*)*x", "^(a?){50}a{50}b"] {
        let filter = Filter::parse(&Map::from([("a", Map::from([("$regex", pattern)]))])).unwrap();
        assert!(!filter.matches_map(&Map::from([("a", text.clone())])).unwrap(), "{pattern}");
    }
    let large = [
        "(?<=(?:a|b){1000,1001}{1000})c",
        &format!("{}{}", "(?=".repeat(90), ")".repeat(90)),
        &format!("{}{}", "(?=".repeat(1000), ")".repeat(1000)),
    ];
    for pattern in large.into_iter().chain(["(a{1000}){1000}", "\\pL{10000}", &"(".repeat(1000), &"a".repeat(16_385)]) {
        assert_eq!(refused(&Map::from([("a", Map::from([("$regex", pattern)]))])).0, 51091, "{pattern:.20}");
    }
}

fn patterns(count: usize, pattern: impl Fn(usize) -> (String, &'static str)) -> Vec<Value> {
    let regex = |(pattern, options): (String, &str)| {
        Value::Regex(Box::new(alluvium_document::value::Regex { pattern, options: options.to_owned() }))
    };
    (0..count).map(|n| regex(pattern(n))).collect()
}

fn in_list(patterns: Vec<Value>) -> Map {
    Map::from([("a", Map::from([("$in", Value::Array(patterns))]))])
}

/// Each of the patterns is within the limit for a single pattern.
#[test]
fn patterns_have_a_limit_together() {
    let large = |n: usize| (format!("^q\\pL{{20}}x{n}"), "");
    Filter::parse(&in_list(patterns(10, large))).unwrap();
    let branches =
        |patterns: Vec<Value>| Value::Array(patterns.into_iter().map(|one| Map::from([("a", one)]).into()).collect());
    let inside =
        |operator: &str| Map::from([("a", Map::from([(operator, Map::from([("$in", patterns(1500, large))]))]))]);
    let refusing = [
        in_list(patterns(1500, large)),
        Map::from([("$or", branches(patterns(1500, large)))]),
        Map::from([("a", Map::from([("$all", Value::Array(patterns(1500, large)))]))]),
        inside("$not"),
        inside("$elemMatch"),
        // Patterns that compile to empty programs, but take long to compile.
        in_list(patterns(900, |n| (format!("{n}{}", "\\pL{0}".repeat(2000)), "i"))),
        // Patterns that need backtracking.
        in_list(patterns(3000, |n| (format!("^q\\pL{{20}}x(?={n})"), ""))),
        in_list(patterns(5000, |n| (format!("^user{n}_(?!x)"), ""))),
        in_list(patterns(50, |n| (format!("{}\\1{n}", "(a)".repeat(4000)), ""))),
        // Each pattern is small, but there are too many of them.
        in_list(patterns(100_000, |n| (n.to_string(), ""))),
    ];
    for filter in refusing {
        let error = Filter::parse(&filter).unwrap_err();
        assert_eq!(error.code().number(), 51091);
        assert!(error.to_string().contains("too large together"), "{error}");
    }
}

#[test]
fn many_patterns_by_backtracking_are_taken() {
    // A repetition is a single instruction, whatever its count.
    Filter::parse(&in_list(patterns(1, |_| ("(?=a)(?:b{1000}){1000}".to_owned(), "")))).unwrap();
    let filter = Filter::parse(&in_list(patterns(1000, |n| (format!("^user{n}_(?!x)"), "")))).unwrap();
    assert!(filter.matches_map(&map_of(r#"{"a":"user99_y"}"#)).unwrap());
    assert!(!filter.matches_map(&map_of(r#"{"a":"user99_x"}"#)).unwrap());
}

#[test]
fn a_thousand_plain_patterns_are_taken() {
    for (suffix, options) in [("", ""), (".*@example\\.com$", ""), ("\\.jpg", "i")] {
        let filter = Filter::parse(&in_list(patterns(1000, |n| (format!("^user{n}_{suffix}"), options)))).unwrap();
        assert!(filter.matches_map(&map_of(r#"{"a":"user999_.jpg@example.com"}"#)).unwrap());
        assert!(!filter.matches_map(&map_of(r#"{"a":"user1000_"}"#)).unwrap());
    }
}

/// Searching for a value in a list takes at most about twenty steps, and lists of any length are allowed.
#[test]
fn long_lists_are_searched_and_not_gone_through() {
    let list: Vec<Value> = (0..300_000).map(|n| Value::from(n * 2)).collect();
    let filter = Filter::parse(&Map::from([("a", Map::from([("$in", Value::Array(list))]))])).unwrap();
    let found = (0..300_000).filter(|n| filter.matches_map(&Map::from([("a", *n)])).unwrap()).count();
    assert_eq!(found, 150_000);
}
