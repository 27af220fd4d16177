//! The scenarios: loading comments, putting, getting and updating them, the key/value mixes, read-only stores, raw reads,
//! and requests to a server.
//!
//! Each scenario runs a number of threads for a time, samples its counters every second, and returns an
//! [`Outcome`] that serializes to JSON.

pub mod aggregate;
pub mod documents;
pub mod find;
pub mod index;
pub mod kv;
pub mod multivalue;
pub mod peers;
pub mod put;
pub mod readonly;
pub mod reads;
mod run;
pub mod wire;

pub use run::{Latency, Outcome, Sample};
