//! Chores of the repository. `cargo xtask tidy` checks the rules of style that no compiler checks.
//! `cargo xtask counts` checks the instruction counts of hot paths.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
// This is a tool for developers, which is not simulated.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod changes;
mod counts;
mod tidy;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
usage: cargo xtask <command>

  tidy [directory]  checks the rules of style that no compiler checks; exits 1 if one is broken
  modules CRATE     prints the circles, root imports and tuple parameters of a crate, exceptions included
  shrink            removes from xtask/exceptions what is clean, lowers the limits of phrases, and prints the counts
  counts [--update] counts the instructions of hot paths, and compares them with crates/counts/table.txt; with
                    --update, writes them there
  test-changed      runs the unit tests of the crates that differ from the main branch";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy(&repository()),
        ["tidy", directory] => tidy(Path::new(directory)),
        ["modules", name] => print(tidy::structure_of(&repository(), name)),
        ["shrink"] => shrink(),
        ["counts"] => counts::run(&repository(), false),
        ["counts", "--update"] => counts::run(&repository(), true),
        ["test-changed"] => test_changed(),
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
    print(tidy::check(root))
}

fn print(findings: io::Result<Vec<tidy::Finding>>) -> ExitCode {
    let findings = match findings {
        Ok(findings) => findings,
        Err(error) => {
            eprintln!("cannot read the repository: {error}");
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

/// Shrinks the lists of exceptions, and prints the number of phrases.
fn shrink() -> ExitCode {
    match tidy::shrink(&repository()) {
        Ok(counts) => {
            counts.iter().for_each(|(area, count)| println!("{count:5} {area}"));
            println!("{:5} in all", counts.iter().map(|(_, count)| count).sum::<usize>());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cannot shrink the exceptions: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the unit tests of the packages with changed files, or of all packages if git fails.
fn test_changed() -> ExitCode {
    let packages = changes::packages();
    if packages.as_ref().is_some_and(BTreeSet::is_empty) {
        println!("no crate differs from the main branch: no test to run");
        return ExitCode::SUCCESS;
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository()).args(["test", "--locked", "--lib", "--bins"]);
    match &packages {
        Some(names) => command.args(names.iter().flat_map(|name| ["-p", name.as_str()])),
        None => command.arg("--workspace"),
    };
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::from(2)
        }
    }
}
