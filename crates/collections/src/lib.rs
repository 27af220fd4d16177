//! The document engine: collections of documents in a key/value store.
//!
//! | module | contents |
//! |---|---|
//! | [`engine`] | an open database: catalogue, store, environment, background work |
//! | [`catalog`], [`state`], [`snapshot`], [`trees`] | the collections and indexes, now and at a snapshot |
//! | [`write`] | the write protocol; [`by_id`], [`by_filter`] and [`batch`] use it |
//! | [`read`], [`view`], [`cursor`] | documents at a snapshot |
//! | [`find`] | queries: planned, executed, explained |
//! | [`pipeline`] | pipelines: their query at the head, the other collections, what they write |
//! | `source`, `read_only_source` | what the operators of `alluvium-exec` read: a collection at a snapshot, a read-only store |
//! | [`index`], [`indexes`], [`index_scan`] | indexes: their state, their declaration and build, the proof of their entries |
//! | [`capped`], [`limits`], [`tail`] | capped collections: their order, their limits, cursors that follow them |
//! | `filling`, [`copying`] | collections that are filled under a temporary name: what `$out` and copies make |
//! | [`history`], [`changes`], [`retention`] | recorded changes of documents: what is recorded, how it is read, and how long it is kept |
//! | [`watch`] | change streams: recorded changes as documents, with tokens |
//! | [`oplog`] | the operation log: recorded changes as the entries of MongoDB's `local.oplog.rs` |
//! | [`background`](open), [`expire`], [`sweep`] | background work |
//! | [`verify`], [`repair`], [`inspect`] | damage: detection, repair, inspection of single files |
//!
//! The functions of this crate take an [`engine::EngineHandle`] and names. The handles that users
//! hold are in crate `alluvium`.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod appends;
mod background;
pub mod batch;
pub mod by_filter;
pub mod by_id;
pub mod capped;
pub mod catalog;
pub mod changes;
pub mod copying;
pub mod counts;
pub mod cursor;
mod document_count;
mod encoders;
pub mod engine;
pub mod error;
pub mod expire;
mod filling;
pub mod find;
mod folding;
mod gathering;
pub mod history;
pub mod ids;
pub mod index;
pub mod index_scan;
pub mod index_stats;
pub mod indexes;
pub mod inspect;
pub mod limits;
pub mod marks;
mod memory;
mod multikey;
pub mod names;
pub mod object_id;
pub mod open;
pub mod oplog;
pub mod options;
pub mod pipeline;
mod planner_state;
pub mod read;
pub mod read_only;
mod read_only_source;
pub mod rebuilding;
mod recorder;
pub mod repair;
pub mod results;
pub mod retention;
pub mod snapshot;
mod source;
pub mod space;
mod spill;
pub mod state;
pub mod sweep;
pub mod tail;
#[cfg(test)]
mod testing;
pub mod trees;
pub mod verify;
pub mod view;
pub mod watch;
mod watch_error;
pub mod write;
