//! Pipelines, such as `[{$match: {age: {$gt: 5}}}, {$group: {_id: "$kind", count: {$sum: 1}}}]`: stages
//! that documents pass through one after the other.
//!
//! This module parses stages and defines their effect on documents. The crate that executes them reads collections and
//! files. The rules are those of MongoDB 8. Features that need JavaScript, geography or text search are refused with an
//! error that names them.
//!
//! - [`Pipeline::parse`] checks everything that can be checked without documents.
//! - [`Record`] is a document that passes through the stages. It is a stored row until a stage decodes it into fields.
//! - [`stages`] has a row for each stage that MongoDB has, and functions that walk through pipelines before they are
//!   parsed.
//! - A [`Stage`] is one of three kinds. It processes each document separately ([`Each`]), or it gathers all documents
//!   before it yields any (groups, sorts, windows), or it reads other sources, such as another collection.
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

/// The maximum number of stages of a pipeline: MongoDB's limit.
pub const MAX_STAGES: usize = 1000;

/// The maximum number of levels of nested pipelines: MongoDB's limit.
pub const MAX_LEVELS: usize = 20;
