//! Machines in memory for databases: a disk that can lose power and fail, and a manual clock.

mod files;
mod unwritable;
mod world;

pub(crate) use files::remove_dir;
pub use files::{FileKind, contents_of, files_in};
pub use unwritable::UnwritableFs;
pub use world::{PATH, World, random_options};
