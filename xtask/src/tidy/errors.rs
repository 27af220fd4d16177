//! Every error has its line in the page of errors, under the heading of its type, and no other has one.

use super::Finding;
use super::repo::{Repo, line_of};

const PAGE: &str = "docs/ERRORS.md";

/// The file of the library's errors.
const LIBRARY: &str = "crates/collections/src/error.rs";

/// The headings of the page, the file that defines each type, and the first line of its definition.
const TYPES: [(&str, &str, &str); 12] = [
    ("alluvium::Error", LIBRARY, "pub enum Error {"),
    ("alluvium::ErrorKind", LIBRARY, "pub enum ErrorKind {"),
    ("alluvium::IndexError", "crates/query/src/index/error.rs", "pub enum IndexError {"),
    ("alluvium::UpdateError", "crates/query/src/update/error.rs", "pub enum UpdateError {"),
    ("query::FilterError", "crates/query/src/filter/error.rs", "pub enum FilterError {"),
    ("query::SortError", "crates/query/src/sort/error.rs", "pub enum SortError {"),
    ("query::ProjectionError", "crates/query/src/projection/error.rs", "pub enum ProjectionError {"),
    ("query::DistinctError", "crates/query/src/distinct.rs", "pub enum DistinctError {"),
    ("query::PlanError", "crates/query/src/plan/error.rs", "pub enum PlanError {"),
    ("store::Error", "crates/store/src/error.rs", "pub enum Error {"),
    ("readonly::Error", "crates/readonly/src/error.rs", "pub enum Error {"),
    ("env::Error", "crates/env/src/error.rs", "pub enum Error {"),
];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    let Some(page) = repo.get(PAGE) else { return };
    for (heading, path, begins) in TYPES {
        let Some(file) = repo.get(path) else {
            let (_, rows) = rows(&page.text, heading);
            if let Some((line, _)) = rows.first() {
                let what = format!("{path} is not there: change the table in xtask/src/tidy/errors.rs");
                findings.push(Finding::new(PAGE, *line, what));
            }
            continue;
        };
        let Some(code) = file.rust.as_ref().map(|rust| rust.code.as_str()) else { continue };
        let Some(at) = code.find(begins) else {
            findings.push(Finding::new(path, 1, format!("there is no `{begins}`: {PAGE} is about it")));
            continue;
        };
        let end = code[at..].find("\n}").map_or(code.len(), |end| at + end);
        let variants = variants(&code[at..end]);
        let (from, rows) = rows(&page.text, heading);
        for variant in &variants {
            if !rows.iter().any(|(_, row)| row == variant) {
                let line =
                    line_of(code, at) + code[at..end].lines().position(|line| name(line) == Some(variant)).unwrap_or(0);
                let what = format!("{variant} has no line in {PAGE} under {heading}: state its cause, and what to do");
                findings.push(Finding::new(path, line, what));
            }
        }
        for (at, (line, row)) in rows.iter().enumerate() {
            if rows[..at].iter().any(|(_, before)| before == row) {
                findings.push(Finding::new(
                    PAGE,
                    from + line,
                    format!("{row} of {heading} has a line above: one is enough"),
                ));
            }
        }
        for (line, row) in rows.iter().filter(|(_, row)| !variants.contains(row)) {
            let what = format!("{heading} has no {row}: remove the line, or give it the current name");
            findings.push(Finding::new(PAGE, from + line, what));
        }
    }
}

/// The names of an enum's variants.
fn variants(code: &str) -> Vec<&str> {
    code.lines().skip(1).filter_map(name).collect()
}

/// The variant that begins on a line.
fn name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ")?;
    let first = line.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    first.starts_with(|c: char| c.is_ascii_uppercase()).then_some(first)
}

/// The line of a heading, and below it the names in the first column, with their lines behind it.
fn rows<'a>(page: &'a str, heading: &str) -> (usize, Vec<(usize, &'a str)>) {
    let wanted = format!("## `{heading}`");
    let Some(from) = page.lines().position(|line| line == wanted) else { return (1, Vec::new()) };
    let below = page.lines().skip(from + 1).take_while(|line| !line.starts_with("## "));
    let name = |line: &'a str| line.strip_prefix("| `")?.split('`').next();
    let rows = below.enumerate().filter_map(|(at, line)| Some((at + 1, name(line)?))).collect();
    (from + 1, rows)
}
