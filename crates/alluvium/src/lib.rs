//! Alluvium: an embeddable, log-structured document database.
//!
//! A [`Database`] is a directory. It holds collections of JSON-like documents, named
//! `logical.collection` (the part before the first dot may be left out: it is then `main`). Each
//! document has an `_id`; documents come back by it, in its order, and at a [`Snapshot`].
//!
//! ```
//! use alluvium::Database;
//!
//! # fn main() -> alluvium::Result<()> {
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let path = dir.path().join("example.alluvium");
//! let db = Database::open(&path)?;
//! let pets = db.collection("pets");
//! pets.insert_one(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?;
//! let rex = pets.get("rex")?.expect("it was just inserted");
//! assert_eq!(rex.to_string(), r#"{"_id":"rex","kind":"dog","age":3}"#);
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! All types are `Send + Sync` and cheap to clone; any number of threads may use one database.
//! There is no async runtime.
//!
//! What a database does by itself it tells through the crate [`log`](https://docs.rs/log), under the targets
//! `alluvium::store` and `alluvium::files` (and under `alluvium::open` why one was not opened, which whoever opens it is told
//! too): damage and poison are errors, torn tails, failed flushes and ended snapshots
//! are warnings, opening and closing are information, flushes, compactions and slow operations are for debugging. Some
//! of it is told while locks are held: a logger must not call the database.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod backup;
mod batch;
mod builder;
mod catalog;
mod collection;
mod cursor;
mod database;
pub mod dump;
mod error;
mod expire;
pub mod export;
mod filtered;
mod find;
mod fold;
mod index;
mod indexes;
pub mod inspect;
mod into;
pub mod load;
mod logical;
#[doc(hidden)]
pub mod marks;
mod modify;
mod names;
mod object_id;
mod packing;
mod past;
mod read;
mod read_only;
pub mod repair;
mod space;
mod spill;
mod tasks;
mod typed;
mod update;
mod verify;
mod write;

pub use alluvium_document::{Document, Draft, Map, Value};
pub use alluvium_query::index::IndexError;
pub use alluvium_query::update::UpdateError;
pub use alluvium_readonly::prefixed;
pub use alluvium_readonly::{Build, BuildOptions, BuildReport, OnDuplicate, ReadOnlyOptions, Stats as ReadOnlyStats};
pub use alluvium_store::{Compression, Durability, OpenReport, PartitionStats, Stats, TreeStats};
pub use batch::WriteBatch;
pub use builder::Builder;
pub use collection::{Collection, InsertManyResult, InsertOneResult};
pub use cursor::{Cursor, Scan};
pub use database::{CollectionInfo, Database, Snapshot};
pub use error::{Error, ErrorKind, Result};
pub use filtered::{BulkWrite, BulkWriteResult, DeleteResult, DeleteWhere, FindAndModify, UpdateWhere, WriteModel};
pub use find::{Explanation, Find, Hint};
pub use index::IndexProgress;
pub use indexes::{IndexBuild, IndexInfo, IndexStats, check_index};
pub use into::IntoDocument;
pub use logical::LogicalDatabase;
pub use names::{DEFAULT_LOGICAL, check_name};
pub use object_id::new_object_id;
pub use packing::{Packer, Packing};
pub use read::CollectionAt;
pub use read_only::{ReadOnly, ReadOnlyBuild, ReadOnlyContent};
pub use space::Space;
pub use typed::{TypedCollection, TypedCursor};
pub use update::{ReturnDocument, UpdateResult, Version};
pub use verify::{VerifiedIndex, VerifyReport};

/// The largest document, in bytes of BSON.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;
