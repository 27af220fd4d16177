//! What proves the database: a model, an operation generator, power cuts and faults. Development only.
//!
//! A [`Runner`] does random operations to a database and to a plain [`State`] and compares every
//! answer. It runs in a [`World`]: files in memory that can be cloned as a power cut would leave
//! them, and fail on demand. Everything follows from one seed; see [`seed::each`].

#![deny(missing_docs)]

mod asks;
mod by_filter;
mod by_id;
pub mod careful;
mod checkpoints;
pub mod crowd;
mod cursors;
pub mod cuts;
mod derived;
mod documents;
mod dumps;
pub mod effects;
pub mod failing;
mod finds;
pub mod fixture;
pub mod fuzz;
mod growth;
pub mod histories;
mod id;
mod index_operations;
pub mod indexes;
pub mod kv;
mod loads;
mod logical;
pub mod marks;
mod operations;
#[cfg(feature = "shuttle")]
pub mod overload;
mod peek;
pub mod pressure;
mod reads;
pub mod rot;
mod runner;
#[cfg(feature = "shuttle")]
pub mod schedules;
pub mod seed;
pub mod sequence;
mod state;
mod timeline;
mod updates;
mod upkeep;
mod values;
mod world;

pub use careful::Careful;
pub use documents::{Documents, map_of};
pub use growth::By;
pub use id::Id;
pub use runner::{Mix, Runner};
pub use state::{State, read_state};
pub use timeline::{Phase, Timeline};
pub use world::{PATH, World, random_options};
