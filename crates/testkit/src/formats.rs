//! Files that other builds must be able to read, or that tests damage.
//!
//! | module | contents |
//! |---|---|
//! | `fixtures` | small whole databases, checkpoints, dumps, read-only stores and records of loads |
//! | `read_only` | read-only stores |
//! | `types` | a value of each type |

pub mod fixtures;
pub mod read_only;
pub(crate) mod types;
