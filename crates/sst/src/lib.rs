//! Immutable sorted files: blocks, dictionary, filter and index, writer, reader, iterator.
//!
//! A file is written once, front to back, by a [`Writer`], and then read by a [`Reader`].
//! `docs/format/sst.md` defines the bytes. A point read uses the top-level index (in memory), one
//! index partition (filter and index, cached) and at most one data block.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod block;
mod block_cache;
mod columns;
mod compress;
mod context;
mod data;
mod dictionary;
mod filter;
mod footer;
mod forget;
mod held;
mod index;
mod index_file;
mod iter;
mod meta;
mod options;
mod output;
mod properties;
mod reader;
mod sampler;
mod source;
mod stored;
mod verify;
mod walk;
mod writer;

pub use block::Block;
pub use block_cache::{BlockCache, NoCache};
pub use dictionary::{Dictionary, DictionaryRegistry};
pub use footer::{FOOTER_BYTES, FORMAT_VERSION, MAGIC};
pub use held::Holder;
pub use index_file::{IndexFile, IndexFileMeta, is_index_file};
pub use iter::SstIter;
pub use meta::{FileCheck, FileMeta, FooterInfo};
pub use options::{Compression, WriterOptions};
pub use properties::Properties;
pub use reader::{Reader, Trace};
pub use sampler::Sampler;
pub use verify::CheckEntry;
pub use walk::{BlockReader, FooterFacts, LostBlock, WalkedBlock, WalkedFile, walk_file};
pub use writer::Writer;
