//! The documentation of the library must name the library's own paths: a user depends only on the crate `alluvium`.

use super::Finding;
use super::repo::Repo;

const LIBRARY: &str = "crates/alluvium/src/";

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for file in repo.files.iter().filter(|file| file.path.starts_with(LIBRARY)) {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            let is_seen = line.starts_with("///") || line.starts_with("//!") || line.starts_with("pub fn ");
            if is_seen && line.contains("alluvium_") && line.contains("::") && !line.contains("::alluvium_types") {
                let what = "a user of the library has no such crate: name the path in `alluvium`";
                findings.push(Finding::new(&file.path, index + 1, what));
            }
        }
    }
}
