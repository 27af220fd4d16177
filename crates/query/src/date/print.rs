//! Prints dates as text by a format.

use super::{DateError, Local, Zone, names};
use crate::code::ErrorCode;

/// The purpose for which a format is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToText,
    FromText,
}

/// Checks the specifiers of a format.
pub(crate) fn check_format(format: &str, direction: Direction) -> Result<(), DateError> {
    let known = match direction {
        Direction::ToText => "%bBdGHjLmMSwuUVYzZ",
        Direction::FromText => "%bBdGHjLmMSuVYzZ",
    };
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        match chars.next() {
            Some(specifier) if known.contains(specifier) => {}
            Some(other) => {
                let message = format!("'%{other}' in the format \"{format}\" is not a specifier; there are {known}");
                return Err(DateError::new(ErrorCode::Location18536, message));
            }
            None => {
                let message = format!("the format \"{format}\" ends with a single '%': write '%%' for a '%'");
                return Err(DateError::new(ErrorCode::Location18535, message));
            }
        }
    }
    Ok(())
}

/// A date as text. The format must have passed [`check_format`].
pub(crate) fn to_text(millis: i64, format: &str, zone: &Zone) -> Result<String, DateError> {
    let local = Local::at(millis, zone);
    let mut text = String::with_capacity(format.len() + 16);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => specifier(&local, chars.next().unwrap_or('%'), &mut text)?,
            other => text.push(other),
        }
    }
    Ok(text)
}

fn specifier(local: &Local, specifier: char, text: &mut String) -> Result<(), DateError> {
    let month = || usize::try_from(local.date.month - 1).ok().and_then(|at| names::MONTHS.get(at)).unwrap_or(&"");
    let minutes = local.offset / 60;
    match specifier {
        'b' => text.push_str(month().get(..3).unwrap_or_default()),
        'B' => text.push_str(month()),
        'd' => pad(local.date.day, 2, text),
        'G' => pad(year(local.iso_year())?, 4, text),
        'H' => pad(local.hour(), 2, text),
        'j' => pad(local.day_of_year(), 3, text),
        'L' => pad(local.millisecond(), 3, text),
        'm' => pad(local.date.month, 2, text),
        'M' => pad(local.minute(), 2, text),
        'S' => pad(local.second(), 2, text),
        'u' => pad(local.iso_weekday(), 1, text),
        'U' => pad(local.week(), 2, text),
        'V' => pad(local.iso_week(), 2, text),
        'w' => pad(local.weekday_from_sunday(), 1, text),
        'Y' => pad(year(local.date.year)?, 4, text),
        'z' => {
            text.push(if local.offset < 0 { '-' } else { '+' });
            pad(minutes.abs() / 60, 2, text);
            pad(minutes.abs() % 60, 2, text);
        }
        'Z' => text.push_str(&minutes.to_string()),
        other => text.push(other),
    }
    Ok(())
}

fn pad(number: i64, digits: usize, text: &mut String) {
    text.push_str(&format!("{number:0digits$}"));
}

/// The year of a text, which has four digits.
fn year(year: i64) -> Result<i64, DateError> {
    if (0..=9999).contains(&year) {
        return Ok(year);
    }
    let message = format!("the year {year} cannot be written with a format: it must be from 0 to 9999");
    Err(DateError::new(ErrorCode::Location18537, message))
}
