//! Dates as ISO 8601 text, in the Gregorian calendar without leap seconds.

use crate::calendar::Date;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The last millisecond of 9999.
pub(super) const MAX_PLAIN: i64 = 253_402_300_799_999;

/// Appends `millis` since 1970 as `2012-12-24T12:15:30.501Z`; whole seconds have no fraction. Years
/// that do not have four digits are written with a sign and at least six digits, as in ISO 8601:
/// `+010000-01-01T00:00:00Z`.
pub(crate) fn write(millis: i64, out: &mut Vec<u8>) {
    let (day, in_day) = (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY));
    let Date { year, month, day } = Date::of_day(day);
    let mut put = |number: i64, digits: u32, behind: u8| {
        for place in (0..digits).rev() {
            out.push(b'0' + (number / 10i64.pow(place) % 10) as u8);
        }
        out.push(behind);
    };
    if (0..=9999).contains(&year) {
        put(year, 4, b'-');
    } else {
        put(0, 0, if year < 0 { b'-' } else { b'+' });
        put(year.abs(), (year.abs().ilog10() + 1).max(YEAR_DIGITS), b'-');
    }
    put(month, 2, b'-');
    put(day, 2, b'T');
    put(in_day / 3_600_000, 2, b':');
    put(in_day / 60_000 % 60, 2, b':');
    match in_day % 1000 {
        0 => put(in_day / 1000 % 60, 2, b'Z'),
        fraction => {
            put(in_day / 1000 % 60, 2, b'.');
            put(fraction, 3, b'Z');
        }
    }
}

/// Parses `YYYY-MM-DDTHH:MM:SS`, an optional fraction (truncated to milliseconds), and `Z` or an
/// offset such as `+01:00`, `+0100` or `+01`; or a date alone, `YYYY-MM-DD`, as its first
/// millisecond in UTC. `None` for anything else.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (year, rest) = (digits(text.as_bytes(), 0, 4)?, text.as_bytes().get(4..)?);
    let (day, rest) = day_of(year, rest)?;
    if rest.is_empty() {
        return millis_of(day, 0, 0);
    }
    let (seconds, millis, zone) = time_of(rest.strip_prefix(b"T")?)?;
    millis_of(day, seconds - offset_seconds(zone)?, millis)
}

/// As [`parse`]. Also accepts a time without a zone, which is UTC, a space before the time, and
/// years in the notation of [`write()`].
pub(crate) fn parse_lenient(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (year, rest) = match bytes.first()? {
        sign @ (b'+' | b'-') => {
            let count = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let signed = if *sign == b'-' { -1 } else { 1 };
            let long = (YEAR_DIGITS as usize..=YEAR_DIGITS_MAX).contains(&count);
            if !long {
                return None;
            }
            (signed * digits(bytes, 1, count)?, bytes.get(1 + count..)?)
        }
        _ => (digits(bytes, 0, 4)?, bytes.get(4..)?),
    };
    let (day, rest) = day_of(year, rest)?;
    let Some((b'T' | b' ', rest)) = rest.split_first() else {
        return if rest.is_empty() { millis_of(day, 0, 0) } else { None };
    };
    let (seconds, millis, zone) = time_of(rest)?;
    let offset = if zone.is_empty() { 0 } else { offset_seconds(zone)? };
    millis_of(day, seconds - offset, millis)
}

/// The minimum number of digits of a year with a sign.
const YEAR_DIGITS: u32 = 6;
const YEAR_DIGITS_MAX: usize = 9;

/// Parses `-MM-DD`; returns the number of the day, and the rest.
fn day_of(year: i64, rest: &[u8]) -> Option<(i64, &[u8])> {
    let (month, day) = (digits(rest, 1, 2)?, digits(rest, 4, 2)?);
    if rest[0] != b'-' || rest[3] != b'-' {
        return None;
    }
    let date = Date { year, month, day };
    date.is_valid().then(|| (date.day_number(), &rest[6..]))
}

/// Parses `HH:MM:SS` with an optional fraction; returns seconds and milliseconds, and the rest.
fn time_of(bytes: &[u8]) -> Option<(i64, i64, &[u8])> {
    let (hour, minute, second) = (digits(bytes, 0, 2)?, digits(bytes, 3, 2)?, digits(bytes, 6, 2)?);
    if bytes[2] != b':' || bytes[5] != b':' || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut at = 8;
    let mut millis = 0;
    if bytes.get(at) == Some(&b'.') {
        let count = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        let kept = count.min(3);
        millis = digits(bytes, at + 1, kept)? * 10i64.pow(3 - kept as u32);
        at += 1 + count;
    }
    Some(((hour * 60 + minute) * 60 + second, millis, &bytes[at..]))
}

/// `None` if the result overflows.
fn millis_of(day: i64, seconds: i64, millis: i64) -> Option<i64> {
    let wide = i128::from(day) * i128::from(MILLIS_PER_DAY) + i128::from(seconds * 1000 + millis);
    i64::try_from(wide).ok()
}

fn offset_seconds(zone: &[u8]) -> Option<i64> {
    let sign = match zone.first()? {
        b'Z' if zone.len() == 1 => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let minutes = match zone.len() {
        3 => 0,
        5 => digits(zone, 3, 2)?,
        6 if zone[3] == b':' => digits(zone, 4, 2)?,
        _ => return None,
    };
    let hours = digits(zone, 1, 2)?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60)
}

fn digits(bytes: &[u8], at: usize, count: usize) -> Option<i64> {
    let mut number = 0;
    for &byte in bytes.get(at..at + count)? {
        number = number * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    Some(number)
}

#[cfg(test)]
mod tests;
