//! The memory of the values that expressions make.

use alluvium_query::expression::{Memory, MemoryCharge};
use alluvium_store::{QueryCharge, QueryMemory};

/// What one evaluation holds.
struct EvaluationCharge(QueryCharge);

impl MemoryCharge for EvaluationCharge {
    fn grow(&mut self, bytes: usize) -> Option<usize> {
        self.0.grow(bytes).then(|| self.0.bytes())
    }
}

/// Counts evaluations against the memory of all queries of a database, of which `account` is one. An evaluation that holds
/// much has an account of its own: expressions are parsed before their query has one, and those of validators without one.
pub(crate) fn of_evaluations(account: QueryMemory) -> Memory {
    Memory::new(move || Box::new(EvaluationCharge(account.another().charge())))
}
