//! Compaction: what to merge (picker), the merge itself (job), and the files that come of it
//! (output, which flushes use too).

pub(crate) mod copy;
pub(crate) mod job;
pub(crate) mod output;
pub mod picker;
mod schedule;
mod sweep;

pub use job::{CompactionJob, Outcome};
pub use sweep::{Drops, Swept};
