use std::sync::atomic::{AtomicUsize, Ordering};

use alluvium_document::{Map, Value};

use super::super::budget::{BRANCHES_IN_ALL, SCANS_IN_ALL};
use super::super::{Definition, Estimator, KeyRange};
use super::*;

/// Counts how often an index is sampled, which is at least once for each branch that is planned.
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

/// The plan with an index on `f`, and how often the index was sampled for it.
fn planned(filter: &Map) -> (Plan, usize) {
    let definition = Definition::parse(&Map::from([("f", 1)]), &Map::new()).unwrap();
    let index = Index {
        definition: &definition,
        multikey: 0,
        cut: 0,
        entries: 1_000_000,
        distinct: &[100_000],
        bytes: 20_000_000,
    };
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
    matches!(root, Node::Union { .. })
        || plan.rejected.iter().any(|rejected| matches!(rejected.access, AccessPath::Union { .. }))
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
    // One or two `$or`s are planned with all of their branches.
    let (plan, looked) = planned(&question(2));
    assert!(has_union(&plan) && looked > 2 * 40 * 40, "{looked}");
    // Each branch samples the index only a few times.
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
        assert_eq!(looked >= branches as usize, expected, "{values} {branches}: {looked}");
    }
}

/// The collection has the maximum number of indexes, all of which can be used for all branches.
#[test]
fn indexes_do_not_multiply_with_branches() {
    let names = |n: i32| [("f".to_owned(), 1), (format!("g{n}"), 1)].into_iter().collect::<Map>();
    let definitions: Vec<Definition> = (0..63).map(|n| Definition::parse(&names(n), &Map::new()).unwrap()).collect();
    let index = |definition| Index {
        definition,
        multikey: 0,
        cut: 0,
        entries: 1_000_000,
        distinct: &[1000],
        bytes: 20_000_000,
    };
    let indexes: Vec<Index<'_>> = definitions.iter().map(index).collect();
    for (branches, expected) in [(2, true), (100, true), (260, true), (261, false), (1000, false)] {
        let counter = Counter::default();
        let (documents, bytes, estimator) = (1_000_000, 1 << 30, Some(&counter as &dyn Estimator));
        let collection =
            Collection { documents, bytes, partitions: 1, natural_ids: true, indexes: &indexes, estimator };
        let filter =
            Filter::parse(&Map::from([("$or", list(branches, |n| Map::from([("f", Map::from([("$gt", n)]))])))]));
        let plan = plan(&Query::of(&filter.unwrap()), &collection).unwrap();
        assert_eq!(has_union(&plan), expected, "{branches}");
        assert!(counter.0.load(Ordering::Relaxed) <= SCANS_IN_ALL / 4);
    }
}

/// Bounds are derived only from some of the conditions on one path. All conditions are tested.
#[test]
fn conditions_that_give_no_bounds_are_asked_of_documents() {
    let ranges = list(1000, |n| Map::from([("f", Map::from([("$ne", n)]))]));
    let (plan, _) = planned(&Map::from([("$and", ranges), ("x", Value::from(1))]));
    let all = match plan.root {
        Node::Scan { filter, .. } | Node::Fetch { filter, .. } => filter.clauses.len(),
        other => panic!("{other:?}"),
    };
    // If the bounds are used, they prove 128 of the conditions.
    assert!(all == 1001 || all == 1001 - 128, "{all}");
}
