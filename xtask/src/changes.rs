//! The differences from the main branch, as git reports them.

use std::collections::BTreeSet;
use std::process::Command;

/// The commit that the work began at: where it left `origin/main` or `main`. `HEAD` if no such branch exists, or if
/// there are no commits after it.
fn base() -> Option<String> {
    let from = |branch: &str| git(&["merge-base", "HEAD", branch]).map(|commit| commit.trim().to_owned());
    from("origin/main").or_else(|| from("main")).or_else(|| Some("HEAD".to_owned()))
}

/// The paths that differ, from the root of the repository; `None` without git.
pub(crate) fn files() -> Option<BTreeSet<String>> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let root = root.trim();
    let tracked = git(&["-C", root, "diff", "--name-only", &base()?])?;
    let untracked = git(&["-C", root, "ls-files", "--others", "--exclude-standard"])?;
    Some(tracked.lines().chain(untracked.lines()).map(str::to_owned).collect())
}

/// The packages with files that differ; `None` without git, or if a file that belongs to the whole workspace differs.
pub(crate) fn packages() -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for path in files()? {
        let mut parts = path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some("alluvium")) => found.insert("alluvium".to_owned()),
            (Some("crates"), Some(name)) => found.insert(format!("alluvium-{name}")),
            (Some("xtask"), _) => found.insert("xtask".to_owned()),
            _ => false,
        };
    }
    Some(found)
}

/// The lines that were added, each as a path and a line number counted from 1; none without git.
pub(crate) fn added_lines() -> BTreeSet<(String, usize)> {
    let mut found = BTreeSet::new();
    let Some(diff) = base().and_then(|base| git(&["diff", "-U0", "--no-color", &base])) else { return found };
    let mut path = String::new();
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            path = name.to_owned();
        } else if let Some(range) = line.strip_prefix("@@ ").and_then(|rest| rest.split_once('+')) {
            // The range is `start,count` or `start`.
            let mut numbers =
                range.1.split(' ').next().unwrap_or("").split(',').map(|number| number.parse().unwrap_or(0));
            let (start, count) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(1));
            found.extend((start..start + count).map(|line| (path.clone(), line)));
        }
    }
    found
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
