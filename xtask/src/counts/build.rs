//! The build whose instructions are counted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates of the workspace that no path runs through.
const NOT_COUNTED: [&str; 3] = ["cli", "workbench", "testkit"];

/// Builds `alluvium-counts`, optimised as a release is but without link-time optimisation, and returns its path.
///
/// The other packages are those of the tests' build, which has optimised them already: only the crates of this
/// workspace are compiled again. Each is one unit of code, so that the compiler divides nothing by names and hashes,
/// and nothing is incremental.
pub(super) fn binary(root: &Path) -> io::Result<PathBuf> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).env("CARGO_INCREMENTAL", "0");
    command.args(["build", "-q", "--locked", "-p", "alluvium-counts"]);
    for package in packages(root)? {
        for setting in ["opt-level=2", "codegen-units=1", "debug=0", "debug-assertions=false", "overflow-checks=false"]
        {
            command.arg("--config").arg(format!("profile.dev.package.{package}.{setting}"));
        }
    }
    if !command.status()?.success() {
        return Err(io::Error::other("alluvium-counts cannot be built"));
    }
    // This program is in the same folder.
    Ok(std::env::current_exe()?.with_file_name("alluvium-counts"))
}

fn packages(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !NOT_COUNTED.contains(&name.as_str()) {
            found.push(if name == "alluvium" { name } else { format!("alluvium-{name}") });
        }
    }
    found.sort();
    Ok(found)
}
