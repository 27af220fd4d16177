//! The budget for planning a query. Without it, nested `$or`s would multiply the work.

use std::cell::Cell;

use alluvium_document::{Value, bson};

use crate::filter::tree::{Clause, Condition, Test};
use crate::filter::{ElementFilter, Filter, Form};

/// The maximum number of branches that are planned for a query, for all `$or`s together.
pub(super) const BRANCHES_IN_ALL: usize = 4096;

/// The maximum number of times that an index is considered for a branch. Each takes a few microseconds.
pub(super) const SCANS_IN_ALL: usize = 16_384;

/// The maximum number of times that indexes are sampled.
const LOOKS_IN_ALL: usize = 4096;

/// The approximate maximum size of other conditions that branches copy, in bytes.
const BYTES_IN_ALL: usize = 8 << 20;

/// The maximum number of comparisons with conditions of partial indexes. A value in a list counts
/// like a condition.
const COMPARISONS_IN_ALL: usize = 1 << 20;

/// The approximate size of a condition, or of a value, without its text.
const CONDITION_BYTES: usize = 64;
const VALUE_BYTES: usize = 32;

/// The remaining budget. An `$or` that exceeds the budget is not planned as a union. Other
/// candidates find the same documents.
#[derive(Debug)]
pub(super) struct Budget {
    branches: Cell<usize>,
    scans: Cell<usize>,
    looks: Cell<usize>,
    bytes: Cell<usize>,
    comparisons: Cell<usize>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            branches: Cell::new(BRANCHES_IN_ALL),
            scans: Cell::new(SCANS_IN_ALL),
            looks: Cell::new(LOOKS_IN_ALL),
            bytes: Cell::new(BYTES_IN_ALL),
            comparisons: Cell::new(COMPARISONS_IN_ALL),
        }
    }
}

impl Budget {
    /// Takes `branches` branches that copy `bytes_each` bytes each. If the budget is insufficient,
    /// takes nothing and returns false.
    pub fn take(&self, branches: usize, bytes_each: usize) -> bool {
        let bytes = branches.saturating_mul(bytes_each);
        match (self.branches.get().checked_sub(branches), self.bytes.get().checked_sub(bytes)) {
            (Some(branches_left), Some(bytes_left)) => {
                self.branches.set(branches_left);
                self.bytes.set(bytes_left);
                true
            }
            _ => false,
        }
    }

    /// Takes budget for considering an index `scans` times. If less remains, takes nothing and returns false.
    pub fn take_scans(&self, scans: usize) -> bool {
        take(&self.scans, scans)
    }

    /// Takes budget for sampling an index once. Returns false if none remains.
    pub fn take_look(&self) -> bool {
        take(&self.looks, 1)
    }

    /// As [`Budget::take_scans`], for comparisons with conditions of partial indexes.
    pub fn take_comparisons(&self, comparisons: usize) -> bool {
        take(&self.comparisons, comparisons)
    }
}

fn take(left: &Cell<usize>, wanted: usize) -> bool {
    let rest = left.get().checked_sub(wanted);
    rest.map(|rest| left.set(rest)).is_some()
}

/// The approximate size of a copy of the clause in bytes.
pub(super) fn weight(clause: &Clause) -> usize {
    match clause {
        Clause::Field { path, condition } => path.text.len() + of_condition(condition),
        Clause::Schema(shaped) => CONDITION_BYTES + alluvium_document::bson::bson_size(&shaped.written),
        Clause::Expression(computed) => CONDITION_BYTES + alluvium_document::bson::bson_size(&computed.written),
        Clause::Or(branches) | Clause::Nor(branches) => CONDITION_BYTES + branches.iter().map(of_filter).sum::<usize>(),
    }
}

fn of_filter(filter: &Filter) -> usize {
    filter.clauses.iter().map(weight).sum()
}

fn of_condition(condition: &Condition) -> usize {
    let test = match condition {
        Condition::Not(conditions) => return CONDITION_BYTES + conditions.iter().map(of_condition).sum::<usize>(),
        Condition::Test(test) => test,
    };
    let inner = match test {
        Test::Compare(_, operand) => of_value(&operand.value),
        Test::In(list) => {
            let patterns = list.patterns.iter().map(|pattern| VALUE_BYTES + pattern.source().pattern.len());
            list.values.iter().map(of_value).chain(patterns).sum()
        }
        Test::Regex(pattern) => pattern.source().pattern.len(),
        Test::ElemMatch(ElementFilter { form: Form::Element(conditions), .. }) => {
            conditions.iter().map(of_condition).sum()
        }
        Test::ElemMatch(ElementFilter { form: Form::Fields(filter), .. }) => of_filter(filter),
        Test::Exists | Test::Type(_) | Test::Mod { .. } | Test::Bits(_) | Test::Size(_) => 0,
    };
    CONDITION_BYTES + inner
}

fn of_value(value: &Value) -> usize {
    VALUE_BYTES + bson::bson_size(value)
}
