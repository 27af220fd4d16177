//! JSON in a relaxed notation for typing: names without quotes, strings in single quotes, a comma
//! after the last element.
//!
//! Only for arguments and lines of the shell. Files are parsed strictly.

use alluvium::Value;
use alluvium_document::json::{self, JsonError, Reason};

/// Parses an argument: JSON, or text that becomes JSON when missing quotes are added. A syntax
/// error refers to the text as typed.
pub(crate) fn parse(text: &str) -> Result<Value, JsonError> {
    json::parse(text.as_bytes()).or_else(|error| {
        let strict = strict(text).ok_or_else(|| error.clone())?;
        json::parse(strict.as_bytes()).map_err(|other| match other.reason {
            Reason::Extended { .. } | Reason::DuplicateField(_) => other,
            _ => error,
        })
    })
}

/// The text as JSON; `None` if it contains anything else.
fn strict(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '"' => {
                let len = string_len(rest)?;
                out.push_str(&rest[..len]);
                len
            }
            '\'' => {
                let len = string_len(rest)?;
                requote(&rest[1..len - 1], &mut out);
                len
            }
            // A number is copied.
            '-' | '0'..='9' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
                let len = end.unwrap_or(rest.len());
                if is_name(&rest[len..]) {
                    quote(&rest[..len], &mut out)
                } else {
                    out.push_str(&rest[..len])
                }
                len
            }
            c if c == '$' || c == '_' || c.is_alphabetic() => {
                let len = rest.find(|c: char| !(c.is_alphanumeric() || "$_.-".contains(c))).unwrap_or(rest.len());
                let word = &rest[..len];
                match word {
                    _ if is_name(&rest[len..]) => quote(word, &mut out),
                    "true" | "false" | "null" => out.push_str(word),
                    _ => return None,
                }
                len
            }
            ',' => {
                let after = rest[1..].trim_start();
                // A trailing comma; but `[,]` and `{"a":1,,}` are errors.
                let is_last = after.starts_with(['}', ']']) && !out.trim_end().ends_with(['{', '[', ',']);
                if !is_last {
                    out.push(',');
                }
                1
            }
            _ => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    Some(out)
}

/// True if the text before `after` is the name of a field.
fn is_name(after: &str) -> bool {
    after.trim_start().starts_with(':')
}

/// The length of a string including its quotes.
fn string_len(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate();
    let (_, quote) = bytes.next()?;
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            _ if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Converts the content of a single-quoted string to that of a double-quoted one.
fn requote(inside: &str, out: &mut String) {
    out.push('"');
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => match chars.next() {
                Some('\'') => out.push('\''),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out.push('"');
}

fn quote(name: &str, out: &mut String) {
    out.push('"');
    out.push_str(name);
    out.push('"');
}

#[cfg(test)]
mod tests;
