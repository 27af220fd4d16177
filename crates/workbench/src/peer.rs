//! The interfaces of databases that are compared with Alluvium, and the implementation of these interfaces by Alluvium
//! itself.
//!
//! [`KeyValues`] is a store of keys and values, and [`Documents`] is a store of documents. The scenarios
//! ([`crate::scenarios::kv`], [`crate::scenarios::peers`]) use only these traits, so that every database does the same
//! work. `bench-peers` implements them for other databases.

mod documents;
mod key_values;
pub mod ours;
mod stripes;

pub use crate::iibench::Failure;
pub use documents::{DocumentSession, Documents, Found};
pub use key_values::{Change, KeyValueSession, KeyValues};
pub use stripes::Stripes;
