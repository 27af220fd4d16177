//! Alluvium: an embeddable, log-structured document database.
//!
//! A [`Database`] is a directory. It holds collections of JSON-like documents, named
//! `logical.collection` (the part before the first dot may be left out: it is then `main`). Each
//! document has an `_id`; documents come back by it, in its order, and at a [`Snapshot`].
//!
//! ```
//! use alluvium::Database;
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let path = dir.path().join("example.alluvium");
//! let db = Database::open(&path)?;
//! let pets = db.collection("pets");
//! pets.insert_one(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?;
//! let rex = pets.get("rex")?.expect("it was just inserted");
//! assert_eq!(rex.to_string(), r#"{"_id":"rex","kind":"dog","age":3}"#);
//! db.close()?;
//! # alluvium::Result::Ok(())
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

mod at;
pub mod backup;
mod batch;
mod bulk_write;
mod collection;
mod create_index;
mod database;
mod delete;
mod filter_write;
mod find;
mod find_one_and_modify;
mod logical;
mod maintenance;
mod names;
mod read_only;
mod scan;
mod target;
mod update;

pub use alluvium_collections::cursor::Cursor;
pub use alluvium_collections::error::{Error, ErrorKind, Result};
pub use alluvium_collections::find::{Explanation, Hint};
pub use alluvium_collections::ids::MAX_DOCUMENT_BYTES;
pub use alluvium_collections::index::IndexProgress;
pub use alluvium_collections::index_stats::IndexStats;
pub use alluvium_collections::names::{DEFAULT_LOGICAL, InvalidName};
pub use alluvium_collections::object_id::new_object_id;
pub use alluvium_collections::read_only::ReadOnlyContent;
pub use alluvium_collections::results::{BulkWriteResult, DeleteResult, ReturnDocument, UpdateResult, Version};
pub use alluvium_collections::snapshot::Snapshot;
pub use alluvium_collections::space::{InputBytes, Space};
pub use alluvium_collections::verify::{VerifiedIndex, VerifyReport};
pub use alluvium_collections::{inspect, repair};
pub use alluvium_document::{Document, Draft, Map, Value};
pub use alluvium_document::{DocumentFor, FromDocument, FromDocumentError, IntoDocument};
pub use alluvium_query::index::IndexError;
pub use alluvium_query::update::UpdateError;
pub use alluvium_readonly::prefixed;
pub use alluvium_readonly::{Build, BuildOptions, BuildReport, OnDuplicate, ReadOnlyOptions, Stats as ReadOnlyStats};
pub use alluvium_store::{Compression, Durability, OpenReport, PartitionStats, Stats, TreeStats};
pub use alluvium_transfer::packing::{Packer, Packing};
pub use alluvium_transfer::read_only_build::ReadOnlyBuild;
pub use alluvium_transfer::{dump, export, load};
pub use at::CollectionAt;
pub use batch::WriteBatch;
pub use bulk_write::{BulkWrite, WriteModel};
pub use collection::{Collection, InsertManyResult, InsertOneResult};
pub use create_index::{CreateIndex, IndexBuild, IndexInfo, check_index};
pub use database::{Builder, CollectionInfo, Database};
pub use delete::Delete;
pub use find::Find;
pub use find_one_and_modify::FindOneAndModify;
pub use logical::LogicalDatabase;
pub use maintenance::{Compact, Verify};
pub use names::check_name;
pub use read_only::ReadOnly;
pub use scan::Scan;
pub use update::Update;
