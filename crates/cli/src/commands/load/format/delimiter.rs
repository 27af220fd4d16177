//! Detects the delimiter of a CSV file from its first rows.

use crate::streams;
use crate::text;

/// The number of rows that are examined.
const ROWS: usize = 20;
/// Other delimiters of CSV files, with their names in messages.
const OTHERS: [(u8, &str); 3] = [(b';', "semicolons, ';'"), (b'\t', "tabs"), (b'|', "bars, '|'")];

/// The delimiter; prints a note if it is not a comma.
pub(super) fn noted(name: &str, head: &[u8], skip_lines: u64) -> u8 {
    let mut head = head;
    for _ in 0..skip_lines {
        head = after_line(head);
    }
    let marked = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if marked.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"sep=")) {
        // The load itself handles Excel's line `sep=`, which names the delimiter.
        return b',';
    }
    let found = of(head);
    if let Some((_, words)) = OTHERS.iter().find(|(delimiter, _)| *delimiter == found) {
        let name = text::plain(name);
        streams::complain(&format!(
            "note: the fields of {name} are separated by {words}; --delimiter , reads them as separated by commas"
        ));
    }
    found
}

/// The bytes after the first line.
fn after_line(head: &[u8]) -> &[u8] {
    let end = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    head.get(end..).unwrap_or(&[])
}

/// The delimiter that occurs equally often in every row; a comma if there is not exactly one.
fn of(head: &[u8]) -> u8 {
    let rows = rows(head);
    let separates = |delimiter: usize| {
        let first = rows.first().map_or(0, |counts| counts[delimiter]);
        first > 0 && rows.iter().all(|counts| counts[delimiter] == first)
    };
    let mut others = (0..OTHERS.len()).filter(|at| separates(at + 1));
    match (separates(0), others.next(), others.next()) {
        (false, Some(at), None) => OTHERS[at].0,
        _ => b',',
    }
}

/// For each row, the numbers of commas and of the other delimiters outside of quotes. The last row is included only if
/// it is complete, or if it is the only row.
fn rows(head: &[u8]) -> Vec<[usize; 4]> {
    let (mut rows, mut counts, mut in_quotes, mut is_blank) = (Vec::new(), [0; 4], false, true);
    for &byte in head {
        match byte {
            b'"' => in_quotes = !in_quotes,
            b'\n' if !in_quotes => {
                if !is_blank {
                    rows.push(counts);
                }
                (counts, is_blank) = ([0; 4], true);
                if rows.len() == ROWS {
                    return rows;
                }
                continue;
            }
            b',' if !in_quotes => counts[0] += 1,
            _ if in_quotes => {}
            _ => {
                if let Some(at) = OTHERS.iter().position(|(delimiter, _)| *delimiter == byte) {
                    counts[at + 1] += 1;
                }
            }
        }
        is_blank &= byte.is_ascii_whitespace() && byte != b'\t';
    }
    if rows.is_empty() {
        rows.push(counts);
    }
    rows
}

#[cfg(test)]
mod tests;
