//! Files must be short enough to read at once, functions must fit on a screen, and tests must be in files of their own.
//!
//! The limits are guides. Comments do not count in functions, and doc comments do not count in files. A longer function
//! or file is allowed with a reason: `// long: reason` directly above the function, or among the comments at the top of
//! the file.

use super::Finding;
use super::mask::find_words;
use super::repo::{Repo, line_of};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

/// Begins the line that states the reason for a length.
const REASON: &str = "// long: ";

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for (file, masked) in repo.rust() {
        let lines = file.text.lines().filter(|line| !is_doc_comment(line)).count();
        let long = lines > FILE_LINES_MAX;
        if let Some(what) = judge(long, has_reason(&file.text)) {
            let advice = "split it by its jobs, or state at its top why it is long (`// long: reason`)";
            let what = format!("the file {what} ({lines} lines, {FILE_LINES_MAX} are the guide): {advice}");
            findings.push(Finding::new(&file.path, if long { FILE_LINES_MAX + 1 } else { 1 }, what));
        }
        for (name, at, end) in functions(&masked.code) {
            let lines = masked.code[at..end].lines().zip(file.text[at..end].lines());
            // A line that is blank only in the masked code is a comment or the inside of a literal.
            let is_comment = |line: &str| matches!(line.trim_start().get(..2), Some("//"));
            let lines = lines.filter(|(code, text)| !(code.trim().is_empty() && is_comment(text))).count();
            let above = file.text[..at].rsplit_once('\n').map_or("", |(above, _)| above);
            let near = above.lines().rev().take_while(|line| is_attribute(line) || line.trim_start().starts_with("//"));
            if let Some(what) = judge(lines > FUNCTION_LINES_MAX, near.into_iter().any(is_reason)) {
                let advice = "take steps out of it, or state above it why it is long (`// long: reason`)";
                let what = format!("{name} {what} ({lines} lines, {FUNCTION_LINES_MAX} are the guide): {advice}");
                findings.push(Finding::new(&file.path, line_of(&file.text, at), what));
            }
        }
        inline_tests(&file.path, &masked.code, findings);
    }
}

fn judge(long: bool, reason: bool) -> Option<&'static str> {
    match (long, reason) {
        (true, false) => Some("is long"),
        (false, true) => Some("has a reason for its length and is not long"),
        _ => None,
    }
}

/// True if the comments at the top of a file state a reason. Comments directly above an item belong to the item.
fn has_reason(text: &str) -> bool {
    let top = text.lines().take_while(|line| line.starts_with("//"));
    let after = text.lines().nth(top.clone().count()).unwrap_or("");
    (after.is_empty() || after.starts_with("#!")) && top.into_iter().any(is_reason)
}

fn is_reason(line: &str) -> bool {
    line.trim_start().strip_prefix(REASON).is_some_and(|reason| !reason.trim().is_empty())
}

fn is_attribute(line: &str) -> bool {
    line.trim_start().starts_with("#[")
}

/// True for a line of a doc comment. Documentation makes a file longer, but not harder to read.
fn is_doc_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// The functions with a body: name, offset of `fn`, end of the body.
pub(super) fn functions(code: &str) -> Vec<(&str, usize, usize)> {
    let mut found = Vec::new();
    for at in find_words(code, "fn") {
        let rest = code[at + 2..].trim_start();
        let len = rest.bytes().take_while(|byte| super::mask::is_word(*byte)).count();
        // `fn(` without a name is a type.
        if len > 0
            && let Some(end) = body_end(code, code.len() - rest.len() + len)
        {
            found.push((&rest[..len], at, end));
        }
    }
    found
}

/// The offset at which the body of a function ends; `None` without a body. The function's name ends at `from`.
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
                // A brace within the parameters begins a constant, not the body.
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
            let what = format!("tests are in the file: write `mod tests;` and move them to {stem}/tests.rs");
            findings.push(Finding::new(path, line_of(code, at), what));
        }
    }
}
