//! In the crates that programs use, every public function that takes a parameter and does more than one thing must have
//! an example. Every public type with methods must have an example, on the type or on a method. A getter needs no
//! example.

use super::Finding;
use super::lengths::functions;
use super::repo::{Repo, line_of};
use super::tuples::parameters;
use std::collections::{BTreeMap, BTreeSet};

/// The library, and the crates below it that it gives access to.
const FOLDERS: [&str; 3] = ["crates/alluvium/src/", "crates/store/src/", "crates/readonly/src/"];
/// The beginnings of declarations of types that users see. Only the file of the declaration is considered.
const DECLARATIONS: [&str; 3] = ["pub struct ", "pub enum ", "pub trait "];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    FOLDERS.iter().for_each(|folder| findings.extend(check_crate(repo, folder)));
}

fn check_crate(repo: &Repo, folder: &str) -> Vec<Finding> {
    let of_the_crate = || repo.rust().filter(|(file, _)| file.path.starts_with(folder));
    let root = repo.get(&format!("{folder}lib.rs")).and_then(|file| file.rust.as_ref()).map_or("", |root| &root.code);
    let modules: BTreeSet<&str> =
        root.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let mut types: BTreeMap<String, Type> = BTreeMap::new();
    let mut findings = Vec::new();
    for (file, masked) in of_the_crate() {
        let module = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs"));
        let public = module.is_some_and(|module| modules.contains(module));
        for place in public_items(&file.text, &masked.code) {
            let code = &masked.code[place.at..];
            let costly = !place.example && is_costly(code);
            let missing = "a public function with a parameter and several lines has an example (```)";
            let finding = |what: &str| Finding::new(&file.path, line_of(&file.text, place.at), what);
            if let Some(name) = code.lines().next().and_then(declared) {
                let what = format!("the type {name} has methods and no example (```) that shows what it is for");
                let known = types.entry(name).or_default();
                known.declared = known.declared.take().or_else(|| Some(finding(&what)));
                known.example |= place.example;
            } else if let Some(name) = place.within {
                let known = types.entry(name).or_default();
                known.methods = true;
                known.example |= place.example;
                known.lacking.extend(costly.then(|| finding(missing)));
            } else if public && place.indent == 0 {
                findings.extend(costly.then(|| finding(missing)));
            }
        }
    }
    for found in types.into_values() {
        let Some(declared) = found.declared else { continue };
        findings.extend(found.lacking);
        findings.extend((found.methods && !found.example).then_some(declared));
    }
    findings
}

/// The known facts about a type with methods.
#[derive(Default)]
struct Type {
    /// The finding at the type's declaration, if the type is public.
    declared: Option<Finding>,
    methods: bool,
    /// True if the type or one of its methods has an example.
    example: bool,
    /// The methods without an example.
    lacking: Vec<Finding>,
}

/// The name of a public type that a line declares.
fn declared(line: &str) -> Option<String> {
    DECLARATIONS.iter().find_map(|begin| line.strip_prefix(begin)).map(name)
}

/// The name that a declaration, or the text after `impl`, begins with.
fn name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The type whose methods begin on this line; `None` for the methods of a trait.
fn implemented(line: &str) -> Option<String> {
    let mut rest = line.strip_prefix("impl")?.strip_suffix(" {")?;
    if rest.starts_with('<') {
        rest = rest.split_once("> ")?.1;
    }
    (!rest.contains(" for ")).then(|| name(rest.trim_start()))
}

/// A public function or type.
struct Place {
    /// The offset of the item's line.
    at: usize,
    indent: usize,
    /// The type that the item is a method of.
    within: Option<String>,
    example: bool,
}

/// The public functions and types, except hidden ones.
fn public_items(text: &str, code: &str) -> Vec<Place> {
    let mut found = Vec::new();
    let (mut at, mut example, mut hidden, mut within) = (0, false, false, None);
    // Comments and strings are blank in `code`, which has the same lines as `text`.
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
            let inner = masked.strip_prefix("    ").unwrap_or(masked);
            let indent = masked.len() - inner.len();
            let concerned =
                is_public(inner) || indent == 0 && DECLARATIONS.iter().any(|begin| inner.starts_with(begin));
            if concerned && !hidden {
                found.push(Place { at, indent, within: within.clone(), example });
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

/// True if the function at the start of `code` has a parameter in addition to `self`, and a body of more than one line.
fn is_costly(code: &str) -> bool {
    let Some((_, at, end)) = functions(code).into_iter().next() else { return false };
    let is_self = |parameter: &&str| parameter.split(':').next().is_some_and(|name| name.trim().ends_with("self"));
    let others = parameters(&code[at..end]).into_iter().filter(|parameter| !parameter.trim().is_empty());
    let body = code[at..end].split_once(" {\n").map_or("", |(_, body)| body);
    others.filter(|parameter| !is_self(parameter)).count() > 0 && body.lines().count() > 2
}
