//! Parameters must not be tuples instead of structs: no type with three or more members, and no pattern `(a, b): (A,
//! B)`.

use super::Finding;
use super::lengths::functions;
use super::mask::is_word;
use super::repo::{Repo, line_of};

/// A tuple with this many members must be a struct.
const MEMBERS: usize = 3;

/// The findings in the sources of the crate in `dir`, except tests.
pub(super) fn report(repo: &Repo, dir: &str) -> Vec<Finding> {
    let sources = format!("{dir}/src/");
    let is_test = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
    let mut found = Vec::new();
    for (file, masked) in repo.rust().filter(|(file, _)| file.path.starts_with(&sources) && !is_test(&file.path)) {
        for (name, at, _) in functions(&masked.code) {
            for parameter in parameters(&masked.code[at..]) {
                if let Some(what) = refused(parameter) {
                    let line = line_of(&masked.code, at);
                    found.push(Finding::new(&file.path, line, format!("{what} of `{name}`: {}", squeeze(parameter))));
                }
            }
        }
    }
    found
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refused(parameter: &str) -> Option<&'static str> {
    let (pattern, kind) = colon(parameter)?;
    if members(pattern.trim().trim_start_matches('&')) > 1 {
        return Some("name the parameters one by one, or make a struct of this pattern");
    }
    let mut kind = kind.trim();
    while let Some(rest) = kind.strip_prefix('&') {
        let rest = rest.trim_start();
        let lifetime = rest.strip_prefix('\'').map(|rest| rest.trim_start_matches(|c: char| is_word(c as u8)));
        let rest = lifetime.unwrap_or(rest).trim_start();
        kind = rest.strip_prefix("mut ").unwrap_or(rest).trim_start();
    }
    (members(kind) >= MEMBERS).then_some("make a struct of this tuple")
}

/// The number of members of the tuple that `text` begins with; 0 if it begins with no tuple.
fn members(text: &str) -> usize {
    match text.strip_prefix('(') {
        Some(inner) => split(inner).iter().filter(|part| !part.trim().is_empty()).count(),
        None => 0,
    }
}

/// The parameters of a function whose text begins at `fn`.
pub(super) fn parameters(code: &str) -> Vec<&str> {
    let mut generics = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'<' => generics += 1,
            b'>' if !code[..at].ends_with('-') => generics = generics.saturating_sub(1),
            b'(' if generics == 0 => return split(&code[at + 1..]),
            _ => {}
        }
    }
    Vec::new()
}

/// The parts between the commas, up to the closing bracket.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b'>' if text[..at].ends_with(['-', '=']) => {}
            b')' | b']' | b'}' | b'>' if depth == 0 => {
                parts.push(&text[from..at]);
                break;
            }
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// The pattern and the type, which are separated by the first colon that is not part of a path.
fn colon(parameter: &str) -> Option<(&str, &str)> {
    let bytes = parameter.as_bytes();
    let is_colon = |at: usize| bytes.get(at) == Some(&b':');
    let at = (0..bytes.len()).find(|at| is_colon(*at) && !is_colon(at + 1) && (*at == 0 || !is_colon(at - 1)))?;
    Some((&parameter[..at], &parameter[at + 1..]))
}
