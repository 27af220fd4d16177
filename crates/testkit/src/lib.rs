//! Tests of the database's promises with a model, random operations, power cuts and faults. For development only.
//!
//! A [`Runner`] applies random operations to a database and to a plain [`State`], and compares every result. It runs in
//! a [`World`]: files in memory that can be cloned as after a power cut, and that can be made to fail. One seed
//! determines everything; see [`seed::each`].
//!
//! | module | what it proves | entry point |
//! |---|---|---|
//! | [`replay`] | runs tests by seeds, and cuts down failing sequences | [`seed::each`], [`sequence::check`] |
//! | [`worlds`] | the machine below: a disk in memory, a clock, random options | [`World`] |
//! | [`model`] | what the database should hold and answer | [`State`], [`read_state`] |
//! | [`runner`] | every answer is the model's, whatever operations run | [`Runner::run`] |
//! | [`faults`] | power cuts, disk errors and damage lose nothing acknowledged, and are reported | [`faults::power_cuts::run`], [`faults::errors::run`], [`faults::damage::Subject::damage`] |
//! | [`key_value`] | the same of the store below documents, with deletes of ranges | [`key_value::KvRunner`] |
//! | [`concurrency`] | clients at the same time see an order of all calls, whole batches, and isolated transactions | [`concurrency::histories::run`], [`concurrency::isolation::run`], [`concurrency::failing_disk::run`] |
//! | [`pressure`] | memory, seconds, blocks and descriptors stay within limits | [`pressure::in_child`] |
//! | [`reading`] | databases that are opened for reading only read the same, and change no file | [`reading::read`] |
//! | [`formats`] | files of every format version open | [`formats::fixtures::all`] |
//! | [`fuzz`] | any input is taken or refused | [`fuzz::run`] |
//! | [`marks`] | rare paths were taken | [`marks::all`] |

#![deny(missing_docs)]

pub mod concurrency;
pub mod faults;
pub mod formats;
pub mod fuzz;
pub mod key_value;
pub mod marks;
pub mod model;
pub mod pressure;
mod read_entries;
pub mod reading;
pub mod replay;
pub mod runner;
pub mod worlds;

pub use model::{Id, Phase, State, map_of, read_state};
pub use read_entries::IndexEntries;
pub use replay::{seed, sequence};
pub use runner::{Mix, Runner};
pub use worlds::{PATH, World, random_options};
