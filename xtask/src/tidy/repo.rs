//! The files of the repository that people read.

use super::mask::{Masked, mask};
use std::fs;
use std::io;
use std::path::Path;

/// The endings of files that are read. Files with other endings (data, fixtures, locks) are not
/// prose.
const ENDINGS: [&str; 7] = ["rs", "toml", "md", "sh", "yml", "yaml", "txt"];

/// A text file.
pub(super) struct SourceFile {
    /// The path from the root of the repository, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// For Rust: the code and the comments, separated.
    pub(super) rust: Option<Masked>,
}

/// The files, sorted by path.
pub(super) struct Repo {
    pub(super) files: Vec<SourceFile>,
}

impl Repo {
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub(super) fn get(&self, path: &str) -> Option<&SourceFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// The Rust files with their masks.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&SourceFile, &Masked)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    /// The directories with a `Cargo.toml` of a package, each with this file.
    pub(super) fn packages(&self) -> impl Iterator<Item = (&str, &SourceFile)> {
        self.files.iter().filter_map(|file| {
            let dir = file.path.strip_suffix("/Cargo.toml")?;
            file.text.contains("[package]").then_some((dir, file))
        })
    }
}

fn walk(dir: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let skipped = matches!(name.as_str(), "target" | ".git" | "fixtures" | "corpus");
            if !skipped && !name.ends_with(".alluvium") {
                walk(&entry.path(), &format!("{prefix}{name}/"), files)?;
            }
        } else if kind.is_file() && name.rsplit_once('.').is_some_and(|(_, end)| ENDINGS.contains(&end)) {
            // The file is not text, or was removed in the meantime, so it is not checked.
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            let rust = name.ends_with(".rs").then(|| mask(&text));
            files.push(SourceFile { path: format!("{prefix}{name}"), text, rust });
        }
    }
    Ok(())
}

/// The line, counted from 1, of the byte at `at`.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}
