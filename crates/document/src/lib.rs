//! The value model: types, comparison, keys, encodings, JSON, BSON, shapes and rows.
//!
//! Pure functions over bytes and values: no storage, no clock, no I/O.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod bson;
mod bson_builder;
pub mod bson_row;
pub mod calendar;
pub mod compare;
pub mod decimal;
pub mod diff;
mod document;
mod draft;
pub mod encoding;
mod input;
pub mod json;
pub mod key;
mod macros;
pub mod path;
pub mod row;
pub mod serde;
pub mod shape;
pub mod speculate;
pub mod timestamps;
pub mod value;

pub use bson_builder::BsonBuilder;
pub use decimal::{Decimal, DecimalError};
pub use document::{Document, DocumentError, InexactError};
pub use draft::Draft;
pub use input::{Bson, DocumentFor, FromDocument, FromDocumentError, IntoDocument};
pub use serde::{Given, InputError};
pub use value::{Binary, Code, DbPointer, Double, LEVELS_MAX, MAX_DEPTH, Map, Regex, Text, Timestamp, Value};
