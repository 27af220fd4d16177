//! The retention of recorded changes: `24h`, `4G` or `24h,4G`.

use crate::settings::size;
use alluvium::ChangeRetention;
use std::time::Duration;

/// The form of a retention.
const FORM: &str =
    "write a time, a size, or both, such as 24h,4G: times have the units s, min, h and d, and sizes K, M and G";

/// Parses a retention. A part that is missing is the default.
///
/// # Errors
/// A sentence that explains the notation.
pub fn parse(text: &str) -> Result<ChangeRetention, String> {
    let (mut time, mut bytes) = (None, None);
    for part in text.split(',').map(str::trim) {
        let is_new = match time_of(part)? {
            Some(given) => time.replace(given).is_none(),
            None => bytes.replace(size_of(part)?).is_none(),
        };
        if !is_new {
            return Err(format!("{text} has two times or two sizes: {FORM}"));
        }
    }
    let default = ChangeRetention::default();
    Ok(ChangeRetention { time: time.unwrap_or(default.time), bytes: bytes.unwrap_or(default.bytes) })
}

/// The time, if the part has a unit of time.
fn time_of(part: &str) -> Result<Option<Duration>, String> {
    let digits = part.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_seconds = match &part[digits.len()..] {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "m" => return Err(format!("{part} may be minutes or megabytes: write {digits}min or {digits}M")),
        _ => return Ok(None),
    };
    let number: u64 = digits.trim_end().parse().map_err(|_| FORM.to_owned())?;
    let seconds = number.checked_mul(unit_seconds).ok_or_else(|| format!("{part} is too long"))?;
    if seconds == 0 {
        return Err(format!("{part} keeps no changes: a retention is more than 0"));
    }
    Ok(Some(Duration::from_secs(seconds)))
}

fn size_of(part: &str) -> Result<u64, String> {
    if !part.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(FORM.to_owned());
    }
    match size::parse(part) {
        Ok(0) => Err(format!("{part} keeps no changes: a retention is more than 0")),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(FORM.to_owned()),
    }
}

#[cfg(test)]
mod tests;
