//! What goes wrong below a database: power cuts, failing operations of the disk, and damaged files.
//!
//! | module | contents |
//! |---|---|
//! | `power_cuts` | a power cut before each change to the disk |
//! | `client` | a client on a failing disk, which knows what may be found |
//! | `errors` | an error at each change to the disk |
//! | `damage` | bytes flipped, files cut, removed, swapped, and put back as they were earlier |

pub mod client;
pub mod damage;
pub mod errors;
pub mod power_cuts;
