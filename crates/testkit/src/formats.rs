//! Files that are kept or made to be read by other builds, and damaged.
//!
//! | module | contents |
//! |---|---|
//! | `fixtures` | small whole databases, checkpoints, dumps, read-only stores and records of loads |
//! | `read_only` | read-only stores |
//! | `types` | a value of each type |

pub mod fixtures;
pub mod read_only;
pub(crate) mod types;
