//! Every fuzz target must have its program, and every program must have a target, because no other check reads them on
//! each change. (`modules` checks that the manifest names each program.)

use super::Finding;
use super::repo::Repo;

const LIST: &str = "crates/testkit/src/fuzz.rs";

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    let Some(list) = repo.get(LIST) else { return };
    let mut targets = Vec::new();
    for file in &repo.files {
        let name = file.path.strip_prefix("fuzz/targets/").and_then(|name| name.strip_suffix(".rs"));
        let Some(name) = name else { continue };
        targets.push(name);
        // A target that is not in the list must be a function of that name in the crate of the command line.
        let listed = list.text.contains(&format!("(\"{name}\", "));
        let run = file.text.contains(&format!("testkit::fuzz::run(\"{name}\""));
        if listed != run || !(run || file.text.contains(&format!("cli::fuzz::{name}("))) {
            findings.push(Finding::new(&file.path, 1, format!("it does not run the target {name}")));
        }
    }
    for (at, line) in list.text.lines().enumerate() {
        let name = line.strip_prefix("    (\"").and_then(|rest| rest.split_once("\", ")).map(|(name, _)| name);
        if let Some(name) = name.filter(|name| !targets.contains(name)) {
            findings.push(Finding::new(LIST, at + 1, format!("the target {name} has no program in fuzz/targets")));
        }
    }
}
