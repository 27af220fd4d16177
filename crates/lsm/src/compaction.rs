//! Compaction: the merge (copy, job), its output files (output, which flushes also use), and the
//! running of picked jobs (schedule, sweep). The picker chooses the files to merge.

pub(crate) mod copy;
pub(crate) mod job;
pub(crate) mod output;
mod schedule;
mod sweep;

pub use copy::Drops;
pub use job::{CompactionJob, Outcome};
pub use sweep::Swept;
