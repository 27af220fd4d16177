//! Rules of style, as checks. Limits may only become tighter.

mod circles;
mod english;
mod errors;
mod examples;
mod exceptions;
mod face;
mod lengths;
mod manifests;
mod mask;
mod modules;
mod pages;
mod panics;
mod promises;
mod repo;
mod scopes;
mod targets;
mod tuples;
mod words;

use repo::Repo;
use std::fmt;
use std::io;
use std::path::Path;

/// A fault that must be corrected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The path from the root of the repository, with `/`.
    path: String,
    /// The line, counted from 1.
    line: usize,
    /// The fault and its remedy.
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
    face::check(&repo, &mut findings);
    targets::check(&repo, &mut findings);
    pages::check(&repo, &mut findings);
    exceptions::check(&repo, &mut findings);
    english::check(&repo, &mut findings);
    english::check_shapes(&repo, &mut findings);
    structure(&repo, &mut findings);
    findings.retain(|finding| exceptions::REPORT_CLEAN || !finding.what.contains(" is clean: "));
    findings.sort();
    Ok(findings)
}

/// The rules about modules and parameters, crate by crate.
fn structure(repo: &Repo, findings: &mut Vec<Finding>) {
    for (dir, _) in repo.packages().filter(|(dir, _)| *dir == "xtask" || dir.starts_with("crates/")) {
        let area = exceptions::area(&format!("{dir}/")).to_owned();
        let report = circles::report(repo, dir);
        exceptions::apply(repo, &area, exceptions::CIRCLES, report.circles, findings);
        exceptions::apply(repo, &area, exceptions::ROOT_IMPORTS, report.root_imports, findings);
        exceptions::apply(repo, &area, exceptions::TUPLES, tuples::report(repo, dir), findings);
    }
}

/// All faults that the rules about modules and parameters find in the crate of this name, including exceptions.
///
/// # Errors
/// If a directory or file cannot be read.
pub(crate) fn structure_of(root: &Path, name: &str) -> io::Result<Vec<Finding>> {
    let repo = Repo::read(root)?;
    let dir = if name == "xtask" { name.to_owned() } else { format!("crates/{name}") };
    let report = circles::report(&repo, &dir);
    Ok([report.circles, report.root_imports, tuples::report(&repo, &dir)].concat())
}

/// Removes unneeded entries from the lists of exceptions, and returns the number of phrases in each area.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn shrink(root: &Path) -> io::Result<Vec<(String, usize)>> {
    let repo = Repo::read(root)?;
    let counts = english::counts(&repo);
    let mut findings = Vec::new();
    english::check(&repo, &mut findings);
    structure(&repo, &mut findings);
    for area in exceptions::areas(&repo) {
        let path = exceptions::file(area);
        let text = repo.get(&path).map_or("", |file| file.text.as_str());
        let is_clean = |line: usize| findings.iter().any(|finding| finding.path == path && finding.line == line);
        let count = counts.get(area).copied().unwrap_or(0);
        let within = english::is_within_limit(&repo, area, &counts);
        let mut kept = String::new();
        for (index, line) in text.lines().enumerate() {
            let is_lowered = within && line.starts_with(exceptions::PHRASES);
            if !is_lowered && !is_clean(index + 1) {
                kept.push_str(&format!("{line}\n"));
            }
        }
        if within && count > 0 {
            kept.push_str(&format!("{}{count}\n", exceptions::PHRASES));
        }
        match kept.is_empty() {
            true if text.is_empty() => {}
            true => std::fs::remove_file(root.join(path))?,
            false => std::fs::write(root.join(path), kept)?,
        }
    }
    Ok(counts.into_iter().map(|(area, count)| (area.to_owned(), count)).collect())
}

#[cfg(test)]
mod tests;
