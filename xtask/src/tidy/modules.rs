//! Every Rust file must be part of a target, and every crate must describe its purpose.

use super::Finding;
use super::mask::{Masked, find_words, is_word};
use super::repo::{Repo, SourceFile};
use std::collections::HashSet;

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    let mut alive = HashSet::new();
    for (dir, manifest) in repo.packages() {
        for root in roots(repo, dir, manifest) {
            visit(repo, root, true, &mut alive);
        }
        for root in ["src/lib.rs", "src/main.rs"] {
            if let Some(file) = repo.get(&format!("{dir}/{root}")) {
                first_sentence(file, findings);
            }
        }
    }
    for (file, _) in repo.rust() {
        if !alive.contains(file.path.as_str()) {
            let what = "no `mod`, target or `include!` leads to this file: remove it, or name it";
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
}

/// The files of a package that Cargo treats as targets.
fn roots<'a>(repo: &'a Repo, dir: &str, manifest: &SourceFile) -> Vec<&'a str> {
    let is_root = |path: &str| {
        let Some(path) = path.strip_prefix(dir).and_then(|path| path.strip_prefix('/')) else {
            return false;
        };
        let parts: Vec<&str> = path.split('/').collect();
        let named = manifest.text.lines().any(|line| value(line, "path") == Some(path));
        let found = match parts.as_slice() {
            ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
            ["src", "bin", _] | ["src", "bin", _, "main.rs"] => true,
            ["tests" | "benches" | "examples", rest @ ..] => matches!(rest, [_] | [_, "main.rs"]),
            _ => false,
        };
        named || found
    };
    repo.rust().map(|(file, _)| file.path.as_str()).filter(|path| is_root(path)).collect()
}

/// The text of `key = "text"`.
pub(super) fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix(key)?.trim_start().strip_prefix('=')?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

fn visit<'a>(repo: &'a Repo, path: &str, is_root: bool, alive: &mut HashSet<&'a str>) {
    let Some(file) = repo.get(path) else { return };
    let Some(masked) = &file.rust else { return };
    if !alive.insert(file.path.as_str()) {
        return;
    }
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let children = match is_root || stem == "mod" {
        true => dir.to_owned(),
        false => format!("{dir}/{stem}"),
    };
    for module in declared(&file.text, masked) {
        match module {
            Module::At(path) => visit(repo, &join(dir, &path), false, alive),
            Module::Named(name) => {
                visit(repo, &format!("{children}/{name}.rs"), false, alive);
                visit(repo, &format!("{children}/{name}/mod.rs"), false, alive);
            }
        }
    }
}

enum Module {
    /// By a path under the directory of the child modules.
    Named(String),
    /// By a path next to the file.
    At(String),
}

/// The modules that a file declares or includes.
fn declared(text: &str, masked: &Masked) -> Vec<Module> {
    let code = masked.code.as_str();
    let mut found = Vec::new();
    // The enclosing inline modules, each with the depth of its braces.
    let mut around: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut from) = (0, 0);
    let includes = find_words(code, "include!").filter_map(|at| literal(text, at));
    found.extend(includes.map(Module::At));
    for at in find_words(code, "mod") {
        for byte in code[from..at].bytes() {
            depth = match byte {
                b'{' => depth + 1,
                b'}' => depth.max(1) - 1,
                _ => depth,
            };
            around.retain(|module| module.1 < depth || byte != b'}');
        }
        from = at;
        let rest = code[at + 3..].trim_start();
        let len = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let name = &rest[..len];
        if rest[len..].trim_start().starts_with('{') {
            around.push((name.to_owned(), depth));
        } else if len > 0 {
            let outer: String = around.iter().map(|module| format!("{}/", module.0)).collect();
            found.push(match path_attribute(text, code, at) {
                Some(path) => Module::At(path),
                None => Module::Named(format!("{outer}{name}")),
            });
        }
    }
    found
}

/// The path of a `#[path = "..."]` directly before the `mod` at `at`.
fn path_attribute(text: &str, code: &str, at: usize) -> Option<String> {
    let start = code[..at].rfind([';', '}', '{']).map_or(0, |found| found + 1);
    let attribute = code[start..at].find("#[path")?;
    literal(text, start + attribute)
}

/// The first string at or after `at`.
fn literal(text: &str, at: usize) -> Option<String> {
    text[at..].split('"').nth(1).map(str::to_owned)
}

/// `dir/path`, with each `..` resolved.
fn join(dir: &str, path: &str) -> String {
    let mut parts: Vec<&str> = dir.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn first_sentence(file: &SourceFile, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().map_while(|line| line.strip_prefix("//! "));
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    if !paragraph.trim_end().ends_with('.') {
        let what = "begin with a `//!` sentence that says the one job of the crate";
        findings.push(Finding::new(&file.path, 1, what));
    }
}
