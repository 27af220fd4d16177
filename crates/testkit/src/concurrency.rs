//! Threads that use one database concurrently.
//!
//! | module | contents |
//! |---|---|
//! | `histories` | calls of clients whose results some sequential order must explain |
//! | `isolation` | transactions that have snapshot isolation, by the dependencies between them |
//! | `trails` | writers whose documents always show their progress |
//! | `administration` | checks, statistics and copies, beside collections and indexes that come and go |
//! | `failing_disk` | writers, flushes and compactions on a disk that fails |
//! | `schedules` | running a scenario under the seeded scheduler |

pub mod administration;
pub mod failing_disk;
pub mod histories;
pub mod isolation;
#[cfg(feature = "shuttle")]
pub mod schedules;
pub mod trails;
