//! An error in a plan file, and its position.

use std::fmt;
use std::path::{Path, PathBuf};

/// A plan file that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; `None` if the error is about the whole file.
    pub line: Option<usize>,
    /// The error.
    pub what: String,
}

impl PlanError {
    /// An error about the whole file.
    pub(super) fn whole(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.line {
            Some(line) => write!(f, "{path}:{line}: {}", self.what),
            None => write!(f, "{path}: {}", self.what),
        }
    }
}

impl std::error::Error for PlanError {}

/// The name in a list that is most similar to `name`, if any is similar.
pub(super) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&name.replace('-', "_"), &known.replace('-', "_"));
    names.into_iter().min_by_key(|known| distance(known)).filter(|known| distance(known) <= 3)
}
