//! Rows of separated fields.
//!
//! A missing field is written as nothing, and an empty text as two quotes, so that a load distinguishes them. The CSV
//! library would write both in the same way.

/// A field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separated<'a> {
    /// The document has no such field.
    Missing,
    /// Null.
    Null,
    /// A value as text.
    Text(&'a str),
}

/// Appends a row. Null is written as the text `null`, and a text that is equal to that text is quoted.
///
/// ```
/// use alluvium::export::{Separated, write_row};
///
/// let mut out = Vec::new();
/// let row = [Separated::Text("a,b"), Separated::Missing, Separated::Text(""), Separated::Null];
/// write_row(b',', "NA", row, &mut out);
/// assert_eq!(out, b"\"a,b\",,\"\",NA\n");
/// ```
pub fn write_row<'a>(separator: u8, null: &str, row: impl IntoIterator<Item = Separated<'a>>, out: &mut Vec<u8>) {
    let start = out.len();
    let mut count = 0;
    for field in row {
        if count > 0 {
            out.push(separator);
        }
        count += 1;
        match field {
            Separated::Missing => {}
            Separated::Null => out.extend_from_slice(null.as_bytes()),
            Separated::Text(text) if text.is_empty() || text == null || needs_quotes(separator, text) => {
                out.push(b'"');
                for byte in text.bytes() {
                    if byte == b'"' {
                        out.push(b'"');
                    }
                    out.push(byte);
                }
                out.push(b'"');
            }
            Separated::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
    if count == 1 && out.len() == start {
        // An empty line would not be read as a row.
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}

fn needs_quotes(separator: u8, text: &str) -> bool {
    text.bytes().any(|byte| byte == separator || matches!(byte, b'"' | b'\n' | b'\r'))
}
