//! The scenarios: loading comments, getting them, updating them, the key/value mixes, and read-only stores.
//!
//! Each scenario runs a number of threads for a time, samples its counters every second, and returns an
//! [`Outcome`] that serializes to JSON.

pub mod documents;
pub mod find;
pub mod index;
pub mod kv;
pub mod multivalue;
pub mod peers;
pub mod readonly;
mod run;

pub use run::{Latency, Outcome, Sample};
