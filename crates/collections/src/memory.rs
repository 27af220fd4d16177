//! The memory of values that expressions create.

use alluvium_query::expression::{Memory, MemoryCharge};
use alluvium_store::{QueryCharge, QueryMemory};

/// The memory that one evaluation holds.
struct EvaluationCharge(QueryCharge);

impl MemoryCharge for EvaluationCharge {
    fn grow(&mut self, bytes: usize) -> Option<usize> {
        self.0.grow(bytes).then(|| self.0.bytes())
    }
}

/// Charges evaluations to the memory of all queries of a database. `account` is the account of any such query. An
/// evaluation that holds much memory gets its own account, because expressions are parsed before their query has an
/// account, and validators belong to no query.
pub(crate) fn of_evaluations(account: QueryMemory) -> Memory {
    Memory::new(move || Box::new(EvaluationCharge(account.another().charge())))
}
