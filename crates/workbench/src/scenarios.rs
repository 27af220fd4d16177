//! The scenarios: loads, puts, gets and updates of comments, queries, pipelines, recorded changes, mixes of key/value
//! operations, read-only stores, raw reads, and requests to a server.
//!
//! Most scenarios run a number of threads for a time, sample their counters every second, and return an [`Outcome`]
//! that can be serialized to JSON.

pub mod aggregate;
pub mod changes;
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
