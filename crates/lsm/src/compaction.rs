//! Compaction: the merge itself (copy, job), the files that come of it (output, which flushes use too), and when
//! it runs (schedule). What to merge is the picker's choice.

pub(crate) mod copy;
pub(crate) mod job;
pub(crate) mod output;
mod schedule;
mod sweep;

pub use copy::Drops;
pub use job::{CompactionJob, Outcome};
pub use sweep::Swept;
