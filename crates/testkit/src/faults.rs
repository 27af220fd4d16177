//! Faults below a database: power cuts, failing operations of the disk, and damaged files.
//!
//! | module | contents |
//! |---|---|
//! | `power_cuts` | a power cut before each change to the disk |
//! | `client` | a client on a failing disk, which knows the states that may be found |
//! | `errors` | an error at each change to the disk |
//! | `damage` | bytes flipped, files truncated, removed, swapped, and replaced by earlier versions
//! |

pub mod client;
pub mod damage;
pub mod errors;
pub mod power_cuts;
