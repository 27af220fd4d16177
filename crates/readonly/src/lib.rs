//! Read-only stores: keys and values that are written once, in sorted order, and then only read.
//!
//! [`ReadOnly::build`] takes pairs in any order, sorts them within a memory budget (an external
//! merge sort), and writes one sorted file, with index files at the requested intervals.
//! [`ReadOnly::open`] opens the store for reading. Any number of processes may open it at once,
//! without a lock, and they change nothing. An incomplete store cannot be opened.
//!
//! ```
//! use alluvium_readonly::{BuildOptions, ReadOnly};
//!
//! # fn main() -> alluvium_readonly::Result<()> {
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let path = dir.path().join("capitals.ro");
//! let mut build = ReadOnly::build(&path, BuildOptions::default())?;
//! build.add(b"peru", b"lima")?;
//! build.add(b"chile", b"santiago")?;
//! build.finish(Vec::new())?;
//!
//! let store = ReadOnly::open(&path)?;
//! let mut value = Vec::new();
//! assert!(store.get(b"peru", &mut value)?);
//! assert_eq!(value, b"lima");
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arena;
mod build;
mod error;
mod inspect;
mod layout;
mod merge;
mod options;
mod output;
pub mod prefixed;
mod runs;
mod scan;
pub mod sorter;
mod store;

pub use alluvium_codec::bounds::Bounds;
pub use alluvium_lsm::{QueryCharge, QueryMemory};
pub use alluvium_sst::Compression;
pub use build::{Build, BuildReport};
pub use error::{Error, Result};
pub use inspect::{FileFacts, SuperblockFacts, is_superblock, read_superblock};
pub use layout::{MAX_BYTES, SUPERBLOCK, is_read_only};
pub use options::{BuildOptions, MAX_INTERVAL, OnDuplicate, ReadOnlyOptions};
pub use scan::Scan;
pub use store::{IndexStats, ReadOnly, Stats};
