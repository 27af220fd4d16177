//! Runs each console block of docs/TUTORIAL.md, in one directory from top to bottom, and compares
//! the output.
//!
//! A line `$ …` is a command for `sh`, `> …` continues it, and the following lines are its output,
//! including standard error. `[..]` matches any text within a line, a line `...` any lines.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use common::Place;
use std::path::Path;
use std::process::Command;

/// A command and its expected output.
#[derive(Debug, Default)]
struct Step {
    /// From 1, in the page.
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
fn run(place: &Place, command: &str) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_alluvium")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}\n")])
        .current_dir(place.path(""))
        .env("PATH", path)
        .env("XDG_CONFIG_HOME", place.path("config"))
        .env("XDG_STATE_HOME", place.path("state"))
        .env_remove("ALLUVIUM_MEMORY")
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

fn same(printed: &[String], expected: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => (0..=printed.len()).any(|skipped| same(&printed[skipped..], rest)),
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, more)| same_line(line, first) && same(more, rest))
        }
    }
}

#[test]
fn the_tutorial_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TUTORIAL.md");
    let steps = steps(&std::fs::read_to_string(page).expect("the tutorial"));
    assert!(steps.len() > 20, "{}", steps.len());
    let place = Place::new();
    for step in steps {
        let printed = run(&place, &step.command);
        assert!(
            same(&printed, &step.output),
            "docs/TUTORIAL.md:{}: {}\nprinted:\n{}\nexpected:\n{}",
            step.line,
            step.command,
            printed.join("\n"),
            step.output.join("\n"),
        );
    }
}

#[test]
fn expected_lines_match_as_they_say() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let matches = |printed: &str, expected: &str| same(&lines(printed), &lines(expected));
    assert!(matches("a\nb", "a\nb") && matches("took 3 ms, 4 kB", "took [..] ms, [..]") && matches("", ""));
    assert!(matches("a\nb\nc", "a\n...\nc") && matches("a\nc", "a\n...\nc") && matches("a\nb", "..."));
    assert!(!matches("a\nb", "a") && !matches("a", "a\nb") && !matches("ab", "a") && !matches("a", "..\nb"));
    assert!(!matches("took 3 s", "took [..] ms") && !matches("a\nb", "a\n...\nc") && !matches("aba", "ab[..]ba"));
}
