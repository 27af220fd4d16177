//! Pipelines, such as `[{$match: {age: {$gt: 5}}}, {$group: {_id: "$kind", count: {$sum: 1}}}]`: stages
//! that documents pass through one after the other.
//!
//! This module parses stages and defines their effect on documents. The crate that executes them reads collections and
//! files. The rules are those of MongoDB 8. What needs JavaScript, geography or text search is refused by name.
//!
//! - [`Pipeline::parse`] checks everything that can be checked without documents.
//! - [`Record`] is a document on its way: a stored row, until a stage makes fields of it.
//! - [`stages`] has a row for each stage that MongoDB has, and walks pipelines that were not parsed.
//! - A [`Stage`] is one of three kinds: it processes each document alone ([`Each`]), it gathers all of them before it
//!   yields any (groups, sorts, windows), or it reads something else, such as another collection.
//!
//! ```
//! use alluvium_document::json;
//! use alluvium_query::pipeline::{Pipeline, Stage};
//!
//! let stages = json::parse(br#"[{"$match": {"age": {"$gt": 5}}}, {"$sort": {"age": -1}}, {"$limit": 3}]"#)?;
//! let pipeline = Pipeline::parse(&stages, &Default::default())?;
//! assert!(matches!(pipeline.stages(), [Stage::Match(_), Stage::Sort { limit: Some(3), .. }]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accumulator;
mod bucket;
mod changes;
mod densify;
mod each;
mod error;
mod group;
mod offset;
mod options;
mod parse;
mod record;
mod rewrite;
mod stage;
pub mod stages;
mod window;

pub use accumulator::accumulator_names;
pub use bucket::{AutoBuckets, BucketAuto};
pub use changes::Changes;
pub use densify::{Densify, Sequence};
pub use each::{Each, Unwind, Unwound};
pub use error::PipelineError;
pub use group::{Group, Groups, TakenGroup};
pub use record::{Record, RecordRef};
pub use stage::{
    GraphLookup, Lookup, MergeInto, Output, Pipeline, Stage, Statistics, UnionWith, WhenMatched, WhenNotMatched,
};
pub use window::{Caller, Partition, WindowFields, window_function_names};

/// The most stages of a pipeline: MongoDB's limit.
pub const MAX_STAGES: usize = 1000;

/// The most levels of pipelines inside of pipelines: MongoDB's limit.
pub const MAX_LEVELS: usize = 20;
