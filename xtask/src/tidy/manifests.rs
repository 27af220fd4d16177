//! Checks in the manifests that dependencies have the right direction.

use super::Finding;
use super::repo::{Repo, SourceFile};
use std::collections::HashSet;

/// The crates, each with the crates directly below it. Crates below those may be used as well.
const HOUSE: [(&str, &[&str]); 20] = [
    ("env", &[]),
    ("codec", &[]),
    ("wal", &["env", "codec"]),
    ("memtable", &["env", "codec"]),
    ("sst", &["env", "codec"]),
    ("lsm", &["memtable", "sst"]),
    ("readonly", &["lsm"]),
    ("store", &["wal", "lsm"]),
    ("document", &["codec"]),
    ("query", &["document"]),
    ("exec", &["query", "env"]),
    ("collections", &["store", "exec", "readonly"]),
    ("transfer", &["collections", "readonly"]),
    ("alluvium", &["transfer"]),
    ("wire", &["document"]),
    ("server", &["alluvium", "wire"]),
    ("cli", &["server"]),
    ("workbench", &["cli"]),
    ("testkit", &["cli"]),
    ("counts", &["server"]),
];

/// Crates that all other crates may use, but only in their tests.
const FOR_TESTS: [&str; 3] = ["testkit", "workbench", "alluvium"];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for (dir, manifest) in repo.packages() {
        let in_workspace = dir == "xtask" || dir.starts_with("crates/");
        if !in_workspace {
            continue;
        }
        let lints =
            sections(&manifest.text).any(|line| line.section == "lints" && squeeze(line.text) == "workspace=true");
        if !lints {
            let what = "write `[lints]` and `workspace = true`";
            findings.push(Finding::new(&manifest.path, 1, what));
        }
        if let Some(name) = dir.strip_prefix("crates/") {
            dependencies(name, manifest, findings);
        }
    }
}

fn dependencies(name: &str, manifest: &SourceFile, findings: &mut Vec<Finding>) {
    if !HOUSE.iter().any(|(known, _)| *known == name) {
        let what = format!("the crate {name} is not in the table of crates: add it in xtask/src/tidy/manifests.rs");
        findings.push(Finding::new(&manifest.path, 1, what));
        return;
    }
    let mut allowed = HashSet::new();
    below(name, &mut allowed);
    for line in sections(&manifest.text) {
        let Some(used) = dependency(&line) else { continue };
        let for_tests = line.section.ends_with("dev-dependencies");
        if used != name && !allowed.contains(used) && !(for_tests && FOR_TESTS.contains(&used)) {
            let what = format!("{name} must not use {used}, which is not below it (docs/ARCHITECTURE.md)");
            findings.push(Finding::new(&manifest.path, line.number, what));
        }
    }
}

fn below(name: &str, found: &mut HashSet<&'static str>) {
    let direct = HOUSE.iter().find(|(known, _)| *known == name).map_or(&[] as &[&str], |(_, direct)| direct);
    for used in direct {
        if found.insert(used) {
            below(used, found);
        }
    }
}

/// The crate of the workspace that a line of a manifest uses.
fn dependency<'a>(line: &Line<'a>) -> Option<&'a str> {
    // In `[dependencies.env]`, the section itself names the crate.
    let (section, key) = match line.section.rsplit_once("dependencies.") {
        Some((before, key)) => (format!("{before}dependencies"), key),
        None => (line.section.to_owned(), line.text.split(['=', '.']).next()?),
    };
    if !section.ends_with("dependencies") || section.starts_with("workspace") {
        return None;
    }
    let package = line.text.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
    let name = package.unwrap_or(key.trim()).trim_matches('"');
    let name = name.strip_prefix("alluvium-").unwrap_or(name);
    HOUSE.iter().any(|(known, _)| *known == name).then_some(name)
}

/// A line of a manifest below a section's heading, without comments.
struct Line<'a> {
    section: &'a str,
    number: usize,
    text: &'a str,
}

fn sections(manifest: &str) -> impl Iterator<Item = Line<'_>> {
    let mut section = "";
    manifest.lines().enumerate().filter_map(move |(index, line)| {
        let text = line.split('#').next().unwrap_or(line).trim();
        if let Some(heading) = text.strip_prefix('[') {
            section = heading.trim_start_matches('[').trim_end_matches(']').trim();
            return None;
        }
        (!text.is_empty()).then_some(Line { section, number: index + 1, text })
    })
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
}
