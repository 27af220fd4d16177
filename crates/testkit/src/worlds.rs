//! Machines in memory on which databases run: a disk that can be cut and fail, a clock that is moved by hand.

mod files;
mod world;

pub(crate) use files::remove_dir;
pub use files::{FileKind, contents_of, files_in};
pub use world::{PATH, World, random_options};
