//! Every test that a promise names must exist.

use super::Finding;
use super::lengths::functions;
use super::repo::{Repo, SourceFile};

/// The pages that contain promises.
const PAGES: [&str; 2] = ["docs/DURABILITY.md", "docs/PROMISES.md"];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    let tests = tests(repo);
    for page in PAGES.iter().filter_map(|page| repo.get(page)) {
        check_page(repo, page, &tests, findings);
    }
}

fn check_page(repo: &Repo, page: &SourceFile, tests: &[Test], findings: &mut Vec<Finding>) {
    for (index, line) in page.text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2) {
            let missing = match name.contains("::") {
                true => is_test_name(repo, name) && !tests.iter().any(|test| test.is(name)),
                false => is_test_file(name) && !has_file(repo, name),
            };
            if missing {
                let what = format!("there is no test `{name}`: the promise needs one, or its current name");
                findings.push(Finding::new(&page.path, index + 1, what));
            }
        }
    }
}

/// A test function.
struct Test {
    /// The crate's directory under `crates`.
    package: String,
    /// The module's path and the function's name.
    path: String,
}

impl Test {
    /// True if `name` is `crate::function`, with any last parts of the module's path in between.
    fn is(&self, name: &str) -> bool {
        name.split_once("::").is_some_and(|(package, path)| {
            let rest = self.path.strip_suffix(path);
            self.package == package && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
        })
    }
}

fn tests(repo: &Repo) -> Vec<Test> {
    let mut found = Vec::new();
    for (file, masked) in repo.rust() {
        let Some((package, within)) = file.path.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            continue;
        };
        let Some((_, module)) = within.split_once('/') else { continue };
        let module = module.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/main");
        let module = if matches!(module, "lib" | "main") { "" } else { module };
        for (name, at, _) in functions(&masked.code) {
            let start = masked.code[..at].rfind([';', '}', '{']).map_or(0, |found| found + 1);
            if masked.code[start..at].contains("test]") {
                let parts = module.split('/').filter(|part| !part.is_empty()).chain([name]);
                let path = parts.collect::<Vec<_>>().join("::");
                found.push(Test { package: package.to_owned(), path });
            }
        }
    }
    found
}

/// True for `crate::path::name` of an existing crate, all in lower case. Names with other letters
/// are types or methods.
fn is_test_name(repo: &Repo, name: &str) -> bool {
    let package = name.split("::").next().unwrap_or(name);
    let is_path = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':'));
    is_path && repo.get(&format!("crates/{package}/Cargo.toml")).is_some()
}

fn is_test_file(name: &str) -> bool {
    name.ends_with(".rs") && (name.starts_with("tests/") || name.contains("/tests/"))
}

fn has_file(repo: &Repo, name: &str) -> bool {
    let beside = format!("/{name}");
    repo.files.iter().any(|file| file.path == name || file.path.ends_with(&beside))
}
