//! Queries: a request is parsed ([`Query`]), planned, and executed ([`Execution`]) by the operators
//! of `alluvium-exec`, all at one snapshot (`docs/decisions/0030-carrying-out-plans.md`).

mod execution;
mod explain;
mod mismatches;
mod one;
mod planning;
mod points;
mod projector;
mod query;
mod request;
mod statistics;

pub use execution::Execution;
pub(crate) use execution::{memory_bytes_max, stage_bytes_max};
pub use explain::Explanation;
pub use mismatches::{TypeMismatch, type_mismatches};
pub use one::{find_by_id, find_only_id};
pub(crate) use planning::Planned;
pub(crate) use points::{Points, plan_points};
pub use projector::{Projector, project};
pub use query::Query;
pub(crate) use query::{IndexChoice, IndexHint};
pub use request::{FindRequest, Hint, interrupt, limited, moment, moment_of};
pub(crate) use request::{collated, known_variables, moment_in};

/// The default number of documents in a batch of a cursor: MongoDB's number.
pub const BATCH_SIZE: usize = 101;
