//! Plain English: counts phrases of a private dialect. The count may only fall.

use super::Finding;
use super::exceptions::{self, area, areas, phrases_max};
use super::mask::find_words;
use super::repo::{Repo, SourceFile};
use std::collections::BTreeMap;

/// Each phrase is searched for in lower-case text, as whole words.
const PHRASES: [&str; 14] = [
    "tell",
    "tells",
    "told",
    "nobody",
    "somebody",
    "whoever",
    "so many",
    "so much",
    "stand",
    "stands",
    "anew",
    "meanwhile",
    "is none",
    "let go",
];

/// Shapes of sentences that must be read twice, each with the words to write instead. No documentation contains them.
const SHAPES: [(&str, &str); 10] = [
    ("how far", "the progress, or the number up to which"),
    ("also those", "including those"),
    ("also of", "including, or a clause of its own"),
    ("also where", "even where"),
    ("from there on", "beginning with"),
    ("from this one on", "this one and above"),
    ("this number of them", "name the things"),
    ("comes to be", "arises, or is made"),
    ("for want of", "because it ran out of"),
    ("will do", "is enough"),
];

/// A question instead of a noun: "What it needs." for "The privileges that it needs."
const QUESTION: &str = "What ";

/// Beginnings of help texts that are questions of a user.
const HELP: [&str; 2] = ["What to ", "What happens "];

/// Groups of crates that exchange files, so that only the sum of their counts is checked.
const FAMILIES: [&[&str]; 2] = [&["alluvium", "collections", "exec", "transfer"], &["cli", "workbench"]];

/// The most lines that are printed for a count that rose without a known cause.
const SHOWN_MAX: usize = 20;

/// True for this file and its tests, which contain the phrases because they are about them.
fn is_about_phrases(file: &SourceFile) -> bool {
    file.path.starts_with("xtask/src/tidy/") && file.path.ends_with("english.rs")
}

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    let mut places: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    for file in repo.files.iter().filter(|file| !is_about_phrases(file)) {
        places.entry(area(&file.path)).or_default().extend(phrases(file));
    }
    let areas = areas(repo);
    let is_of = |area: &str, family: &&[&str]| family.contains(&area);
    let alone =
        areas.iter().filter(|area| !FAMILIES.iter().any(|family| is_of(area, family))).map(std::slice::from_ref);
    for family in FAMILIES.into_iter().chain(alone) {
        let found: Vec<&Finding> = family.iter().filter_map(|area| places.get(area)).flatten().collect();
        let allowed = family.iter().map(|area| phrases_max(repo, area)).sum();
        if found.len() > allowed {
            findings.extend(excess(family, &found, allowed));
        }
    }
}

/// Finds the shapes in the documentation of the sources. Tests may ask questions.
pub(super) fn check_shapes(repo: &Repo, findings: &mut Vec<Finding>) {
    for (file, _) in repo.rust().filter(|(file, _)| file.path.contains("/src/") && !is_about_phrases(file)) {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            let Some(text) = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ")) else { continue };
            if text.starts_with(QUESTION) && !HELP.iter().any(|help| text.starts_with(help)) {
                let what = "name the thing: `The privileges that it needs.` for `What it needs.`";
                findings.push(Finding::new(&file.path, index + 1, what));
            }
            let small = text.to_lowercase();
            for (shape, instead) in SHAPES {
                if find_words(&small, shape).next().is_some() {
                    findings.push(Finding::new(&file.path, index + 1, format!("`{shape}` is read twice: {instead}")));
                }
            }
        }
    }
}

/// True if the area, together with the areas that it exchanges files with, is within its limit of phrases.
pub(super) fn is_within_limit(repo: &Repo, area: &str, counts: &BTreeMap<&str, usize>) -> bool {
    let family = FAMILIES.into_iter().find(|family| family.contains(&area)).unwrap_or(&[]);
    let members = || family.iter().copied().chain(family.is_empty().then_some(area));
    let found: usize = members().filter_map(|area| counts.get(area)).sum();
    found <= members().map(|area| phrases_max(repo, area)).sum()
}

/// The number of lines with phrases in each area.
pub(super) fn counts(repo: &Repo) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for file in repo.files.iter().filter(|file| !is_about_phrases(file)) {
        *found.entry(area(&file.path)).or_default() += phrases(file).len();
    }
    found
}

/// One finding for each line with a phrase.
fn phrases(file: &SourceFile) -> Vec<Finding> {
    let text = file.text.to_lowercase();
    let phrase = |line: &str| PHRASES.into_iter().find(|phrase| find_words(line, phrase).next().is_some());
    let lines = text.lines().zip(file.text.lines()).enumerate();
    let found = lines.filter_map(|(index, (small, line))| Some((index, phrase(small)?, line)));
    found
        .map(|(index, phrase, line)| {
            let what = format!("`{phrase}` is not plain English here: {}", line.trim());
            Finding::new(&file.path, index + 1, what)
        })
        .collect()
}

/// The findings for a count that rose: the lines that a commit or an edit added, otherwise the first lines.
fn excess(family: &[&str], found: &[&Finding], allowed: usize) -> Vec<Finding> {
    let added = crate::changes::added_lines();
    let is_new = |finding: &&&Finding| added.contains(&(finding.path.clone(), finding.line));
    let mut lines: Vec<Finding> = found.iter().filter(is_new).map(|finding| (*finding).clone()).collect();
    if lines.is_empty() {
        lines = found.iter().take(SHOWN_MAX).map(|finding| (*finding).clone()).collect();
    }
    let names = family.join(", ");
    let what = format!(
        "{} lines with such phrases in {names}, {allowed} are allowed: write the lines below in other words",
        found.len()
    );
    let first = family.first().copied().unwrap_or("rest");
    lines.push(Finding::new(&exceptions::file(first), 1, what));
    lines
}
