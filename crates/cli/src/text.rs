//! Formatting of numbers for people.

use std::path::Path;
use std::time::Duration;

/// `1234567` as `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 document`, `2 documents`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A number of bytes with about three digits, in powers of 1000: `1.27 GB`.
pub fn bytes(n: u64) -> String {
    let (mut value, mut unit) = (n as f64, "B");
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    match unit {
        "B" => format!("{n} B"),
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// `12.3 s`, `4.56 ms`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

/// A quotient; `None` if the divisor is zero.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A name, or any other text from outside, on one line and safe for a terminal: control characters, including line
/// feeds, are escaped. Every name that is printed is passed through this function or [`path`].
pub fn plain(text: &str) -> String {
    escaped(text, char::is_control)
}

/// A path, escaped like text in [`plain`].
pub(crate) fn path(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// Like [`plain`], for a text of several lines. Newlines are kept, because the names in the text are already escaped.
pub(crate) fn lines(text: &str) -> String {
    escaped(text, |c| c.is_control() && c != '\n')
}

/// Like [`plain`], for text of several lines and columns from the content of documents.
pub(crate) fn harmless(text: &str) -> String {
    escaped(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Pairs in two columns; the names are padded to the same width.
pub fn columns(rows: &[(String, String)]) -> String {
    let rows: Vec<(String, String)> = rows.iter().map(|(name, value)| (plain(name), plain(value))).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, value): &(String, String)| format!("{name:width$}  {value}\n");
    rows.iter().map(line).collect()
}

/// A table: the first column is left-aligned, the others are right-aligned.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:width$}"),
            _ => format!("  {cell:>width$}"),
        });
        cells.collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
