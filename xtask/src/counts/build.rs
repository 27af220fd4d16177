//! The build whose instructions are counted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates of the workspace whose code is in no path.
const NOT_COUNTED: [&str; 3] = ["cli", "workbench", "testkit"];

/// Builds `alluvium-counts` and returns its path. The program is optimised like a release, but without link-time
/// optimisation.
///
/// The other packages are taken from the tests' build, which has optimised them already, so only the crates of this
/// workspace are compiled again. Each crate is one unit of code and nothing is incremental, so that the compiler does
/// not divide code by names and hashes.
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
    // That program is in the same folder as this one.
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
