//! Whether a filter says as much as another: what a partial index is asked.

use super::bounds::{Bounds, Of};
use crate::filter::Filter;
use crate::filter::tree::{Clause, Condition, Test};

/// How deep branches of `$or` are looked into.
const DEPTH_MAX: usize = 4;

/// True if every document that matches `filter` matches `other`. False if that is not seen.
pub(super) fn implies(filter: &Filter, other: &Filter) -> bool {
    implies_all(&filter.clauses, other, DEPTH_MAX)
}

fn implies_all(clauses: &[Clause], other: &Filter, depth: usize) -> bool {
    other.clauses.iter().all(|wanted| implies_one(clauses, wanted, depth))
}

fn implies_one(clauses: &[Clause], wanted: &Clause, depth: usize) -> bool {
    if clauses.iter().any(|clause| clause == wanted || field_implies(clause, wanted)) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    if let Clause::Or(branches) = wanted
        && branches.iter().any(|branch| implies_all(clauses, branch, depth))
    {
        return true;
    }
    clauses.iter().any(|clause| match clause {
        Clause::Or(branches) => branches.iter().all(|branch| implies_one(&branch.clauses, wanted, depth)),
        _ => false,
    })
}

/// The same value, or none, that passes the one test passes the other.
fn field_implies(clause: &Clause, wanted: &Clause) -> bool {
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
        // The one is asked of arrays alone, the other of their elements, too.
        (false, wanted) if wanted.is_of_arrays() => return false,
        _ => {}
    }
    let [test, wanted] = [condition, &Condition::Test(wanted.clone())].map(|it| Bounds::of_condition(it, Of::Value));
    wanted.exact && test.set.is_subset(&wanted.set)
}
