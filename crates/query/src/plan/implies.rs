//! Implication between filters, for partial indexes.

use super::bounds::{Bounds, KeySource};
use super::budget::Budget;
use crate::filter::Filter;
use crate::filter::tree::{Clause, Condition, Test};

/// The maximum nesting of `$or` branches that are compared.
const DEPTH_MAX: usize = 4;

/// The cost of comparing two conditions on one path, in comparisons. The values in their lists
/// count separately.
const SAME_PATH: usize = 32;

/// True if every document that matches `filter` is certain to match `other`. False if that is
/// unknown, or if the budget is exhausted.
pub(super) fn implies(filter: &Filter, other: &Filter, budget: &Budget) -> bool {
    implies_all(&filter.clauses, other, DEPTH_MAX, budget)
}

fn implies_all(clauses: &[Clause], other: &Filter, depth: usize, budget: &Budget) -> bool {
    other.clauses.iter().all(|wanted| implies_one(clauses, wanted, depth, budget))
}

fn implies_one(clauses: &[Clause], wanted: &Clause, depth: usize, budget: &Budget) -> bool {
    if !budget.take_comparisons(clauses.len()) {
        return false;
    }
    if clauses.iter().any(|clause| clause == wanted || field_implies(clause, wanted, budget)) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    if let Clause::Or(branches) = wanted
        && branches.iter().any(|branch| implies_all(clauses, branch, depth, budget))
    {
        return true;
    }
    clauses.iter().any(|clause| match clause {
        Clause::Or(branches) => branches.iter().all(|branch| implies_one(&branch.clauses, wanted, depth, budget)),
        _ => false,
    })
}

/// True if every value, or missing value, that passes the test of `clause` also passes the test of `wanted`.
fn field_implies(clause: &Clause, wanted: &Clause, budget: &Budget) -> bool {
    let (Clause::Field { path, condition }, Clause::Field { path: wanted_path, condition: wanted }) = (clause, wanted)
    else {
        return false;
    };
    let (Condition::Test(test), Condition::Test(wanted)) = (condition, wanted) else { return false };
    if path != wanted_path || (test.passes_missing() && !wanted.passes_missing()) {
        return false;
    }
    match (test.is_of_arrays(), wanted) {
        (_, Test::Exists) => return true,
        // One test applies only to arrays as a whole, the other also to their elements.
        (false, wanted) if wanted.is_of_arrays() => return false,
        _ => {}
    }
    let values = |test: &Test| if let Test::In(list) = test { list.values.len() + list.patterns.len() } else { 0 };
    if !budget.take_comparisons(SAME_PATH + values(test) + values(wanted)) {
        return false;
    }
    // The strings of both conditions have the same order only if both have the same collation.
    let wanted = Condition::Test(wanted.clone());
    let collation = wanted.collation();
    let [test, wanted] = [condition, &wanted].map(|it| Bounds::of_condition(it, KeySource::Value, collation));
    wanted.exact && test.set.is_subset(&wanted.set)
}
