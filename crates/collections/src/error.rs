//! The library's error: few kinds, each telling what to do next.

use crate::names::{FullName, InvalidName};
use crate::results::BulkWriteResult;
use alluvium_document::row::RowError;
use alluvium_document::{InputError, Value};
use alluvium_query::distinct::DistinctError;
use alluvium_query::filter::FilterError;
use alluvium_query::index::IndexError;
use alluvium_query::plan::PlanError;
use alluvium_query::projection::ProjectionError;
use alluvium_query::sort::SortError;
use alluvium_query::update::UpdateError;
use alluvium_store::TreeId;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What an [`enum@Error`] is about, for programs that decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An `_id` is taken.
    DuplicateKey,
    /// A collection or logical database does not exist (or does already, for create and rename).
    Namespace,
    /// A document, an `_id`, a name or an option is not allowed.
    Invalid,
    /// The path holds no database or checkpoint, or cannot be used.
    Open,
    /// Another process has the database open.
    InUse,
    /// Bytes on disk are damaged.
    Corruption,
    /// The disk is full, up to what [`crate::Builder::disk_reserve`] keeps free; nothing was written.
    NoSpace,
    /// The database takes no writes until it is reopened.
    Poisoned,
    /// A write may or may not have happened: reopen and look.
    OutcomeUnknown,
    /// A snapshot or cursor lived too long, or kept too much on disk, and was ended.
    SnapshotTooOld,
    /// The database was closed.
    Closed,
    /// The operating system refused something.
    Io,
    /// It was stopped, as was asked for.
    Stopped,
    /// It took longer than it was given.
    TimedOut,
}

/// What the library answers instead of a result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store below failed; its message says how.
    #[error(transparent)]
    Store(alluvium_store::Error),
    /// A read-only store failed; its message says how.
    #[error(transparent)]
    ReadOnly(#[from] alluvium_readonly::Error),
    /// A write, or an opening for writing, of a read-only store.
    #[error(
        "{} is a read-only store, which never changes: build another one, or export it and load that into a database",
        .0.display()
    )]
    NeverChanges(PathBuf),
    /// A read-only store holds something else than was asked for.
    #[error("{} holds {there}, not {asked}", path.display())]
    OtherContent {
        /// The store.
        path: PathBuf,
        /// What it holds.
        there: &'static str,
        /// What was asked for.
        asked: &'static str,
    },
    /// A document with this `_id` is in the collection already.
    #[error(
        "collection {collection} has a document with _id {id} already: choose another _id, or use put to replace it"
    )]
    DuplicateKey {
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
    },
    /// A load that stops at duplicates met a document whose `_id` is taken.
    #[error("{input} {what} {line}: collection {collection} has a document with _id {id} already")]
    LoadDuplicate {
        /// The input's name.
        input: String,
        /// What is counted: `line`, or `document` where the input has no lines.
        what: &'static str,
        /// Its number, from 1.
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
        /// What is counted: `line`, or `document` where the input has no lines.
        what: &'static str,
        /// Its number, from 1.
        line: u64,
        /// Why not.
        error: Box<Error>,
    },
    /// A document would have the key of another in a unique index.
    #[error(
        "document {id} of collection {collection} has the key {key} of the unique index {index} already: change \
         the key, or drop the index"
    )]
    DuplicateIndexKey {
        /// The collection's full name.
        collection: String,
        /// The index.
        index: String,
        /// The key, as extended JSON.
        key: String,
        /// The `_id` of the document that has it, as extended JSON.
        id: String,
    },
    /// An index is wrong by itself, or cannot be built over a document.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An index cannot take a document that is to be written.
    #[error("document {id} of {collection}: index {index}: {error}")]
    IndexOf {
        /// The collection's full name.
        collection: String,
        /// The `_id` of the document, as extended JSON.
        id: String,
        /// The index.
        index: String,
        /// Why not.
        error: IndexError,
    },
    /// There is an index that is nearly the same.
    #[error("{what}")]
    IndexConflict {
        /// MongoDB's code: 85 for other options, 86 for other keys.
        code: i32,
        /// What is the same, and what to do.
        what: String,
    },
    /// There is no such index.
    #[error("collection {collection} has no index {index}")]
    NoSuchIndex {
        /// The collection's full name.
        collection: String,
        /// The name that was asked for.
        index: String,
    },
    /// Several indexes have the keys by which one is meant.
    #[error("collection {collection} has several indexes with the keys {keys}: name one of {names}")]
    AmbiguousKeys {
        /// The collection's full name.
        collection: String,
        /// The keys, as extended JSON.
        keys: String,
        /// The names of the indexes.
        names: String,
    },
    /// There is no such collection.
    #[error("there is no collection {name}{}", suggestion(.nearest))]
    NoSuchCollection {
        /// The name that was asked for.
        name: String,
        /// The existing name that is most like it.
        nearest: Option<String>,
    },
    /// There is such a collection already.
    #[error("there is a collection {0} already: drop it first, or choose another name")]
    CollectionExists(String),
    /// A name is not allowed.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// A document cannot be stored.
    #[error("the document cannot be stored: {0}")]
    InvalidDocument(String),
    /// An `_id` is not allowed.
    #[error("the _id cannot be used: {what}")]
    InvalidId {
        /// MongoDB's code: 52 for a field in it that begins with a dollar sign, 2 for others.
        code: i32,
        /// What is wrong with it.
        what: String,
    },
    /// Text is no JSON, or not one document.
    #[error("{0}")]
    Json(String),
    /// A stored document cannot be decoded. A check of the database finds out more.
    #[error("document {id} of {collection} is damaged: {reason}")]
    DamagedDocument {
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// An index is not what its documents yield. A check of the database finds out more.
    #[error(
        "the index {index} of {collection} is damaged: {reason}: the documents are not concerned; drop the index and \
         create it again"
    )]
    DamagedIndex {
        /// The collection's full name.
        collection: String,
        /// The index.
        index: String,
        /// What is wrong.
        reason: String,
    },
    /// A filter is wrong, or not supported.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A sort is wrong, or documents cannot be sorted by it, or not within the memory that it may take.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// A projection is wrong, or cannot be applied.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// A hint names an index that is not there, or that does not have all documents.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The distinct values of a field cannot be told.
    #[error(transparent)]
    Distinct(#[from] DistinctError),
    /// Some of many writes failed.
    #[error("{} of the writes failed; that at place {} says: {}", errors.len(), first_of(errors).0, first_of(errors).1)]
    BulkWrite {
        /// What the others did.
        result: Box<BulkWriteResult>,
        /// The places of those that failed among the writes, from 0, and why they did. There is at least one.
        errors: Vec<(usize, Error)>,
    },
    /// A write of many documents ended with an error after it had written some, which stay so.
    #[error("{error}; before that {}, which stay so", written(*.deleted, *.matched_count, *.modified_count))]
    WriteMany {
        /// Documents that it had found and written, or found unchanged.
        matched_count: u64,
        /// Documents that it had changed or deleted.
        modified_count: u64,
        /// They were deleted.
        deleted: bool,
        /// Why it ended.
        error: Box<Error>,
    },
    /// A question took longer than it was given.
    #[error(
        "it took longer than the {limit_ms} ms that it was given (max_time): give it more, or make an index that helps"
    )]
    MaxTimeExpired {
        /// The time that it was given, in milliseconds.
        limit_ms: u64,
    },
    /// An update is wrong by itself.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// An update cannot be applied to a document.
    #[error("document {id} of {collection}: {error}")]
    UpdateOf {
        /// The collection's full name.
        collection: String,
        /// The `_id`, as extended JSON.
        id: String,
        /// Why not.
        error: UpdateError,
    },
    /// An input of a load cannot be read or used; the message says why.
    #[error("{0}")]
    Load(String),
    /// Documents cannot be written in the format that was asked for; the message names the document.
    #[error("{0}")]
    Export(String),
    /// A dump cannot be written or restored; the message says why.
    #[error("{0}")]
    Dump(String),
    /// A long operation would not have room on the disk; nothing was begun.
    #[error(
        "{purpose} needs about {} of the disk, and {} are free: free some space, or go without this check",
        megabytes(.needed_bytes), megabytes(.available_bytes)
    )]
    NotEnoughSpace {
        /// What needs it.
        purpose: &'static str,
        /// Bytes that it needs.
        needed_bytes: u64,
        /// Bytes that are free.
        available_bytes: u64,
    },
    /// Somebody asked for it.
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

/// Of a document at hand, or of a draft of one. Who knows which it is names it: see [`Error::of_document`].
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

/// What a write of many documents had done.
fn written(deleted: bool, matched: u64, modified: u64) -> String {
    let documents = |count: u64| if count == 1 { "document" } else { "documents" };
    match deleted {
        true => format!("it had deleted {modified} {}", documents(modified)),
        false => format!("it had updated {modified} of {matched} matching {}", documents(matched)),
    }
}

fn suggestion(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(": did you mean {name}?"))
}

/// Bytes in millions.
fn megabytes(bytes: &u64) -> String {
    format!("{:.1} MB", *bytes as f64 / 1e6)
}

/// A result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// [`Error::Stopped`] if somebody has asked for it.
    /// An error if `stop` is set.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn unless_stopped(stop: &AtomicBool) -> Result<()> {
        if stop.load(Ordering::Relaxed) { Err(Self::Stopped) } else { Ok(()) }
    }

    /// The error with the document that it is about: one that is damaged, or that an update does not go with.
    pub(crate) fn of_document(self, collection: &FullName, id: &Value) -> Self {
        let (collection, id) = (collection.to_string(), || id_text(id));
        match self {
            Self::Update(UpdateError::Damaged(error)) if is_damage(&error) => {
                Self::DamagedDocument { collection, id: id(), reason: error.to_string() }
            }
            Self::Update(error) => Self::UpdateOf { collection, id: id(), error },
            error => error,
        }
    }

    /// MongoDB's number and name for the error, for what MongoDB has one.
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
            Self::Sort(error) => numbered(error.code()),
            Self::Projection(error) => numbered(error.code()),
            Self::Plan(error) => numbered(error.code()),
            Self::Distinct(error) => numbered(error.code()),
            Self::Update(error) | Self::UpdateOf { error, .. } => numbered(error.code()),
            Self::Index(error) | Self::IndexOf { error, .. } => numbered(error.code()),
            Self::IndexConflict { code: 86, .. } => (86, "IndexKeySpecsConflict"),
            Self::IndexConflict { .. } => (85, "IndexOptionsConflict"),
            Self::AmbiguousKeys { .. } => (181, "AmbiguousIndexKeyPattern"),
            Self::NoSuchIndex { .. } => (27, "IndexNotFound"),
            Self::NoSuchCollection { .. } => (26, "NamespaceNotFound"),
            Self::CollectionExists(_) => (48, "NamespaceExists"),
            Self::InvalidName(_) => (73, "InvalidNamespace"),
            Self::MaxTimeExpired { .. } => (50, "MaxTimeMSExpired"),
            Self::DuplicateKey { .. } | Self::LoadDuplicate { .. } | Self::DuplicateIndexKey { .. } => {
                (11000, "DuplicateKey")
            }
            Self::LoadOf { error, .. } => return error.code(),
            Self::InvalidId { code: 52, .. } => (52, "DollarPrefixedFieldName"),
            Self::InvalidDocument(_) | Self::InvalidId { .. } => (2, "BadValue"),
            Self::Json(_) => (9, "FailedToParse"),
            Self::DamagedDocument { .. } => (301, "DataCorruptionDetected"),
            Self::BulkWrite { errors, .. } => return errors.first()?.1.code(),
            Self::WriteMany { error, .. } => return error.code(),
            _ => return None,
        })
    }

    /// What the error is about.
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
            Self::NoSuchCollection { .. } | Self::CollectionExists(_) | Self::NoSuchIndex { .. } => {
                ErrorKind::Namespace
            }
            Self::InvalidName(_)
            | Self::InvalidDocument(_)
            | Self::InvalidId { .. }
            | Self::Json(_)
            | Self::Update(_)
            | Self::UpdateOf { .. }
            | Self::Filter(_)
            | Self::Sort(_)
            | Self::Projection(_)
            | Self::Plan(_)
            | Self::Distinct(_)
            | Self::Index(_)
            | Self::IndexOf { .. }
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

fn store_kind(error: &alluvium_store::Error) -> ErrorKind {
    use alluvium_store::Error as E;
    match error {
        E::Storage(alluvium_env::Error::Corrupt { .. }) | E::Decode { .. } => ErrorKind::Corruption,
        E::Storage(alluvium_env::Error::NewerFormat { .. })
        | E::NotADatabase(_)
        | E::ForeignDirectory(_)
        | E::NotOfADatabase(_)
        | E::IsCheckpoint(_)
        | E::NotACheckpoint(_)
        | E::TargetExists(_)
        | E::InsideDatabase { .. }
        | E::ForeignBase { .. }
        | E::PartitionCount { .. } => ErrorKind::Open,
        E::Storage(error) if error.is_no_space() => ErrorKind::NoSpace,
        E::Storage(_) => ErrorKind::Io,
        E::InUse(_) => ErrorKind::InUse,
        E::InvalidOption { .. } | E::BatchTooLarge { .. } => ErrorKind::Invalid,
        E::NoSuchTree(_) | E::SchemaChanged(_) => ErrorKind::Namespace,
        E::NoSpace(_) => ErrorKind::NoSpace,
        E::Poisoned(_) | E::WorkerFailed(_) => ErrorKind::Poisoned,
        E::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
        E::SnapshotTooOld => ErrorKind::SnapshotTooOld,
        E::Closed => ErrorKind::Closed,
        E::Stopped => ErrorKind::Stopped,
    }
}

fn read_only_kind(error: &alluvium_readonly::Error) -> ErrorKind {
    use alluvium_readonly::Error as E;
    match error {
        E::Storage(alluvium_env::Error::Corrupt { .. }) => ErrorKind::Corruption,
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

/// The error for an index whose description cannot be read: a write that cannot keep the index must not happen beside it.
pub(crate) fn unreadable_index(tree: TreeId) -> Error {
    Error::DamagedDocument {
        collection: "(indexes)".to_owned(),
        id: format!("tree {}", tree.0),
        reason: "the description of an index cannot be read: it is damaged, or of a newer build".to_owned(),
    }
}
