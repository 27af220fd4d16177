//! Runs each console block of a page, in one directory from top to bottom, and compares the output.
//!
//! A line `$ …` is a command for `sh`, and `> …` continues it. The following lines are its output, including standard
//! error. `[..]` matches any text within a line, and a line `...` matches any lines.

// Each test file is a separate crate and uses a part of this module.

use crate::common::Place;
use std::path::Path;
use std::process::Command;

/// A command and its expected output.
#[derive(Debug, Default)]
struct Step {
    /// The number of the command's line in the page, from 1.
    line: usize,
    command: String,
    output: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let (mut steps, mut inside) = (Vec::<Step>::new(), false);
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step { line: at + 1, command: command.to_owned(), output: Vec::new() });
                continue;
            }
            let step = steps.last_mut().expect("a command first");
            match line.strip_prefix("> ") {
                Some(more) => step.command += &format!("\n{more}"),
                None => step.output.push(line.to_owned()),
            }
        }
    }
    steps
}

/// Runs a command; returns the lines of its output.
fn run(place: &Place, variables: &[(&str, &Path)], command: &str) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_alluvium")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}\n")])
        .current_dir(place.path(""))
        .env("PATH", path)
        .env("XDG_CONFIG_HOME", place.path("config"))
        .env("XDG_STATE_HOME", place.path("state"))
        .env_remove("ALLUVIUM_MEMORY")
        .envs(variables.iter().copied())
        .output()
        .expect("a shell");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// True if a line of output matches the expected line, in which `[..]` matches any text.
fn same_line(printed: &str, expected: &str) -> bool {
    let mut parts = expected.split("[..]");
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// True if the printed lines match the expected ones.
pub fn same(printed: &[String], expected: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => (0..=printed.len()).any(|skipped| same(&printed[skipped..], rest)),
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, more)| same_line(line, first) && same(more, rest))
        }
    }
}

/// Runs the commands of the page `docs/NAME` with these environment variables. Returns the number of commands.
pub fn check(name: &str, variables: &[(&str, &Path)]) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let steps = steps(&std::fs::read_to_string(page).expect("the page"));
    let place = Place::new();
    for step in &steps {
        let printed = run(&place, variables, &step.command);
        assert!(
            same(&printed, &step.output),
            "docs/{name}:{}: {}\nprinted:\n{}\nexpected:\n{}",
            step.line,
            step.command,
            printed.join("\n"),
            step.output.join("\n"),
        );
    }
    steps.len()
}
