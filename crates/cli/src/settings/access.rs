//! Whether a command writes to its database, or only reads it.

use crate::exit::{Failure, Outcome};
use crate::streams;
use crate::text;
use alluvium::{Builder, Database};
use alluvium_store::Error as StoreError;

/// The way in which a command uses its database.
pub trait Access: clap::Args + std::fmt::Debug {
    /// Opens the database with the function `open`, with these options or with others that this access needs.
    ///
    /// # Errors
    /// Errors of `open`.
    fn open(&self, builder: Builder, open: &dyn Fn(Builder) -> Outcome<Database>) -> Outcome<Database>;
}

/// Writes, or does something that only a writer may do.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub struct Writing {}

impl Access for Writing {
    fn open(&self, builder: Builder, open: &dyn Fn(Builder) -> Outcome<Database>) -> Outcome<Database> {
        open(builder)
    }
}

/// Only reads.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub struct Reading {
    /// Write nothing to the directory of the database: several commands may read it at once. Chosen automatically where
    /// nothing can be written
    #[arg(long)]
    read_only: bool,
}

impl Access for Reading {
    /// If the database cannot be written to, it is opened for reading only, with a note.
    fn open(&self, builder: Builder, open: &dyn Fn(Builder) -> Outcome<Database>) -> Outcome<Database> {
        if self.read_only {
            return open(builder.read_only(true));
        }
        let refused = match open(builder.clone()) {
            Err(failure) => unwritable(&failure).ok_or(failure)?,
            opened => return opened,
        };
        // A failure of the second opening is the one to report: for instance, another process may have the database
        // open.
        let database = open(builder.read_only(true))?;
        streams::complain(&format!("note: {} is opened for reading only: {refused}", text::path(database.path())));
        Ok(database)
    }
}

/// The reason why nothing can be written, if opening failed for that reason.
fn unwritable(failure: &Failure) -> Option<String> {
    let Failure::Library { error, .. } = failure else { return None };
    let alluvium::Error::Store(error) = &**error else { return None };
    cause(error).filter(|cause| cause.is_unwritable()).map(|cause| text::plain(&cause.to_string()))
}

/// The error of the file system that caused an error.
pub(crate) fn cause(error: &StoreError) -> Option<&alluvium_env::Error> {
    match error {
        StoreError::Storage(cause) => Some(cause),
        StoreError::NoSpace(inner) | StoreError::NoSpaceToOpen { cause: inner, .. } => cause(inner),
        _ => None,
    }
}
