//! If an update does not touch a path, indexes and filters have the same results at that path before and after the
//! update.

use crate::common::arbitrary::{document, parse, update};
use crate::common::map_of;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};
use alluvium_query::filter::Filter;
use alluvium_query::index::Definition;
use alluvium_query::update::{Context, Update};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const CONTEXT: Context = Context { time_ms: 5, inserting: false };

fn path() -> impl Strategy<Value = String> {
    (select(vec!["a", "b", "c", "0"]), vec(select(vec!["a", "b", "c", "0", "1", "3"]), 0..3)).prop_map(
        |(first, rest)| {
            let names: Vec<&str> = std::iter::once(first).chain(rest).collect();
            names.join(".")
        },
    )
}

/// The results that depend on a path: its keys in an index and in a sparse index, and the results of filters.
fn seen(map: &Map, path: &str) -> String {
    let index = |options: &str| {
        let keys = Map::from([(path, 1)]);
        Definition::parse(&keys, &map_of(options)).unwrap().keys(map).map_err(|error| error.code().number())
    };
    let filters =
        [r#"{"$exists":true}"#, r#"{"$eq":null}"#, r#"{"$gte":0}"#, r#"{"$type":"object"}"#, r#"{"$size":1}"#];
    let matches = filters.map(|filter| {
        Filter::parse(&Map::from([(path, Value::Map(map_of(filter)))])).unwrap().matches_map(map).unwrap()
    });
    format!("{:?} {:?} {matches:?}", index("{}"), index(r#"{"sparse":true}"#))
}

fn after(update: &Update, map: &Map) -> Option<Map> {
    let mut map = map.clone();
    update.apply_to_map(&mut map, &CONTEXT).ok()?;
    Some(map)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_touched_is_seen_as_before(map in document(), written in update(2), path in path()) {
        let Ok(update) = parse(&written) else { return Ok(()) };
        if update.touches(&path.parse::<FieldPath>().unwrap()) {
            return Ok(());
        }
        let Some(after) = after(&update, &map) else { return Ok(()) };
        prop_assert_eq!(seen(&map, &path), seen(&after, &path));
    }
}

/// The test before this one would also pass if every path counted as touched.
#[test]
fn most_of_what_is_touched_can_be_seen_in_some_document() {
    let mut runner = TestRunner::deterministic();
    let (mut seen_changed, mut touched, mut untouched) = (0, 0, 0);
    for _ in 0..600 {
        let written = update(1).new_tree(&mut runner).unwrap().current();
        let path = path().new_tree(&mut runner).unwrap().current();
        let Ok(update) = parse(&written) else { continue };
        if !update.touches(&path.parse::<FieldPath>().unwrap()) {
            untouched += 1;
            continue;
        }
        touched += 1;
        let is_seen = (0..3000).any(|_| {
            let map = document().new_tree(&mut runner).unwrap().current();
            after(&update, &map).is_some_and(|after| seen(&map, &path) != seen(&after, &path))
        });
        seen_changed += i32::from(is_seen);
    }
    assert!(touched > 80 && untouched > 80, "{touched} {untouched}");
    assert!(seen_changed * 4 > touched * 3, "{seen_changed} of {touched}");
}
