//! Every public function of the crates that programs use, and every public method of their types, has an example.

use super::Finding;
use super::repo::{Repo, line_of};
use std::collections::BTreeSet;

/// The library, and what it gives access to below it.
const FOLDERS: [&str; 3] = ["crates/alluvium/src/", "crates/store/src/", "crates/readonly/src/"];
/// What begins the declaration of a type that users see, as far as its file can tell.
const DECLARATIONS: [&str; 3] = ["pub struct ", "pub enum ", "pub trait "];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    FOLDERS.iter().for_each(|folder| check_crate(repo, folder, findings));
}

fn check_crate(repo: &Repo, folder: &str, findings: &mut Vec<Finding>) {
    let of_the_crate = || repo.rust().filter(|(file, _)| file.path.starts_with(folder));
    let mut types = BTreeSet::new();
    let mut modules = BTreeSet::new();
    for (file, masked) in of_the_crate() {
        let lines = || masked.code.lines();
        types.extend(
            lines().filter_map(|line| DECLARATIONS.iter().find_map(|begin| line.strip_prefix(begin)).map(name)),
        );
        if file.path == format!("{folder}lib.rs") {
            modules
                .extend(lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned)));
        }
    }
    for (file, masked) in of_the_crate() {
        let public = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs"));
        let public = public.is_some_and(|module| modules.contains(module));
        for place in without_example(&file.text, &masked.code, &types, public) {
            let what = "what is public has an example (```), which shows what it is for";
            findings.push(Finding::new(&file.path, line_of(&file.text, place), what));
        }
    }
}

/// The name that a declaration, or what stands behind `impl`, begins with.
fn name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The type that a line begins the methods of; not those of a trait.
fn implemented(line: &str) -> Option<String> {
    let mut rest = line.strip_prefix("impl")?.strip_suffix(" {")?;
    if rest.starts_with('<') {
        rest = rest.split_once("> ")?.1;
    }
    (!rest.contains(" for ")).then(|| name(rest.trim_start()))
}

/// Where the public functions begin whose comments hold no example: methods of these types, and those of a public
/// module itself.
fn without_example(text: &str, code: &str, types: &BTreeSet<String>, public: bool) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut at, mut example, mut hidden, mut within) = (0, false, false, None);
    // What stands in comments and strings is blank in `code`, line for line.
    for (line, masked) in text.split_inclusive('\n').zip(code.split_inclusive('\n')) {
        let masked = masked.trim_end();
        match masked {
            "}" => within = None,
            _ => within = implemented(masked).or(within),
        }
        let commented = line.trim();
        if commented.starts_with("///") {
            example |= commented.contains("```");
        } else if commented.starts_with("#[") {
            hidden |= commented == "#[doc(hidden)]";
        } else {
            let concerned = match (&within, masked.strip_prefix("    ").unwrap_or(masked)) {
                (Some(of), method) => types.contains(of) && masked != method && is_public(method),
                (None, function) => public && masked == function && is_public(function),
            };
            if concerned && !example && !hidden {
                found.push(at);
            }
            (example, hidden) = (false, false);
        }
        at += line.len();
    }
    found
}

fn is_public(line: &str) -> bool {
    line.starts_with("pub fn ") || line.starts_with("pub const fn ")
}
