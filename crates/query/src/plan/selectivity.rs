//! Selectivity: the fraction of values or documents that meet a condition.

use std::collections::BTreeMap;

use alluvium_document::Value;
use alluvium_document::compare::{compare, type_rank};
use alluvium_document::row::ID;

use super::Collection;
use super::interval::{Interval, Intervals, bracket};
use crate::filter::Filter;
use crate::filter::tree::{Clause, Comparison, Condition, Test};

/// Assumed fractions of the values of a path, without statistics: of a single value, of a range
/// with two ends, of a range with one end, and of a type.
pub(super) const POINT: f64 = 0.01;
const BETWEEN: f64 = 0.1;
const BESIDE: f64 = 0.33;
const OF_TYPE: f64 = 0.9;

/// The fraction of all values that are in a set.
pub(super) fn width(set: &Intervals) -> f64 {
    fraction_of(&set.0)
}

fn fraction_of(intervals: &[Interval]) -> f64 {
    let one = |interval: &Interval| {
        if interval.is_point() {
            return POINT;
        }
        if interval.is_all() {
            return 1.0;
        }
        if matches!(interval.low.value, Value::Regex(_)) && matches!(interval.high.value, Value::Regex(_)) {
            // A search for texts includes an interval of stored regular expressions, which are rare.
            return 0.0;
        }
        let (low, high) = bracket(&interval.low.value);
        let from_end = compare(&low.value, &interval.low.value).is_eq();
        let to_end = compare(&high.value, &interval.high.value).is_eq();
        match (from_end, to_end) {
            (true, true) => OF_TYPE,
            (false, true) | (true, false) => BESIDE,
            _ if type_rank(&interval.low.value) == type_rank(&interval.high.value) => BETWEEN,
            _ => OF_TYPE,
        }
    };
    let mut share = 0.0;
    for interval in intervals {
        share += one(interval);
        if share >= 1.0 {
            return 1.0;
        }
    }
    share
}

/// The estimated fraction of documents that match.
pub(super) fn selectivity(filter: &Filter, shares: &Shares<'_>) -> f64 {
    let of_clause = |clause: &Clause| match clause {
        Clause::Field { path, condition } => of_condition(&path.text, condition, shares),
        Clause::Or(branches) => branches.iter().map(|branch| selectivity(branch, shares)).sum::<f64>().min(1.0),
        Clause::Expression(_) | Clause::Schema(_) => BETWEEN,
        Clause::Nor(branches) => 1.0 - branches.iter().map(|branch| selectivity(branch, shares)).sum::<f64>().min(1.0),
    };
    filter.clauses.iter().map(of_clause).product()
}

fn of_condition(path: &str, condition: &Condition, shares: &Shares<'_>) -> f64 {
    let test = match condition {
        Condition::Test(test) => test,
        Condition::Not(conditions) => {
            return 1.0 - conditions.iter().map(|one| of_condition(path, one, shares)).product::<f64>();
        }
    };
    match test {
        Test::Compare(Comparison::Equal, _) => shares.of_one(path),
        Test::In(list) => (shares.of_one(path) * (list.values.len() + list.patterns.len()) as f64).min(1.0),
        Test::Compare(..) => BESIDE,
        Test::Exists => OF_TYPE,
        Test::Regex(_) | Test::Mod { .. } | Test::Size(_) | Test::ElemMatch(_) => BETWEEN,
        Test::Type(_) | Test::Bits(_) => 0.5,
    }
}

/// The fraction of the values within its bounds that meet a condition. `None` if the condition adds
/// little to the bounds.
pub(super) fn within_bounds(condition: &Condition) -> Option<f64> {
    match condition {
        Condition::Test(Test::Regex(pattern)) => match pattern.prefix() {
            None => Some(BETWEEN),
            // The pattern consists only of `^` and the prefix.
            Some(prefix) if pattern.source().pattern.len() <= prefix.len() + 1 => None,
            Some(_) => Some(1.0),
        },
        Condition::Test(Test::In(list)) if list.patterns.iter().any(|pattern| pattern.prefix().is_none()) => {
            Some((list.patterns.len() as f64 * BETWEEN).min(1.0))
        }
        Condition::Test(Test::Mod { .. }) => Some(BETWEEN),
        Condition::Test(Test::Bits(_)) => Some(0.5),
        Condition::Not(conditions) => {
            let left = conditions.iter().filter_map(within_bounds).product::<f64>();
            (left < 1.0).then_some(1.0 - left)
        }
        Condition::Test(_) => None,
    }
}

/// The fraction of documents that have a single value at a path, for the paths that an index has statistics of.
pub(super) struct Shares<'a>(BTreeMap<&'a str, f64>);

impl<'a> Shares<'a> {
    pub fn of(collection: &Collection<'a>) -> Self {
        let share = |count: u64| 1.0 / count.max(1) as f64;
        let mut shares = BTreeMap::from([(ID, share(collection.documents))]);
        for index in collection.indexes {
            if let (Some(part), Some(distinct)) = (index.definition.parts().first(), index.distinct.first()) {
                shares.entry(part.path.as_str()).or_insert_with(|| share(*distinct));
            }
        }
        Self(shares)
    }

    fn of_one(&self, path: &str) -> f64 {
        self.0.get(path).copied().unwrap_or(POINT)
    }
}
