//! Failures of commands, and their exit codes.

use crate::advice;
use crate::streams;
use crate::text;
use alluvium::{ErrorKind, UpdateError};
use alluvium_query::distinct::DistinctError;
use alluvium_query::projection::ProjectionError;
use alluvium_query::sort::SortError;
use std::fmt;
use std::io;

/// Success.
pub const OK: u8 = 0;
/// A failure without its own code.
pub(crate) const FAILURE: u8 = 1;
/// Invalid arguments.
pub const USAGE: u8 = 2;
/// A document, collection, index, database or input does not exist.
pub(crate) const NOT_FOUND: u8 = 3;
/// A duplicate `_id`, or a duplicate key of a unique index.
pub(crate) const DUPLICATE: u8 = 4;
/// Bytes on disk are damaged.
pub(crate) const DAMAGED: u8 = 5;
/// Another process has the database open.
pub(crate) const IN_USE: u8 = 6;
/// The disk is full.
pub(crate) const NO_SPACE: u8 = 7;
/// Ended by ctrl-C or SIGTERM.
pub(crate) const INTERRUPTED: u8 = 130;

/// The part of the help about exit codes.
pub(crate) const HELP: &str = "\
Exit codes:
    0  success (also if the reader of the output closes it)
    1  failed; the message says why
    2  the arguments are wrong
    3  a document, collection, index, database or input file does not exist
    4  an _id is taken, or a key of a unique index
    5  damage was found on disk
    6  the database is in use by another process
    7  the disk is full
  130  interrupted by ctrl-C or SIGTERM

`alluvium help <command>` shows a command's options and an example.";

/// The reason why a command fails.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library, with advice.
    Library {
        /// The error.
        error: Box<alluvium::Error>,
        /// The remedy for the user.
        advice: Option<String>,
    },
    /// Wrong arguments that the parser cannot recognize.
    Usage(String),
    /// An argument that is not JSON, or has the wrong type.
    Malformed {
        /// The message.
        text: String,
        /// MongoDB's number and name of the error.
        code: (i32, &'static str),
    },
    /// Something that an argument names does not exist.
    NotFound(String),
    /// Damage was found, and was already printed.
    Damaged(String),
    /// The disk is full.
    NoSpace(String),
    /// Anything else.
    Other(String),
    /// The output was closed, which is not an error.
    BrokenPipe,
    /// Stopped by a signal.
    Interrupted(String),
    /// A failure that was already printed, with its exit code.
    Reported(u8),
}

/// The result of a command, or of one step of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// An error of the library with advice.
    pub(crate) fn explained(error: alluvium::Error, advice: Option<String>) -> Self {
        Self::Library { error: Box::new(error), advice }
    }

    /// An argument that is not JSON.
    pub(crate) fn no_json(text: String) -> Self {
        Self::Malformed { text, code: (9, "FailedToParse") }
    }

    /// An argument that has the wrong type.
    pub(crate) fn wrong_type(text: String) -> Self {
        Self::Malformed { text, code: (14, "TypeMismatch") }
    }

    /// A file operation that failed.
    pub fn io(what: &str, path: &std::path::Path, error: &io::Error) -> Self {
        let text = format!("cannot {what} {}: {error}", text::path(path));
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(text),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace(text),
            io::ErrorKind::FileTooLarge => Self::Other(format!("{text}\n{}", advice::TOO_LARGE)),
            _ => Self::Other(text),
        }
    }

    /// A write to standard output that failed.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ if streams::is_stopped(error) => Self::Interrupted(String::new()),
            _ => Self::io("write to", std::path::Path::new("standard output"), error),
        }
    }

    /// A read from standard input that failed.
    pub(crate) fn stdin(error: &io::Error) -> Self {
        match streams::is_stopped(error) {
            true => Self::Interrupted(String::new()),
            false => Self::Other(format!("cannot read standard input: {error}")),
        }
    }

    /// The same failure, marked as printed.
    pub(crate) fn reported(self) -> Self {
        Self::Reported(self.exit_code())
    }

    /// MongoDB's number and name of the error, if it has one.
    pub(crate) fn code(&self) -> Option<(i32, &'static str)> {
        match self {
            Self::Library { error, .. } => error.code(),
            Self::Malformed { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Library { error, .. } => library_code(error),
            Self::Usage(_) | Self::Malformed { .. } => USAGE,
            Self::NotFound(_) => NOT_FOUND,
            Self::Damaged(_) => DAMAGED,
            Self::NoSpace(_) => NO_SPACE,
            Self::Other(_) => FAILURE,
            Self::BrokenPipe => OK,
            Self::Interrupted(_) => INTERRUPTED,
            Self::Reported(code) => *code,
        }
    }
}

/// Refuses an operation that needs more space than is free.
pub(crate) fn enough_space(space: alluvium::Space) -> Outcome {
    let advice = Some("--no-space-check starts anyway".to_owned());
    space.check().map_err(|error| Failure::explained(error, advice))
}

/// Memory budgets that are smaller than the default and keep less disk space free, the largest first.
const SMALLER_MEMORY: [usize; 5] = [128 << 20, 64 << 20, 32 << 20, 16 << 20, 8 << 20];

/// Like [`enough_space`], for an operation that leaves the reserve of the disk free. `with_memory` returns the space
/// that the operation needs with another memory budget.
pub(crate) fn enough_space_over_reserve(
    space: alluvium::Space,
    with_memory: impl Fn(usize) -> alluvium::Space,
) -> Outcome {
    space.check().map_err(|error| {
        let less = SMALLER_MEMORY.into_iter().find(|bytes| with_memory(*bytes).is_enough());
        let memory = less.map_or_else(String::new, |bytes| {
            format!("--memory {}M needs less space, since it keeps less of the disk free; ", bytes >> 20)
        });
        let advice = format!(
            "{memory}--disk-reserve 0 lets it use the space that is kept free for deletes and compactions, and --no-space-check \
             starts anyway"
        );
        Failure::explained(error, Some(advice))
    })
}

/// True for a sort that is invalid for any documents.
fn is_of_arguments(error: &SortError) -> bool {
    matches!(
        error,
        SortError::Direction(_)
            | SortError::NotADirection(_)
            | SortError::Path(..)
            | SortError::Duplicate(_)
            | SortError::TooManyParts
            | SortError::Unsupported(_)
    )
}

fn library_code(error: &alluvium::Error) -> u8 {
    use alluvium::Error;
    use alluvium_readonly::Error as ReadOnlyError;
    use alluvium_store::Error as StoreError;
    match error {
        Error::NoSuchCollection { .. }
        | Error::OnlyCollection { .. }
        | Error::NoSuchIndex { .. }
        | Error::Store(StoreError::NotADatabase(_) | StoreError::NotACheckpoint(_)) => {
            return NOT_FOUND;
        }
        Error::Plan(error) if error.is_unknown_index() => return NOT_FOUND,
        Error::ReadOnly(ReadOnlyError::NotReadOnly(_)) => return NOT_FOUND,
        Error::ReadOnly(ReadOnlyError::InvalidOption { .. } | ReadOnlyError::NoSuchIndex { .. })
        | Error::InvalidName { .. }
        | Error::InvalidId { .. }
        | Error::Filter(_)
        | Error::Collation(_)
        | Error::Projection(
            ProjectionError::Invalid(..) | ProjectionError::Expression(_) | ProjectionError::Filter(_),
        )
        | Error::Distinct(DistinctError::Path(..))
        | Error::Plan(_)
        | Error::Store(
            StoreError::InvalidOption { .. } | StoreError::PartitionCount { .. } | StoreError::InsideDatabase { .. },
        ) => return USAGE,
        Error::Sort(error) if is_of_arguments(error) => return USAGE,
        Error::Update(error) if !matches!(error, UpdateError::Damaged(_)) => return USAGE,
        _ => {}
    }
    match error.kind() {
        ErrorKind::DuplicateKey => DUPLICATE,
        ErrorKind::Corruption => DAMAGED,
        ErrorKind::InUse => IN_USE,
        ErrorKind::NoSpace => NO_SPACE,
        _ => FAILURE,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Errors of the library contain the names of collections, fields and files unescaped.
            Self::Library { error, advice: None } => f.write_str(&text::plain(&error.to_string())),
            Self::Library { error, advice: Some(advice) } => {
                write!(f, "{}\n{advice}", text::plain(&error.to_string()))
            }
            Self::Usage(text)
            | Self::Malformed { text, .. }
            | Self::NotFound(text)
            | Self::Damaged(text)
            | Self::NoSpace(text)
            | Self::Other(text)
            | Self::Interrupted(text) => f.write_str(text),
            Self::BrokenPipe | Self::Reported(_) => Ok(()),
        }
    }
}

impl From<alluvium::Error> for Failure {
    fn from(error: alluvium::Error) -> Self {
        match error {
            alluvium::Error::Stopped => Self::Interrupted(String::new()),
            error => match advice::of_unfinished(&error) {
                Some(text) => Self::NotFound(text),
                None => {
                    let advice = advice::of(&error);
                    Self::explained(error, advice)
                }
            },
        }
    }
}

impl From<alluvium_env::Error> for Failure {
    fn from(error: alluvium_env::Error) -> Self {
        if let alluvium_env::Error::Io { source, .. } = &error
            && source.kind() == io::ErrorKind::NotFound
        {
            return Self::NotFound(text::plain(&error.to_string()));
        }
        alluvium::Error::from(alluvium_store::Error::from(error)).into()
    }
}

#[cfg(test)]
mod tests;
