//! Every crate except the one for tests denies panics in its root. Cargo's `[lints]` would deny them in tests, too.

use super::Finding;
use super::repo::Repo;

/// The required line in the root of a crate. `not(test)` excludes unit tests; integration tests and examples are other
/// crates.
pub(super) const DENIED: &str =
    "#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]";

/// This crate contains only test code, which may panic anywhere.
const EXEMPT: &str = "crates/testkit";

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for (dir, _) in repo.packages() {
        if dir == EXEMPT || !(dir == "xtask" || dir.starts_with("crates/")) {
            continue;
        }
        let roots = ["src/lib.rs", "src/main.rs"].iter().filter_map(|root| repo.get(&format!("{dir}/{root}")));
        for root in roots.filter(|root| !root.text.lines().any(|line| line == DENIED)) {
            findings.push(Finding::new(&root.path, 1, format!("add the line `{DENIED}`")));
        }
    }
}
