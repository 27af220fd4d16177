//! Checks the page of errors. Every error must be listed under the heading of its type, and nothing else may be listed.
//! The page must have the message of each error as the code prints it.

use super::Finding;
use super::repo::{Repo, line_of};

const PAGE: &str = "docs/ERRORS.md";

/// The file of the library's errors.
const LIBRARY: &str = "crates/collections/src/error.rs";

/// The headings of the page, each with the file that defines the type and the first line of the definition.
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
        messages(&page.text, heading, path, &file.text[at..end], findings);
        let (from, rows) = rows(&page.text, heading);
        for variant in &variants {
            if !rows.iter().any(|(_, row)| row == variant) {
                let line =
                    line_of(code, at) + code[at..end].lines().position(|line| name(line) == Some(variant)).unwrap_or(0);
                let what = format!("{variant} has no place in {PAGE} under {heading}: state its cause and the remedy");
                findings.push(Finding::new(path, line, what));
            }
        }
        for (at, (line, row)) in rows.iter().enumerate() {
            if rows[..at].iter().any(|(_, before)| before == row) {
                findings.push(Finding::new(
                    PAGE,
                    from + line,
                    format!("{row} of {heading} has a place above: one is enough"),
                ));
            }
        }
        for (line, row) in rows.iter().filter(|(_, row)| !variants.contains(row)) {
            let what = format!("{heading} has no {row}: remove its place, or give it the current name");
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

/// Finds messages that are missing on the page. A message must be on a line of its own, between backquotes.
fn messages(page: &str, heading: &str, path: &str, code: &str, findings: &mut Vec<Finding>) {
    let (from, rows) = rows(page, heading);
    let lines: Vec<&str> = page.lines().collect();
    for (variant, message) in code.split("#[error(").skip(1).filter_map(message) {
        let Some(at) = rows.iter().position(|(_, row)| *row == variant) else { continue };
        let first = from + rows[at].0;
        let last = rows.get(at + 1).map_or(lines.len(), |(line, _)| from + line - 1);
        let wanted = format!("`{message}`");
        if !lines[first..last].contains(&wanted.as_str()) {
            let what = format!("the message of {variant} in {path} is another one: write the line {wanted}");
            findings.push(Finding::new(PAGE, first, what));
        }
    }
}

/// The variant after an attribute, and its message with `…` for each value; `None` if the message has no words of its
/// own.
fn message(after: &str) -> Option<(&str, String)> {
    let mut rest = after.trim_start().strip_prefix('"')?.chars();
    let (mut message, mut depth, mut has_words) = (String::new(), 0, false);
    loop {
        match rest.next()? {
            '"' => break,
            '\\' => match rest.next()? {
                '\n' => rest = rest.as_str().trim_start().chars(),
                escaped => message.push(escaped),
            },
            open @ '{' if depth == 0 && rest.as_str().starts_with('{') => {
                rest.next();
                message.push(open);
            }
            close @ '}' if depth == 0 => {
                rest.next();
                message.push(close);
            }
            '{' => {
                depth += 1;
                message.push('…');
            }
            '}' => depth -= 1,
            _ if depth > 0 => {}
            other => {
                has_words |= other.is_alphabetic();
                message.push(other);
            }
        }
    }
    let variant = rest.as_str().lines().find_map(name)?;
    has_words.then_some((variant, message))
}

/// The line of a heading, and the names in the table rows and headings below it, each with the number of lines after
/// the heading.
fn rows<'a>(page: &'a str, heading: &str) -> (usize, Vec<(usize, &'a str)>) {
    let wanted = format!("## `{heading}`");
    let Some(from) = page.lines().position(|line| line == wanted) else { return (1, Vec::new()) };
    let below = page.lines().skip(from + 1).take_while(|line| !line.starts_with("## "));
    let name = |line: &'a str| line.strip_prefix("| `").or_else(|| line.strip_prefix("### `"))?.split('`').next();
    let rows = below.enumerate().filter_map(|(at, line)| Some((at + 1, name(line)?))).collect();
    (from + 1, rows)
}
