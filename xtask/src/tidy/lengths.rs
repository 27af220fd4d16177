//! Files are read in one sitting; functions fit on a screen; tests sit beside.

use super::Finding;
use super::mask::find_words;
use super::repo::{Repo, line_of};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for (file, masked) in repo.rust() {
        let lines = file.text.lines().filter(|line| !is_doc_comment(line)).count();
        if lines > FILE_LINES_MAX {
            let what = format!("{lines} lines, {FILE_LINES_MAX} are the limit: split the file by its jobs");
            findings.push(Finding::new(&file.path, FILE_LINES_MAX + 1, what));
        }
        for (name, at, end) in functions(&masked.code) {
            let lines = masked.code[at..end].matches('\n').count() + 1;
            if lines > FUNCTION_LINES_MAX {
                let what = format!(
                    "the function {name} has {lines} lines, {FUNCTION_LINES_MAX} are the limit: take steps out of it"
                );
                findings.push(Finding::new(&file.path, line_of(&file.text, at), what));
            }
        }
        inline_tests(&file.path, &masked.code, findings);
    }
}

/// True for a line of a doc comment: documentation makes a file longer, not harder to read.
fn is_doc_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// The functions with a body: name, where `fn` stands, where the body ends.
pub(super) fn functions(code: &str) -> Vec<(&str, usize, usize)> {
    let mut found = Vec::new();
    for at in find_words(code, "fn") {
        let rest = code[at + 2..].trim_start();
        let len = rest.bytes().take_while(|byte| super::mask::is_word(*byte)).count();
        // `fn(` is a type.
        if len > 0
            && let Some(end) = body_end(code, code.len() - rest.len() + len)
        {
            found.push((&rest[..len], at, end));
        }
    }
    found
}

/// Where the body ends whose function's name ends at `from`, `None` if it has none.
fn body_end(code: &str, from: usize) -> Option<usize> {
    let (mut inner, mut braces) = (0, 0);
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => inner += 1,
            b')' | b']' => inner -= 1,
            b';' if inner == 0 && braces == 0 => return None,
            b'{' => braces += 1,
            b'}' => {
                braces -= 1;
                // A brace within the parameters is a constant, not the body.
                if braces == 0 && inner == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn inline_tests(path: &str, code: &str, findings: &mut Vec<Finding>) {
    for at in find_words(code, "mod") {
        let rest = code[at + 3..].trim_start();
        let len = rest.bytes().take_while(|byte| super::mask::is_word(*byte)).count();
        let inline = rest[len..].trim_start().starts_with('{');
        let before = code[..at].trim_end();
        let before = before.strip_suffix("pub").unwrap_or(before).trim_end();
        let for_tests = before.ends_with("#[cfg(test)]") || matches!(&rest[..len], "tests" | "test");
        if inline && for_tests {
            let stem = path.strip_suffix(".rs").unwrap_or(path);
            let what = format!("tests within the file: write `mod tests;` and move them to {stem}/tests.rs");
            findings.push(Finding::new(path, line_of(code, at), what));
        }
    }
}
