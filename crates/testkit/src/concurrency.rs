//! Threads that use one database at the same time.
//!
//! | module | contents |
//! |---|---|
//! | `histories` | calls of clients that some order must explain |
//! | `trails` | writers whose documents show at any moment how far each is |
//! | `failing_disk` | writers, flushes and compactions on a disk that fails |
//! | `schedules` | running a scenario under the seeded scheduler |

pub mod failing_disk;
pub mod histories;
#[cfg(feature = "shuttle")]
pub mod schedules;
pub mod trails;
