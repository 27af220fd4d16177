#![allow(clippy::unwrap_used)]
use std::sync::atomic::{AtomicUsize, Ordering};

use document::{Map, Value};

use super::super::budget::BRANCHES_IN_ALL;
use super::super::{Estimator, KeyRange};
use super::*;

/// Counts how often somebody asks, which is at least once for each branch that is planned.
#[derive(Debug, Default)]
struct Counter(AtomicUsize);

impl Estimator for Counter {
    fn share(&self, _: &Index<'_>, _: &[KeyRange]) -> Option<f64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        None
    }

    fn share_of_ids(&self, _: &[KeyRange]) -> Option<f64> {
        None
    }
}

/// The plan with an index on `f`, and how often an index was looked into for it.
fn planned(filter: &Map) -> (Plan, usize) {
    let definition = Definition::parse(&Map::from([("f", 1)]), &Map::new()).unwrap();
    let index =
        Index { definition: &definition, multikey: 0, entries: 1_000_000, distinct: &[100_000], bytes: 20_000_000 };
    let counter = Counter::default();
    let collection = Collection {
        documents: 1_000_000,
        bytes: 1 << 30,
        partitions: 1,
        natural_ids: true,
        indexes: &[index],
        estimator: Some(&counter),
    };
    let filter = Filter::parse(filter).unwrap();
    let plan = plan(&Query::of(&filter), &collection).unwrap();
    (plan, counter.0.load(Ordering::Relaxed))
}

fn has_union(plan: &Plan) -> bool {
    let root = match &plan.root {
        Node::Fetch { input, .. } => input,
        root => root,
    };
    matches!(root, Node::Union { .. }) || plan.rejected.iter().any(|way| way.way.starts_with("union"))
}

fn list(n: i32, one: impl Fn(i32) -> Map) -> Value {
    Value::Array((0..n).map(|n| Value::Map(one(n))).collect())
}

#[test]
fn choices_do_not_multiply() {
    let branch = |at: i32, n: i32| {
        let names = ["f".to_owned(), format!("g{at}")];
        let [f, g] = [Map::from([("$gt", n)]), Map::from([("$lt", n)])];
        names.into_iter().zip([f, g]).collect::<Map>()
    };
    let question = |ors: i32| Map::from([("$and", list(ors, |at| Map::from([("$or", list(40, |n| branch(at, n)))])))]);
    // A choice or two are planned with all that lies in them.
    let (plan, looked) = planned(&question(2));
    assert!(has_union(&plan) && looked > 2 * 40 * 40, "{looked}");
    // Each branch takes an index scan and what it may be met with.
    for ors in [4, 8, 30] {
        let (_, looked) = planned(&question(ors));
        assert!(looked <= 4 * BRANCHES_IN_ALL, "{ors}: {looked}");
    }
}

#[test]
fn branches_do_not_copy_long_lists() {
    let question = |values: i32, branches: i32| {
        let values = Value::Array((0..values).map(Value::from).collect());
        let branches = list(branches, |n| Map::from([("f", n), ("g", 1)]));
        Map::from([("x", Value::Map(Map::from([("$in", values)]))), ("$or", branches)])
    };
    for (values, branches, expected) in [(100, 1000, true), (100_000, 2, true), (3000, 1000, false)] {
        let (plan, looked) = planned(&question(values, branches));
        assert_eq!(has_union(&plan), expected, "{values} {branches}");
        assert_eq!(looked > branches as usize, expected, "{values} {branches}: {looked}");
    }
}
