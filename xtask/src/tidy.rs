//! Rules of style, as checks. Limits only ever tighten.

mod errors;
mod examples;
mod lengths;
mod manifests;
mod mask;
mod modules;
mod panics;
mod promises;
mod repo;
mod targets;
mod words;

use repo::Repo;
use std::fmt;
use std::io;
use std::path::Path;

/// Something to put right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// From the root of the repository, with `/`.
    path: String,
    /// From 1.
    line: usize,
    /// What is wrong and what to do.
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Runs all checks on the repository at `root`; the findings are sorted by place.
///
/// # Errors
/// If a directory or file cannot be read.
pub(crate) fn check(root: &Path) -> io::Result<Vec<Finding>> {
    let repo = Repo::read(root)?;
    let mut findings = Vec::new();
    lengths::check(&repo, &mut findings);
    words::check(&repo, &mut findings);
    modules::check(&repo, &mut findings);
    panics::check(&repo, &mut findings);
    manifests::check(&repo, &mut findings);
    promises::check(&repo, &mut findings);
    errors::check(&repo, &mut findings);
    examples::check(&repo, &mut findings);
    targets::check(&repo, &mut findings);
    findings.sort();
    Ok(findings)
}

#[cfg(test)]
mod tests;
