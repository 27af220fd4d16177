//! Alluvium: an embeddable, log-structured document database.
//!
//! A [`Database`] is a directory with collections of JSON-like documents. Collections are named
//! `logical.collection`; without a dot, the logical database is `main`. Each document has an `_id`.
//! Documents are read by `_id`, in the order of `_id`, by filter, and at a [`Snapshot`].
//!
//! ```
//! use alluvium::{Database, doc};
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let path = dir.path().join("example.alluvium");
//! let db = Database::open(&path)?;
//! let pets = db.collection("pets");
//! pets.insert_one(doc! {"_id": "rex", "kind": "dog", "age": 3})?;
//! pets.update_one(doc! {"_id": "rex"}, doc! {"$inc": {"age": 1}}).run()?;
//! let rex = pets.get("rex")?.expect("it was just inserted");
//! assert_eq!(rex.to_string(), r#"{"_id":"rex","kind":"dog","age":4}"#);
//! db.close()?;
//! # alluvium::Result::Ok(())
//! ```
//!
//! Documents, filters and updates are maps ([`doc!`]), JSON text, or any type that serde
//! serializes. A [`Collection`] of your own type returns values of that type
//! ([`Database::typed_collection`]; [`serde`] documents the mapping of types). [`kv`] has stores of
//! keys and values without documents.
//!
//! All types are `Send + Sync` and cheap to clone. Any number of threads may use one database.
//! There is no async runtime.
//!
//! Events are logged through the crate [`log`](https://docs.rs/log), with the targets `alluvium::store`,
//! `alluvium::files`, `alluvium::index`, `alluvium::open` and `alluvium::query`. Damage and a poisoned database are
//! logged as errors. Torn tails, failed flushes, ended snapshots, and queries that find nothing because they compare a
//! date with texts are logged as warnings. Opening and closing are logged at info level, and flushes, compactions and
//! slow operations at debug level. Some events are logged while locks are held, so a logger must not call the database.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod aggregate;
mod at;
pub mod backup;
mod batch;
mod bulk_write;
mod collection;
mod copy_to_capped;
mod create_collection;
mod create_index;
mod create_view;
mod database;
mod delete;
#[cfg(feature = "transfer")]
pub mod dump;
mod filter_write;
mod find;
mod find_one_and_modify;
pub mod inspect;
pub mod kv;
mod logical;
mod maintenance;
mod names;
mod oplog;
mod origin;
mod read_only;
pub mod repair;
mod scan;
mod target;
mod transaction;
mod update;
mod validation;
mod watch;

pub use aggregate::Aggregate;
pub use alluvium_collections::appends::AppendWatch;
pub use alluvium_collections::catalog::ExpectedCollections;
pub use alluvium_collections::changes::{ChangeToken, Changes};
pub use alluvium_collections::cursor::Cursor;
pub use alluvium_collections::error::{Error, ErrorKind, Result};
pub use alluvium_collections::find::{Explanation, Hint, TypeMismatch, type_mismatches};
pub use alluvium_collections::history::{
    Change, ChangeRetention, Event as ChangeEvent, RecordedScope, Scope as ChangeScope,
};
pub use alluvium_collections::ids::{MAX_DOCUMENT_BYTES, collection_uuid};
pub use alluvium_collections::index::IndexProgress;
pub use alluvium_collections::index_stats::{BuildProgress, IndexStats};
pub use alluvium_collections::limits::CappedLimits;
pub use alluvium_collections::names::{DEFAULT_LOGICAL, FullName, InvalidName};
pub use alluvium_collections::object_id::new_object_id;
pub use alluvium_collections::oplog::OplogTail;
pub use alluvium_collections::options::View;
pub use alluvium_collections::pipeline::{PipelineExplanation, StageReport};
pub use alluvium_collections::read_only::ReadOnlyContent;
pub use alluvium_collections::results::{
    BulkWriteResult, DeleteResult, FindOneAndModifyResult, ReturnDocument, UpdateResult, Version, WriteRecord, Written,
};
pub use alluvium_collections::retention::KeptChanges;
pub use alluvium_collections::snapshot::Snapshot;
pub use alluvium_collections::space::{InputBytes, Space};
pub use alluvium_collections::tail::Tail;
pub use alluvium_collections::verify::{VerifiedIndex, VerifyReport};
pub use alluvium_collections::watch::{
    BeforeDocument, ClusterTimes, FullDocument, ResumeToken, TokenKind, WatchError, WatchErrorKind,
};
pub use alluvium_collections::write::Patience;
pub use alluvium_document::diff;
pub use alluvium_document::path::FieldPath;
pub use alluvium_document::{Binary, Bson, Code, DbPointer, Decimal, DecimalError, Double, Regex, Text, Timestamp};
pub use alluvium_document::{Document, Draft, Map, Value};
pub use alluvium_document::{DocumentError, InputError, MAX_DEPTH, doc, json, serde};
pub use alluvium_document::{DocumentFor, FromDocument, FromDocumentError, IntoDocument};
pub use alluvium_env as env;
pub use alluvium_query::collation::{Collation, CollationError};
pub use alluvium_query::index::IndexError;
pub use alluvium_query::pipeline::PipelineError;
pub use alluvium_query::update::UpdateError;
pub use alluvium_query::validator::{ValidationAction, ValidationLevel, Validator};
pub use alluvium_readonly::prefixed;
pub use alluvium_readonly::{Build, BuildReport, OnDuplicate, Stats as ReadOnlyStats};
pub use alluvium_store::{
    Compression, CutTail, Durability, LostNumbers, OpenReport, PartitionStats, QueryCharge, QueryMemory, Stats,
    TreeStats,
};
#[cfg(feature = "transfer")]
pub use alluvium_transfer::packing::{Packer, Packing};
#[cfg(feature = "transfer")]
pub use alluvium_transfer::read_only_build::ReadOnlyBuild;
#[cfg(feature = "transfer")]
pub use alluvium_transfer::{export, load};
pub use at::CollectionAt;
pub use batch::WriteBatch;
pub use bulk_write::{BulkWrite, WriteModel};
pub use collection::{Collection, InsertManyResult, InsertOneResult};
pub use copy_to_capped::CopyToCapped;
pub use create_collection::CreateCollection;
pub use create_index::{CreateIndex, IndexBuild, IndexInfo, check_index};
pub use create_view::CreateView;
pub use database::{Builder, CollectionInfo, Database};
pub use delete::Delete;
pub use find::Find;
pub use find_one_and_modify::FindOneAndModify;
pub use logical::LogicalDatabase;
pub use maintenance::{Compact, Verify};
pub use names::check_name;
pub use oplog::Oplog;
#[cfg(feature = "transfer")]
pub use read_only::BuildReadOnly;
pub use read_only::{OpenReadOnly, ReadOnly};
pub use scan::Scan;
pub use transaction::Transaction;
pub use update::Update;
pub use validation::SetValidator;
pub use watch::{ChangeStream, Watch};
