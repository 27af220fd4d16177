//! The library's error type. The messages state the failure and the remedy.

use crate::names::{FullName, InvalidName};
use crate::results::{BulkWriteResult, Ending};
use crate::watch_error::WatchError;
use alluvium_document::bson::{self, BsonError};
use alluvium_document::row::RowError;
use alluvium_document::{Document, InputError, Map, Value, json};
use alluvium_query::collation::CollationError;
use alluvium_query::distinct::DistinctError;
use alluvium_query::filter::FilterError;
use alluvium_query::index::IndexError;
use alluvium_query::pipeline::PipelineError;
use alluvium_query::plan::PlanError;
use alluvium_query::projection::ProjectionError;
use alluvium_query::sort::SortError;
use alluvium_query::update::UpdateError;
use alluvium_store::TreeId;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The kind of an [`enum@Error`], for programs that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An `_id`, or a key of a unique index, exists already.
    DuplicateKey,
    /// A collection, logical database or index does not exist, or exists already (create, rename).
    Namespace,
    /// A document, an `_id`, a name or an option is not allowed.
    Invalid,
    /// The path is not a database or checkpoint, or cannot be used.
    Open,
    /// Another process has the database open.
    InUse,
    /// The database was opened for reading only, and takes no writes.
    ReadOnly,
    /// Bytes on disk are damaged.
    Corruption,
    /// The disk is full, except for the reserve of `alluvium::Builder::disk_reserve`. Nothing was
    /// written.
    NoSpace,
    /// The database takes no writes until it is reopened.
    Poisoned,
    /// It is unknown whether a write happened: reopen the database and read.
    OutcomeUnknown,
    /// A snapshot or cursor was ended because it was too old or kept too much on disk.
    SnapshotTooOld,
    /// Another write came before a transaction: repeat the whole transaction.
    Conflict,
    /// The database was closed.
    Closed,
    /// The operating system reported an error.
    Io,
    /// The operation was stopped on request.
    Stopped,
    /// The operation exceeded its time limit.
    TimedOut,
}

/// An error of the library.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the key/value store.
    #[error(transparent)]
    Store(alluvium_store::Error),
    /// An error of a read-only store.
    #[error(transparent)]
    ReadOnly(#[from] alluvium_readonly::Error),
    /// An attempt to write a read-only store, or to open one for writing.
    #[error(
        "{} is a read-only store, which never changes: build another one, or export it and load that into a database",
        .0.display()
    )]
    NeverChanges(PathBuf),
    /// A read-only store does not have the expected content.
    #[error("{} holds {found}, not {expected}", path.display())]
    OtherContent {
        /// The store.
        path: PathBuf,
        /// The content that was found.
        found: &'static str,
        /// The content that was expected.
        expected: &'static str,
    },
    /// A tailable cursor was requested on a collection that is not capped.
    #[error("error processing query: tailable cursor requested on non capped collection {0}")]
    NotCapped(String),
    /// The document that a tailable cursor passed last was deleted, so documents after it may be missing.
    #[error(
        "the document of {0} that the tailable cursor returned last was deleted: begin a new cursor, and read more \
         often, or make the collection larger"
    )]
    CappedPositionLost(String),
    /// The changes of the collections are not recorded.
    #[error(
        "the changes of {scope} are not recorded: begin with Database::record_changes, the command 'alluvium changes \
         record', or a change stream without a token"
    )]
    ChangesNotRecorded {
        /// The collections.
        scope: String,
    },
    /// Changes after a token are not known.
    #[error(
        "the changes of {scope} cannot be continued: {reason}; read the documents at a snapshot, and continue after its \
         token (Database::change_token)"
    )]
    ChangesLost {
        /// The collections.
        scope: String,
        /// The reason.
        reason: &'static str,
    },
    /// The collection of a tailable cursor was dropped or renamed.
    #[error("collection {0} was dropped or renamed while a tailable cursor was open: begin a new cursor")]
    CursorKilled(String),
    /// The transaction has ended.
    #[error("the transaction was {how} already: begin another one")]
    TransactionEnded {
        /// How it has ended.
        how: Ending,
    },
    /// An operation that no transaction takes.
    #[error("a transaction does not take {what}: do that before or after it")]
    NotInTransaction {
        /// The operation.
        what: String,
    },
    /// The collection already has a document with this `_id`.
    #[error(
        "collection {collection} already has a document with _id {id}: choose another _id, or use put to replace it"
    )]
    DuplicateKey {
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
    },
    /// A load that stops at duplicates found a document whose `_id` exists already.
    #[error("{input} {what} {line}: collection {collection} already has a document with _id {id}")]
    LoadDuplicate {
        /// The input's name.
        input: String,
        /// The unit of `line`: `line`, or `document` where the input has no lines.
        what: &'static str,
        /// The place in the input, counted from 1.
        line: u64,
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
    },
    /// A document of a load cannot be written.
    #[error("{input} {what} {line}: {error}")]
    LoadOf {
        /// The input's name.
        input: String,
        /// The unit of `line`: `line`, or `document` where the input has no lines.
        what: &'static str,
        /// The place in the input, counted from 1.
        line: u64,
        /// The reason.
        error: Box<Error>,
    },
    /// A document would have the key of another document in a unique index.
    #[error(
        "document {id} of collection {collection} already has the key {key} of the unique index {index}: change \
         the key, or drop the index"
    )]
    DuplicateIndexKey {
        /// The collection's full name.
        collection: String,
        /// The name of the index.
        index: String,
        /// The key, as extended JSON.
        key: String,
        /// The key as values: a field for each part of the index, under its path; null where the
        /// document has no value. The type of a number may differ from that in the document.
        key_value: Box<Map>,
        /// The keys of the index, such as `{author: 1, time: -1}`.
        key_pattern: Box<Map>,
        /// The `_id` of the document that has the key, as extended JSON.
        id: String,
    },
    /// The definition of an index is invalid, or a document cannot be indexed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A document cannot be written because it cannot be indexed.
    #[error("document {id} of {collection}: index {index}: {error}")]
    IndexOf {
        /// The collection's full name.
        collection: String,
        /// The `_id` of the document, as extended JSON.
        id: String,
        /// The name of the index.
        index: String,
        /// The reason.
        error: IndexError,
    },
    /// The name belongs to a view. Views can only be queried.
    #[error(
        "{0} is a view: it can be read by find, count, distinct and aggregate, and dropped; write to the collection under it"
    )]
    IsView(String),
    /// A document cannot be written because the collection's validator refuses it.
    #[error("document {id} of {collection} is refused by the collection's validator: {}", shortened(details))]
    Validation {
        /// The collection's full name.
        collection: String,
        /// The `_id` of the document, as extended JSON.
        id: String,
        /// The conditions that it does not meet, in the form of MongoDB's `errInfo`.
        details: Box<Map>,
    },
    /// An existing index conflicts with the new one.
    #[error("{what}")]
    IndexConflict {
        /// MongoDB's code: 85 for other options, 86 for other keys.
        code: i32,
        /// The conflict and its remedy.
        what: String,
    },
    /// The index does not exist.
    #[error("collection {collection} has no index {index}")]
    NoSuchIndex {
        /// The collection's full name.
        collection: String,
        /// The requested name.
        index: String,
    },
    /// Several indexes have the keys by which an index was requested.
    #[error("collection {collection} has several indexes with the keys {keys}: name one of {names}")]
    AmbiguousKeys {
        /// The collection's full name.
        collection: String,
        /// The keys, as extended JSON.
        keys: String,
        /// The names of the indexes.
        names: String,
    },
    /// A pipeline over a read-only store reads another collection.
    #[error("{} is a read-only store with one collection, {own}: a pipeline over it cannot read {wanted}", path.display())]
    OnlyCollection {
        /// The directory.
        path: PathBuf,
        /// The collection of the store.
        own: String,
        /// The other collection.
        wanted: String,
    },
    /// The collection does not exist.
    #[error("there is no collection {name}{}", suggestion(.nearest))]
    NoSuchCollection {
        /// The requested name.
        name: String,
        /// The most similar existing name, if one is similar.
        nearest: Option<String>,
    },
    /// The collection exists already.
    #[error("collection {0} already exists: drop it first, or choose another name")]
    CollectionExists(String),
    /// A name is not allowed.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// A document cannot be stored.
    #[error("the document cannot be stored: {0}")]
    InvalidDocument(String),
    /// A stored document cannot be deserialized as the requested Rust type.
    #[error("document {id} of {collection} is no value of the type {type_name}: {reason}")]
    UnfittingDocument {
        /// The collection.
        collection: String,
        /// Its `_id`, as JSON.
        id: String,
        /// The name of the type.
        type_name: &'static str,
        /// The path of the value, and the type that it cannot be read as.
        reason: String,
    },
    /// A stored document was requested as BSON, but has a value that BSON cannot represent.
    #[error(
        "the document with _id {id} of {collection} cannot be sent, since BSON cannot hold its value{}: {reason}. A \
         filter that leaves it out reads the others; $unset or a new value makes it readable",
        place(path)
    )]
    NotBson {
        /// The collection's full name.
        collection: String,
        /// Its `_id`, as JSON.
        id: String,
        /// The path of the value; empty if it is not known.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A document is larger than 16 MiB as BSON.
    #[error("the document cannot be stored: {0}")]
    DocumentTooLarge(String),
    /// An `_id` is not allowed.
    #[error("the _id cannot be used: {what}")]
    InvalidId {
        /// MongoDB's code: 52 if a field in it begins with a dollar sign, 53 if it has a type that no
        /// `_id` has, otherwise 2.
        code: i32,
        /// The error in it.
        what: String,
    },
    /// A text is not JSON, or is not exactly one document.
    #[error("{0}")]
    Json(String),
    /// A stored document cannot be decoded. A check of the database reports details.
    #[error("document {id} of {collection} is damaged: {reason}")]
    DamagedDocument {
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
        /// The error.
        reason: String,
    },
    /// The entries of an index do not match its documents. A check of the database reports details.
    #[error(
        "the index {index} of {collection} is damaged: {reason}: the documents are not affected; drop the index and \
         create it again"
    )]
    DamagedIndex {
        /// The collection's full name.
        collection: String,
        /// The name of the index.
        index: String,
        /// The error.
        reason: String,
    },
    /// A filter is invalid or not supported.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The options of a collation are invalid or not supported.
    #[error(transparent)]
    Collation(#[from] CollationError),
    /// A sort is invalid, cannot be applied to a document, or would take more memory than allowed.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// A projection is invalid or cannot be applied.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// A pipeline is invalid, or cannot be applied to a document.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A change stream is refused, or has ended.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// A hint names an index that does not exist, or that does not contain all documents.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The distinct values of a field cannot be determined.
    #[error(transparent)]
    Distinct(#[from] DistinctError),
    /// Some writes of a bulk write failed.
    #[error("{} of the writes failed; the first, at position {}: {}", errors.len(), first_of(errors).0, first_of(errors).1)]
    BulkWrite {
        /// The result of the other writes.
        result: Box<BulkWriteResult>,
        /// The positions of the failed writes, counted from 0, and their errors. At least one.
        errors: Vec<(usize, Error)>,
    },
    /// A write of many documents failed after it had written some. The written documents remain.
    #[error("{error}; before that, {}", written(*.deleted, *.matched_count, *.modified_count))]
    WriteMany {
        /// The number of documents that the write had found, changed or not.
        matched_count: u64,
        /// The number of documents that the write had changed or deleted.
        modified_count: u64,
        /// True for a write that deletes documents.
        deleted: bool,
        /// The reason.
        error: Box<Error>,
    },
    /// A query exceeded its time limit.
    #[error(
        "the operation exceeded its time limit of {limit_ms} ms (max_time): raise the limit, or create an index for it"
    )]
    MaxTimeExpired {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// An update is invalid.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// An update cannot be applied to a document.
    #[error("document {id} of {collection}: {error}")]
    UpdateOf {
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
        /// The reason.
        error: UpdateError,
    },
    /// An input of a load cannot be read or used. The message contains the reason.
    #[error("{0}")]
    Load(String),
    /// A document cannot be written in the requested format. The message names the document.
    #[error("{0}")]
    Export(String),
    /// A dump cannot be written or restored. The message contains the reason.
    #[error("{0}")]
    Dump(String),
    /// The disk has not enough free space for a long operation. The operation was not begun.
    #[error(
        "{purpose} needs about {} of disk space, and {} are free: free some space, or skip this check",
        megabytes(.needed_bytes), megabytes(.available_bytes)
    )]
    NotEnoughSpace {
        /// The operation.
        purpose: &'static str,
        /// Bytes that the operation needs.
        needed_bytes: u64,
        /// Bytes that are free.
        available_bytes: u64,
    },
    /// The operation was stopped on request.
    #[error("stopped")]
    Stopped,
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Json(error) => Self::Json(error.to_string()),
            InputError::Invalid(reason) => Self::InvalidDocument(reason),
        }
    }
}

impl From<alluvium_store::Error> for Error {
    fn from(error: alluvium_store::Error) -> Self {
        match error {
            alluvium_store::Error::Stopped => Self::Stopped,
            error => Self::Store(error),
        }
    }
}

impl From<alluvium_exec::Interrupted> for Error {
    fn from(interrupted: alluvium_exec::Interrupted) -> Self {
        match interrupted {
            alluvium_exec::Interrupted::Stopped => Self::Stopped,
            alluvium_exec::Interrupted::MaxTimeExpired { limit_ms } => Self::MaxTimeExpired { limit_ms },
        }
    }
}

/// Converts an error of a stored document or of a draft. A caller that knows the `_id` adds it with
/// [`Error::of_document`].
impl From<RowError> for Error {
    fn from(error: RowError) -> Self {
        match error {
            RowError::TooDeep => Self::InvalidDocument(error.to_string()),
            damaged => Self::Update(UpdateError::Damaged(damaged)),
        }
    }
}

/// True if a stored row is damaged; false if a document that is to be stored is not allowed.
fn is_damage(error: &RowError) -> bool {
    *error != RowError::TooDeep
}

fn first_of(errors: &[(usize, Error)]) -> (usize, String) {
    errors.first().map_or_else(Default::default, |(at, error)| (*at, error.to_string()))
}

/// The place of a value in a message.
fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at {path}") }
}

/// The effect of a write of many documents before its error.
fn written(deleted: bool, matched: u64, modified: u64) -> String {
    let documents = |count: u64| if count == 1 { "document" } else { "documents" };
    match deleted {
        true => format!("{modified} {} had been deleted", documents(modified)),
        false => format!("{modified} of {matched} matching {} had been updated", documents(matched)),
    }
}

fn suggestion(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(": did you mean {name}?"))
}

/// Bytes in megabytes, that is 1,000,000 bytes.
fn megabytes(bytes: &u64) -> String {
    format!("{:.1} MB", *bytes as f64 / 1e6)
}

/// A result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error if `stop` is set.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn unless_stopped(stop: &AtomicBool) -> Result<()> {
        if stop.load(Ordering::Relaxed) { Err(Self::Stopped) } else { Ok(()) }
    }

    /// The error for a document that cannot be converted to BSON, with the reason.
    ///
    /// ```
    /// use alluvium_collections::error::Error;
    /// use alluvium_document::bson::BsonError;
    /// use alluvium_document::{Document, IntoDocument};
    ///
    /// let document = Document::from_map(&r#"{"_id": 7, "a": [1e-7000]}"#.into_map()?)?;
    /// let error = Error::not_bson("zoo.pets", &document, &BsonError::Decimal);
    /// assert!(error.to_string().starts_with("the document with _id 7 of zoo.pets cannot be sent"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn not_bson(collection: &str, document: &Document, reason: &BsonError) -> Self {
        let unfit = document.to_map().ok().and_then(|map| bson::unfit(&map));
        let (path, reason) =
            unfit.map_or_else(|| (String::new(), reason.to_string()), |(path, e)| (path, e.to_string()));
        let id = json::to_string(document.id(), json::Format::RELAXED).unwrap_or_default();
        Self::NotBson { collection: collection.to_owned(), id, path, reason }
    }

    /// Adds the collection and the `_id` to an error about a damaged document, or about an update that cannot be
    /// applied.
    pub(crate) fn of_document(self, collection: &FullName, id: impl FnOnce() -> String) -> Self {
        let collection = collection.to_string();
        match self {
            Self::Update(UpdateError::Damaged(error)) if is_damage(&error) => {
                Self::DamagedDocument { collection, id: id(), reason: error.to_string() }
            }
            Self::Update(error) => Self::UpdateOf { collection, id: id(), error },
            error => error,
        }
    }

    /// MongoDB's code and name for the error, if MongoDB has one.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let error = pets.insert_one(r#"{"_id": "rex"}"#).unwrap_err();
    /// assert_eq!(error.code(), Some((11000, "DuplicateKey")));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn code(&self) -> Option<(i32, &'static str)> {
        Some(match self {
            Self::Filter(error) => numbered(error.code()),
            Self::Collation(error) => numbered(error.code()),
            Self::Sort(error) => numbered(error.code()),
            Self::Projection(error) => numbered(error.code()),
            Self::Pipeline(error) => numbered(error.code()),
            Self::Watch(error) => error.code(),
            Self::ChangesLost { .. } | Self::ChangesNotRecorded { .. } => (286, "ChangeStreamHistoryLost"),
            Self::Plan(error) => numbered(error.code()),
            Self::Distinct(error) => numbered(error.code()),
            Self::Update(error) | Self::UpdateOf { error, .. } => numbered(error.code()),
            Self::Index(error) | Self::IndexOf { error, .. } => numbered(error.code()),
            Self::NotCapped(_) => (2, "BadValue"),
            Self::CappedPositionLost(_) => (136, "CappedPositionLost"),
            Self::CursorKilled(_) => (175, "QueryPlanKilled"),
            Self::IsView(_) => (166, "CommandNotSupportedOnView"),
            Self::Validation { .. } => (121, "DocumentValidationFailure"),
            Self::IndexConflict { code: 86, .. } => (86, "IndexKeySpecsConflict"),
            Self::IndexConflict { .. } => (85, "IndexOptionsConflict"),
            Self::AmbiguousKeys { .. } => (181, "AmbiguousIndexKeyPattern"),
            Self::NoSuchIndex { .. } => (27, "IndexNotFound"),
            Self::NoSuchCollection { .. } | Self::OnlyCollection { .. } => (26, "NamespaceNotFound"),
            Self::CollectionExists(_) => (48, "NamespaceExists"),
            Self::InvalidName(_) => (73, "InvalidNamespace"),
            Self::MaxTimeExpired { .. } => (50, "MaxTimeMSExpired"),
            Self::DuplicateKey { .. } | Self::LoadDuplicate { .. } | Self::DuplicateIndexKey { .. } => {
                (11000, "DuplicateKey")
            }
            Self::LoadOf { error, .. } => return error.code(),
            Self::InvalidId { code: 52, .. } => (52, "DollarPrefixedFieldName"),
            Self::InvalidId { code: 53, .. } => (53, "InvalidIdField"),
            Self::NotBson { .. } => (22, "InvalidBSON"),
            Self::DocumentTooLarge(_) => (10334, "BSONObjectTooLarge"),
            Self::InvalidDocument(_) | Self::UnfittingDocument { .. } | Self::InvalidId { .. } => (2, "BadValue"),
            Self::Json(_) => (9, "FailedToParse"),
            Self::DamagedDocument { .. } => (301, "DataCorruptionDetected"),
            Self::BulkWrite { errors, .. } => return errors.first()?.1.code(),
            Self::WriteMany { error, .. } => return error.code(),
            Self::NotInTransaction { .. } => (263, "OperationNotSupportedInTransaction"),
            Self::TransactionEnded { .. } => (251, "NoSuchTransaction"),
            Self::Store(alluvium_store::Error::Conflict) => (112, "WriteConflict"),
            Self::Store(alluvium_store::Error::Claimed { .. }) => (24, "LockTimeout"),
            _ => return None,
        })
    }

    /// The kind of the error.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// use alluvium::ErrorKind;
    ///
    /// let error = pets.insert_one("{").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => store_kind(error),
            Self::ReadOnly(error) => read_only_kind(error),
            Self::NeverChanges(_) => ErrorKind::Open,
            Self::Update(UpdateError::Damaged(error))
            | Self::UpdateOf { error: UpdateError::Damaged(error), .. }
            | Self::Sort(SortError::Damaged(error))
            | Self::Projection(ProjectionError::Damaged(error))
            | Self::Distinct(DistinctError::Damaged(error))
            | Self::Pipeline(PipelineError::Damaged(error))
            | Self::Index(IndexError::Damaged(error))
            | Self::IndexOf { error: IndexError::Damaged(error), .. }
                if is_damage(error) =>
            {
                ErrorKind::Corruption
            }
            Self::LoadOf { error, .. } => error.kind(),
            Self::DuplicateKey { .. } | Self::LoadDuplicate { .. } | Self::DuplicateIndexKey { .. } => {
                ErrorKind::DuplicateKey
            }
            Self::NoSuchCollection { .. }
            | Self::OnlyCollection { .. }
            | Self::CollectionExists(_)
            | Self::CursorKilled(_)
            | Self::NoSuchIndex { .. } => ErrorKind::Namespace,
            Self::CappedPositionLost(_) | Self::ChangesLost { .. } => ErrorKind::SnapshotTooOld,
            Self::ChangesNotRecorded { .. } => ErrorKind::Invalid,
            Self::TransactionEnded { .. } | Self::NotInTransaction { .. } => ErrorKind::Invalid,
            Self::InvalidName(_)
            | Self::InvalidDocument(_)
            | Self::UnfittingDocument { .. }
            | Self::NotBson { .. }
            | Self::DocumentTooLarge(_)
            | Self::InvalidId { .. }
            | Self::Json(_)
            | Self::Update(_)
            | Self::UpdateOf { .. }
            | Self::Filter(_)
            | Self::Collation(_)
            | Self::Sort(_)
            | Self::Projection(_)
            | Self::Pipeline(_)
            | Self::Watch(_)
            | Self::Plan(_)
            | Self::Distinct(_)
            | Self::Index(_)
            | Self::IndexOf { .. }
            | Self::Validation { .. }
            | Self::IsView(_)
            | Self::NotCapped(_)
            | Self::IndexConflict { .. }
            | Self::AmbiguousKeys { .. }
            | Self::Load(_)
            | Self::Export(_)
            | Self::OtherContent { .. }
            | Self::Dump(_) => ErrorKind::Invalid,
            Self::NotEnoughSpace { .. } => ErrorKind::NoSpace,
            Self::Stopped => ErrorKind::Stopped,
            Self::MaxTimeExpired { .. } => ErrorKind::TimedOut,
            Self::BulkWrite { errors, .. } => errors.first().map_or(ErrorKind::Invalid, |(_, error)| error.kind()),
            Self::WriteMany { error, .. } => error.kind(),
            Self::DamagedDocument { .. } | Self::DamagedIndex { .. } => ErrorKind::Corruption,
        }
    }
}

/// The maximum number of characters of details in a message.
const DETAILS_CHARS: usize = 300;

/// The details of a refusal as JSON, truncated.
fn shortened(details: &Map) -> String {
    let details = details.get("details").cloned().unwrap_or_default().to_string();
    match details.char_indices().nth(DETAILS_CHARS) {
        Some((at, _)) => format!("{}…", &details[..at]),
        None => details,
    }
}

fn store_kind(error: &alluvium_store::Error) -> ErrorKind {
    use alluvium_store::Error as E;
    match error {
        E::Storage(alluvium_env::Error::Corrupt { .. } | alluvium_env::Error::NotAFile { .. }) | E::Decode { .. } => {
            ErrorKind::Corruption
        }
        E::Storage(alluvium_env::Error::NewerFormat { .. })
        | E::NotADatabase(_)
        | E::ForeignDirectory(_)
        | E::NotOfADatabase(_)
        | E::IsCheckpoint(_)
        | E::NotACheckpoint(_)
        | E::TargetExists(_)
        | E::InsideDatabase { .. }
        | E::ForeignBase { .. }
        | E::PartitionCount { .. }
        | E::LogTooLarge { .. } => ErrorKind::Open,
        E::OpenedForReading(_) => ErrorKind::ReadOnly,
        E::Storage(error) if error.is_no_space() => ErrorKind::NoSpace,
        E::Storage(_) => ErrorKind::Io,
        E::InUse(_) | E::InUseHere(_) => ErrorKind::InUse,
        E::InvalidOption { .. } | E::BatchTooLarge { .. } => ErrorKind::Invalid,
        E::NoSuchTree(_) | E::SchemaChanged(_) => ErrorKind::Namespace,
        E::NoSpace(_) | E::NoSpaceToOpen { .. } => ErrorKind::NoSpace,
        E::Poisoned(_) | E::WorkerFailed(_) => ErrorKind::Poisoned,
        E::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
        E::SnapshotTooOld => ErrorKind::SnapshotTooOld,
        E::Conflict => ErrorKind::Conflict,
        E::Claimed { .. } => ErrorKind::TimedOut,
        E::Closed => ErrorKind::Closed,
        E::Stopped => ErrorKind::Stopped,
    }
}

fn read_only_kind(error: &alluvium_readonly::Error) -> ErrorKind {
    use alluvium_readonly::Error as E;
    match error {
        E::Storage(alluvium_env::Error::Corrupt { .. } | alluvium_env::Error::NotAFile { .. }) => ErrorKind::Corruption,
        E::Storage(error) if error.is_no_space() => ErrorKind::NoSpace,
        E::Storage(alluvium_env::Error::NewerFormat { .. }) => ErrorKind::Open,
        E::NotReadOnly(_) | E::Unfinished(_) | E::Exists(_) | E::NotEmpty(_) => ErrorKind::Open,
        E::InUse(_) => ErrorKind::InUse,
        E::DuplicateKey { .. } => ErrorKind::DuplicateKey,
        E::PairTooLarge { .. } | E::NoSuchIndex { .. } | E::InvalidOption { .. } => ErrorKind::Invalid,
        E::NoSpace { .. } => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    }
}

/// An `_id` as text for messages.
pub fn id_text(id: &Value) -> String {
    alluvium_document::json::to_string(id, alluvium_document::json::Format::RELAXED)
        .unwrap_or_else(|_| "(not printable)".to_owned())
}

fn numbered(code: alluvium_query::ErrorCode) -> (i32, &'static str) {
    (code.number(), code.name())
}

/// The error for a collection whose options cannot be read. In that case the database is not opened, because writes
/// could not obey the options.
pub(crate) fn unreadable_options(name: &FullName) -> Error {
    Error::DamagedDocument {
        collection: name.to_string(),
        id: "(options)".to_owned(),
        reason: "the options of the collection cannot be read: they are damaged, or were written by a newer version"
            .to_owned(),
    }
}

/// The error for a view whose description cannot be read. In that case the database is not opened, because a collection
/// could be created under the name of the view.
pub(crate) fn unreadable_view(tree: TreeId) -> Error {
    Error::DamagedDocument {
        collection: "(views)".to_owned(),
        id: format!("tree {}", tree.0),
        reason: "the description of a view cannot be read: it is damaged, or was written by a newer version".to_owned(),
    }
}

/// The error for an index whose description cannot be read. In that case the database is not opened, because writes
/// could not maintain the index.
pub(crate) fn unreadable_index(tree: TreeId, definition: Option<IndexError>) -> Error {
    let found = "the description of an index cannot be read: ";
    let reason = match definition {
        Some(IndexError::Collation(error)) => format!("{found}{error}"),
        _ => format!("{found}it is damaged, or was written by a newer version"),
    };
    Error::DamagedDocument { collection: "(indexes)".to_owned(), id: format!("tree {}", tree.0), reason }
}
