//! Chores of the repository: `cargo xtask tidy` checks the rules of style that no compiler
//! knows.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
// A tool for developers, with no need to be simulated.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask tidy [directory]

  tidy   checks lengths, words, dead files, the direction of dependencies, and that the
         tests named in docs/DURABILITY.md exist, each error is in docs/ERRORS.md, and
         all that is public in crates alluvium, store and readonly has an example; exits 1 if
         anything is wrong";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy(&repository()),
        ["tidy", directory] => tidy(Path::new(directory)),
        ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// The directory above this package.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

fn tidy(root: &Path) -> ExitCode {
    let findings = match tidy::check(root) {
        Ok(findings) => findings,
        Err(error) => {
            eprintln!("cannot read {}: {error}", root.display());
            return ExitCode::from(2);
        }
    };
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => ExitCode::SUCCESS,
        n => {
            eprintln!("{n} finding{}", if n == 1 { "" } else { "s" });
            ExitCode::FAILURE
        }
    }
}
