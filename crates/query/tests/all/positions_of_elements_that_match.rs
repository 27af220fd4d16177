//! The positional operator represents the position that the last condition on an array selects.

use crate::common::{focused, map_of, naive, stored_document};
use alluvium_document::{Map, Value};
use alluvium_query::filter::{Filter, Selection};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn check(filter: &str, document: &str, in_projection: Option<usize>, in_update: Option<usize>) {
    let parsed = Filter::parse(&map_of(filter)).unwrap();
    let mut map = map_of(document);
    map.push("_id", 1);
    for (selection, expected) in [(Selection::Projection, in_projection), (Selection::Update, in_update)] {
        assert_eq!(parsed.position_in_map(&map, selection).unwrap(), expected, "{filter} {document} {selection:?}");
        assert_eq!(parsed.position(&stored_document(&map), selection).unwrap(), expected, "{filter} {document}");
    }
}

#[test]
fn the_first_element_that_meets_a_condition_is_selected() {
    for (filter, document, expected) in [
        (r#"{"grades":80}"#, r#"{"grades":[85,80,80]}"#, Some(1)),
        (r#"{"grades":{"$elemMatch":{"$gt":80,"$lt":90}}}"#, r#"{"grades":[95,80,85]}"#, Some(2)),
        (r#"{"grades":{"$in":[7,80]}}"#, r#"{"grades":[85,80]}"#, Some(1)),
        (r#"{"g.grade":85}"#, r#"{"g":[{"grade":80},5,{"grade":[1,85]}]}"#, Some(2)),
        (
            r#"{"g":{"$elemMatch":{"grade":{"$lte":90},"mean":{"$gt":80}}}}"#,
            r#"{"g":[{"grade":80,"mean":75},{"grade":85,"mean":90}]}"#,
            Some(1),
        ),
        (r#"{"a.b":5}"#, r#"{"a":{"b":[4,5]}}"#, Some(1)),
        (r#"{"a.b.c":5}"#, r#"{"a":{"b":[{"c":4},{"c":5}]}}"#, Some(1)),
        (r#"{"$and":[{"x":1},{"g":3}]}"#, r#"{"x":1,"g":[2,3]}"#, Some(1)),
        (r#"{"g":null}"#, r#"{"g":[1,null]}"#, Some(1)),
        (r#"{"g.1":3}"#, r#"{"g":[2,3]}"#, Some(1)),
        (r#"{"g":[2,3]}"#, r#"{"g":[2,3]}"#, None),
        (r#"{"g":{"$size":2}}"#, r#"{"g":[2,3]}"#, None),
        (r#"{"g":{"$ne":2}}"#, r#"{"g":[4,3]}"#, None),
        (r#"{"g":2}"#, r#"{"g":2}"#, None),
        // The condition is on a different array than the operator, and the outermost array on the path counts.
        (r#"{"x":2}"#, r#"{"x":[1,2],"g":[2]}"#, Some(1)),
        (r#"{"a.b":5}"#, r#"{"a":[{},{"b":[4,4,5]}]}"#, Some(1)),
        (r#"{"a.b":{"$elemMatch":{"$eq":5}}}"#, r#"{"a":[{},{"b":[4,4,5]}]}"#, Some(1)),
        (r#"{"a.1.b":5}"#, r#"{"a":[{"b":5},{"b":5}]}"#, None),
        (r#"{"a.1.b":5}"#, r#"{"a":[{},{"b":[4,4,5]}]}"#, Some(2)),
        ("{}", r#"{"g":[1]}"#, None),
        // An `$or` selects a position only if its branches are values of one field.
        (r#"{"$or":[{"g":1},{"g":3}]}"#, r#"{"g":[2,3,1]}"#, Some(1)),
        (r#"{"$or":[{"g":1},{"g":{"$gt":2}}]}"#, r#"{"g":[2,3,1]}"#, None),
        (r#"{"$or":[{"g":1},{"h":3}]}"#, r#"{"g":[2,3,1]}"#, None),
        (r#"{"$or":[{"g":1}]}"#, r#"{"g":[2,3,1]}"#, Some(2)),
    ] {
        check(filter, document, expected, expected);
    }
}

#[test]
fn the_last_condition_decides() {
    for (filter, document, in_projection, in_update) in [
        (r#"{"g":{"$all":[5,3]}}"#, r#"{"g":[3,5]}"#, 0, 0),
        (r#"{"g":{"$all":[3,5]}}"#, r#"{"g":[3,5]}"#, 1, 1),
        (r#"{"g":{"$all":[3,5,3]}}"#, r#"{"g":[3,5]}"#, 0, 0),
        (r#"{"g":{"$all":[{"$elemMatch":{"x":2}},{"$elemMatch":{"x":1}}]}}"#, r#"{"g":[{"x":1},{"x":2}]}"#, 0, 0),
        // An update sorts the conditions by their operators, then by their paths.
        (r#"{"g":{"$gt":80,"$lt":90}}"#, r#"{"g":[95,80,85]}"#, 1, 0),
        (r#"{"g":{"$lt":90,"$gt":80}}"#, r#"{"g":[95,80,85]}"#, 0, 0),
        (r#"{"g.grade":85,"g":{"$elemMatch":{"x":1}}}"#, r#"{"g":[{"grade":85},{"x":1}]}"#, 1, 0),
        (r#"{"b":5,"a":5}"#, r#"{"a":[1,5],"b":[5]}"#, 1, 0),
        (r#"{"a":5,"b":5}"#, r#"{"a":[1,5],"b":[5]}"#, 0, 0),
        (r#"{"a":5,"b":5}"#, r#"{"a":[1,5],"b":5}"#, 1, 1),
        // Conditions in groups come after all others.
        (r#"{"g":{"$all":[5,3]},"h":1}"#, r#"{"g":[2,3,5],"h":[1]}"#, 1, 0),
        (r#"{"$and":[{"g":5},{"g":3}],"h":1}"#, r#"{"g":[2,3,5],"h":[1]}"#, 1, 0),
        (r#"{"$and":[{"g":{"$all":[3,3]}}],"h":1}"#, r#"{"g":[2,3,5],"h":[1]}"#, 0, 0),
        (r#"{"g":{"$all":[3,3]},"h":1}"#, r#"{"g":[2,3,5],"h":[1]}"#, 0, 0),
        (r#"{"$and":[{"g":5}],"h":1}"#, r#"{"g":[2,3,5],"h":[1]}"#, 0, 0),
    ] {
        check(filter, document, Some(in_projection), Some(in_update));
    }
}

fn condition() -> impl Strategy<Value = Value> {
    let small = || prop_oneof![5 => (0i32..4).prop_map(Value::from), 1 => Just(Value::Null)];
    let list = |len| vec(small(), len).prop_map(Value::Array);
    let inner = (select(vec!["b", "c"]), small()).prop_map(|pair| Value::Map(Map::from([pair])));
    let itself = (select(vec!["$gt", "$eq", "$lt"]), small()).prop_map(|pair| Value::Map(Map::from([pair])));
    let operator = prop_oneof![
        4 => (select(vec!["$gt", "$gte", "$lt", "$lte", "$ne"]), small()),
        2 => (Just("$all"), list(1..3)),
        1 => (Just("$in"), list(1..3)),
        2 => (Just("$elemMatch"), prop_oneof![inner, itself]),
        1 => (Just("$size"), (1i32..3).prop_map(Value::from)),
        1 => (Just("$exists"), Just(Value::from(true))),
    ];
    let operators = vec(operator, 1..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
        Value::Map(map)
    });
    prop_oneof![2 => small(), 3 => operators]
}

fn filter() -> impl Strategy<Value = Map> {
    let path = select(vec!["a", "a.b", "a.c", "b", "c", "a.0", "a.1", "a.1.b", "a.b.0"]);
    let fields = vec((path, condition()), 1..4).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
        map
    });
    fields.prop_recursive(2, 6, 3, |inner| {
        let list = (select(vec!["$and", "$or", "$nor"]), vec(inner.clone(), 1..3));
        (inner, list).prop_map(|(map, (name, list))| {
            let list = Value::Array(list.into_iter().map(Value::Map).collect());
            let mut all = Map::from([(name, list)]);
            all.entries.extend(map.entries.into_iter().filter(|(known, _)| known.as_str() != Some(name)));
            all
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 400_000, ..ProptestConfig::default() })]

    #[test]
    fn a_second_evaluator_selects_the_same(map in filter(), document in focused::document()) {
        // A double negation is parsed as the condition itself, which can select a position.
        let text = format!("{map:?}");
        prop_assume!(!(text.contains("$nor") && text.contains("$ne")));
        prop_assume!(naive::matches(&map, &Value::Map(document.clone())));
        let parsed = Filter::parse(&map).unwrap();
        for (selection, is_update) in [(Selection::Projection, false), (Selection::Update, true)] {
            let expected = naive::selected(&map, &document, is_update);
            prop_assert_eq!(parsed.position_in_map(&document, selection).unwrap(), expected, "{:?}", selection);
        }
    }
}
