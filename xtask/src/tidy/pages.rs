//! Pages: links must lead to files, each decision must be in the index, and lines of prose must be short.

use super::Finding;
use super::repo::{Repo, SourceFile};

const DECISIONS: &str = "docs/decisions/";
const LINE_MAX: usize = 100;

/// Pages with longer lines. A page must be removed from this list when it is wrapped.
const WIDE: [&str; 5] =
    ["docs/INSTALL.md", "docs/TESTING.md", "docs/TUTORIAL.md", "bench-peers/README.md", "fuzz/README.md"];

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for page in repo.files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut in_code = false;
        for (index, line) in page.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code {
                for target in links(line).filter(|target| !leads_somewhere(repo, page, target)) {
                    findings.push(Finding::new(&page.path, index + 1, format!("the link leads to no file: {target}")));
                }
                let len = line.chars().count();
                let wraps = line.trim_start().contains(' ') && !line.starts_with(['|', '#', '`']);
                if len > LINE_MAX && wraps && !WIDE.contains(&page.path.as_str()) {
                    let what = format!("the line has {len} characters, {LINE_MAX} are the limit: wrap it");
                    findings.push(Finding::new(&page.path, index + 1, what));
                }
            }
        }
    }
    let Some(index) = repo.get(&format!("{DECISIONS}README.md")) else { return };
    for page in repo.files.iter() {
        let Some(name) = page.path.strip_prefix(DECISIONS).filter(|name| *name != "README.md") else { continue };
        if !index.text.contains(&format!("]({name})")) {
            let what = format!("the decision is not in {}: add a line with a sentence", index.path);
            findings.push(Finding::new(&page.path, 1, what));
        }
    }
}

/// The targets of the links in a line, except links to the web.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains(':') && !target.starts_with('#') && !target.contains(' '))
}

/// True if a relative link names a file or a folder of the repository. Files with other endings are not known and count
/// as found.
fn leads_somewhere(repo: &Repo, page: &SourceFile, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or(target);
    let mut parts: Vec<&str> = page.path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let folder = format!("{path}/");
    let is_text = path.ends_with(".md") || path.ends_with(".rs") || path.ends_with('/');
    !is_text || repo.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
}
