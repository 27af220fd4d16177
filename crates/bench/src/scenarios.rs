//! The scenarios: loading comments, getting them, updating them, and the key/value mixes.
//!
//! Each runs a number of threads for a time, samples its counters every second, and returns an
//! [`Outcome`] that serializes to JSON.

pub mod documents;
pub mod kv;
pub mod multivalue;
mod run;

pub use run::{Latency, Outcome, Sample};
