//! Runs each console block of docs/TUTORIAL.md and compares the output.

use crate::page;
#[test]
fn the_tutorial_runs() {
    let commands = page::check("TUTORIAL.md", &[]);
    assert!(commands > 20, "{commands}");
}

#[test]
fn expected_lines_match_as_they_say() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let matches = |printed: &str, expected: &str| page::same(&lines(printed), &lines(expected));
    assert!(matches("a\nb", "a\nb") && matches("took 3 ms, 4 kB", "took [..] ms, [..]") && matches("", ""));
    assert!(matches("a\nb\nc", "a\n...\nc") && matches("a\nc", "a\n...\nc") && matches("a\nb", "..."));
    assert!(!matches("a\nb", "a") && !matches("a", "a\nb") && !matches("ab", "a") && !matches("a", "..\nb"));
    assert!(!matches("took 3 s", "took [..] ms") && !matches("a\nb", "a\n...\nc") && !matches("aba", "ab[..]ba"));
}
