//! Runs the trials of a plan, each in a separate process, and writes a record of each trial.

mod child;
mod directory;
mod machine;
mod programs;
mod progress;
mod run;
mod stores;

pub(crate) use directory::Directory;
pub(crate) use machine::Device;
pub(crate) use run::{Settings, Summary, run};
pub(crate) use stores::drop_from_cache;
