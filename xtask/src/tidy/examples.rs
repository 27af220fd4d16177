//! Every public method of the types that users hold has an example.

use super::Finding;
use super::repo::{Repo, line_of};

/// The types, each with the folder of its code.
const TYPES: [(&str, &str); 2] = [("crates/alluvium/src/", "Database"), ("crates/alluvium/src/", "Collection")];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for (file, masked) in repo.rust() {
        for (_, name) in TYPES.iter().filter(|(folder, _)| file.path.starts_with(folder)) {
            let begins = format!("impl {name} {{\n");
            for (at, _) in masked.code.match_indices(&begins) {
                let end = masked.code[at..].find("\n}").map_or(masked.code.len(), |end| at + end);
                for method in without_example(&file.text, at, end) {
                    let what = "a public method has an example (```), which shows what it is for";
                    findings.push(Finding::new(&file.path, line_of(&file.text, method), what));
                }
            }
        }
    }
}

/// Where the public methods between two places begin whose comments hold no example.
fn without_example(text: &str, from: usize, to: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut at, mut example, mut hidden) = (from, false, false);
    for line in text[from..to].split_inclusive('\n') {
        let code = line.trim();
        if code.starts_with("///") {
            example |= code.contains("```");
        } else if code.starts_with("#[") {
            hidden |= code == "#[doc(hidden)]";
        } else {
            if code.starts_with("pub fn ") && !example && !hidden {
                found.push(at);
            }
            (example, hidden) = (false, false);
        }
        at += line.len();
    }
    found
}
