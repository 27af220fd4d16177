//! Notes about the columns of a loaded CSV file: generated names, and types that were chosen by a sample and that some
//! values do not have.

use crate::text;
use alluvium::load::{ColumnKind, ColumnReport};

/// The maximum number of columns that a note about names lists.
const LISTED: usize = 8;
/// The minimum share in percent of numbers, or of booleans, in a column of texts that is reported as one of mixed
/// types.
const MIXED_PERCENT: u64 = 50;

/// The notes.
pub(super) fn notes(input: &str, columns: &[ColumnReport]) -> Vec<String> {
    let mut notes = Vec::new();
    let made: Vec<String> = columns.iter().enumerate().filter_map(|(at, column)| made_up(at, column)).collect();
    if !made.is_empty() {
        let listed = made.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        let more = made.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {}", text::counted(more as u64, "more name")) } else { String::new() };
        notes.push(format!("names of {} are made up: {listed}{more}; --names gives others", text::plain(input)));
    }
    notes.extend(columns.iter().filter_map(mixed));
    notes
}

/// A note on the generated name of a column, if the name in the header cannot be used.
fn made_up(at: usize, column: &ColumnReport) -> Option<String> {
    let (header, name) = (column.header.as_ref()?, text::plain(&column.name));
    Some(match header.as_str() {
        "" => format!("{name} for field {}", at + 1),
        header => format!("{name} for the {} of field {}", text::plain(header), at + 1),
    })
}

/// A note about a column of mixed types.
fn mixed(column: &ColumnReport) -> Option<String> {
    let name = text::plain(&column.name);
    let (what, most) = match column.numbers >= column.booleans {
        true => ("numbers", column.numbers),
        false => ("booleans", column.booleans),
    };
    match column.kind {
        ColumnKind::Text if most > 0 && most * 100 >= column.sampled * MIXED_PERCENT => {
            let others = column.sampled - most;
            // At least one percent, because `others` is not zero.
            let percent = (others * 100 / column.sampled.max(1)).max(1);
            let of = if others * 100 < column.sampled { "less than 1%".to_owned() } else { format!("{percent}%") };
            let example = column.text.as_deref().map(shown);
            let (such, null) = match (&example, column.is_only_text && column.numbers + column.booleans == most) {
                (Some(text), true) if !text.bytes().any(|byte| byte.is_ascii_digit()) => {
                    (format!(", all of them {text}"), format!("; --null {text} takes it as null"))
                }
                (Some(text), _) => (format!(", such as {text}"), String::new()),
                (None, _) => (String::new(), String::new()),
            };
            Some(format!(
                "{name}: text, since {of} of the first {} are no {what}{such}{null}; --types {name}:auto takes each value \
                 alone",
                text::counted(column.sampled, "value")
            ))
        }
        ColumnKind::Number | ColumnKind::Boolean if column.others > 0 => {
            let others = text::counted(column.others, "value");
            Some(format!(
                "{name}: {what}, but for {others} after the first {} that stay text; --types {name}:string takes all as text",
                text::count(column.sampled)
            ))
        }
        _ => None,
    }
}

/// A value in a note, shortened.
fn shown(value: &str) -> String {
    const MOST: usize = 40;
    let cut: String = value.chars().take(MOST).collect();
    let dots = if cut.len() < value.len() { "…" } else { "" };
    format!("{}{dots}", text::plain(&cut))
}

#[cfg(test)]
mod tests;
