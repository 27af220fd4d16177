//! Which character is between the fields of a CSV file, by its first rows.

use crate::text;

/// Rows that are looked at.
const ROWS: usize = 20;
/// What is between the fields of a file called CSV, where it is no comma, and how that is written.
const OTHERS: [(u8, &str); 3] = [(b';', "semicolons, ';'"), (b'\t', "tabs"), (b'|', "bars, '|'")];

/// The delimiter; with a note if it is no comma.
pub(super) fn noted(name: &str, head: &[u8]) -> u8 {
    let found = of(head);
    if let Some((_, words)) = OTHERS.iter().find(|(delimiter, _)| *delimiter == found) {
        let name = text::plain(name);
        eprintln!(
            "note: the fields of {name} are separated by {words}; --delimiter , reads them as separated by commas"
        );
    }
    found
}

/// The delimiter that every row has equally often; a comma if there is no such delimiter, or more than one.
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

/// How often comma and the other delimiters are outside of quotes, row by row. The last row counts if it is whole, or alone.
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
