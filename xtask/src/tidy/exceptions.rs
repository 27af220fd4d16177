//! Exceptions: `xtask/exceptions/CRATE.txt` names the rules that a crate still breaks, one rule on each line.
//!
//! A rule that a crate no longer breaks must be removed from its file, so the lists only shrink. For the table of
//! English the line is `phrases N`, where N is the number of lines with such a phrase.

use super::Finding;
use super::repo::Repo;

const FOLDER: &str = "xtask/exceptions/";

/// The beginning of the line that allows a crate some phrases; their number follows.
pub(super) const PHRASES: &str = "phrases ";

/// True if a rule that a crate no longer breaks must be removed from its file at once.
pub(super) const REPORT_CLEAN: bool = true;

/// The rules that a file may name.
pub(super) const CIRCLES: &str = "circles";
pub(super) const ROOT_IMPORTS: &str = "root imports";
pub(super) const TUPLES: &str = "tuple parameters";
const RULES: [&str; 3] = [CIRCLES, ROOT_IMPORTS, TUPLES];

/// The part of the repository that a file belongs to: a crate, `docs`, or `rest`.
pub(super) fn area(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        (Some("docs"), _) => "docs",
        _ => "rest",
    }
}

/// The lines of an area's file, with their numbers.
fn lines<'a>(repo: &'a Repo, area: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let text = repo.get(&file(area)).map_or("", |file| file.text.as_str());
    text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

/// The file of an area.
pub(super) fn file(area: &str) -> String {
    format!("{FOLDER}{area}.txt")
}

/// The number of lines with phrases that an area may have.
pub(super) fn phrases_max(repo: &Repo, area: &str) -> usize {
    lines(repo, area).find_map(|(_, line)| line.strip_prefix(PHRASES)?.parse().ok()).unwrap_or(0)
}

/// Adds the findings of one rule in one area, unless the area is an exception.
pub(super) fn apply(repo: &Repo, area: &str, rule: &str, found: Vec<Finding>, findings: &mut Vec<Finding>) {
    match lines(repo, area).find(|(_, line)| *line == rule) {
        None => findings.extend(found),
        Some((line, _)) if found.is_empty() => {
            findings.push(Finding::new(
                &file(area),
                line,
                format!("{area} is clean: run `cargo xtask shrink`, which removes the line `{rule}`"),
            ));
        }
        Some(_) => {}
    }
}

/// Refuses lines that name no rule, and files of crates that do not exist.
pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for file in repo.files.iter().filter(|file| file.path.starts_with(FOLDER)) {
        let area = file.path[FOLDER.len()..].trim_end_matches(".txt");
        let exists = repo.files.iter().any(|file| self::area(&file.path) == area);
        if !exists {
            findings.push(Finding::new(&file.path, 1, format!("there is no crate {area}: remove the file")));
        }
        for (number, line) in lines(repo, area) {
            let phrases = line.strip_prefix(PHRASES).is_some_and(|count| count.parse::<usize>().is_ok());
            if !phrases && !RULES.contains(&line) {
                findings.push(Finding::new(&file.path, number, format!("`{line}` is not a rule that has exceptions")));
            }
        }
    }
}

/// The areas of the repository, sorted.
pub(super) fn areas(repo: &Repo) -> Vec<&str> {
    let mut found: Vec<&str> = repo.files.iter().map(|file| area(&file.path)).collect();
    found.sort_unstable();
    found.dedup();
    found
}
