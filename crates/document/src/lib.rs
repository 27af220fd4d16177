//! The value model: types, comparison, keys, encodings, JSON, BSON, shapes and rows.
//!
//! Pure functions over bytes and values: no storage, no clock, no I/O.

#![deny(missing_docs)]

pub mod value;

pub use value::{Binary, Map, Regex, Timestamp, Value};
