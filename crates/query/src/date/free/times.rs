//! Notations of times, time zones and amounts.

use super::cursor::Cursor;
use super::{Part, Time};
use crate::date::fields::Relative;
use crate::date::names;

/// `4 am`, `4:08 am`, `4:08:37 am`, `4:08:37.12 am`.
pub(super) fn clock_12(cursor: &mut Cursor<'_>) -> Option<Part> {
    let mut time = Time { hour: cursor.number(1, 2, 1..=12)?, ..Time::default() };
    if cursor.one_of(b":.").is_some() {
        time.minute = cursor.number(1, 2, 0..=59)?;
        if cursor.one_of(b":.").is_some() {
            time.second = cursor.number(1, 2, 0..=59)?;
            if cursor.one_of(b":.").is_some() {
                time.micros = cursor.fraction()?;
            }
        }
    }
    cursor.skip(b" \t");
    let is_afternoon = matches!(cursor.one_of(b"aApP")?, b'p' | b'P');
    cursor.one_of(b".");
    cursor.one_of(b"mM")?;
    cursor.one_of(b".");
    // "am" must not be the beginning of a word.
    if cursor.ahead().word().is_some() {
        return None;
    }
    time.hour = time.hour % 12 + if is_afternoon { 12 } else { 0 };
    Some(Part::Time(time))
}

/// `04:08`, `04.08.37`, `T04:08:37.81412`.
pub(super) fn clock_24(cursor: &mut Cursor<'_>) -> Option<Part> {
    cursor.one_of(b"tT");
    let mut time = Time { hour: cursor.number(1, 2, 0..=24)?, ..Time::default() };
    cursor.one_of(b":.")?;
    time.minute = cursor.number(1, 2, 0..=59)?;
    let mut after = *cursor;
    if after.one_of(b":.").is_some()
        && let Some(second) = after.number(1, 2, 0..=60)
    {
        time.second = second;
        *cursor = after;
        if after.one_of(b".,:").is_some()
            && let Some(micros) = after.fraction()
        {
            time.micros = micros;
            *cursor = after;
        }
    }
    Some(Part::Time(time))
}

/// `T04`, `T0408`, `T040837`, `040837`.
pub(super) fn without_colon(cursor: &mut Cursor<'_>) -> Option<Part> {
    let has_t = cursor.one_of(b"tT").is_some();
    let (number, digits) = cursor.digits(2, 6)?;
    let (hour, minute, second) = match digits {
        2 if has_t => (number, 0, 0),
        4 if has_t => (number / 100, number % 100, 0),
        6 => (number / 10_000, number / 100 % 100, number % 100),
        _ => return None,
    };
    let is_time = hour <= 24 && minute <= 59 && second <= 60;
    is_time.then_some(Part::Time(Time { hour, minute, second, micros: 0 }))
}

/// `noon`, `midnight`, `today`, `now`, `tomorrow`, `yesterday`.
pub(super) fn word(cursor: &mut Cursor<'_>) -> Option<Part> {
    match &*cursor.word()?.to_ascii_lowercase() {
        "now" => Some(Part::Nothing),
        "noon" => Some(Part::Moment { hour: 12, days: 0 }),
        "midnight" | "today" => Some(Part::Moment { hour: 0, days: 0 }),
        "tomorrow" => Some(Part::Moment { hour: 0, days: 1 }),
        "yesterday" => Some(Part::Moment { hour: 0, days: -1 }),
        _ => None,
    }
}

/// `Monday`, `Mon`.
pub(super) fn weekday(cursor: &mut Cursor<'_>) -> Option<Part> {
    names::weekday(&cursor.word()?.to_ascii_lowercase()).map(Part::Weekday)
}

/// `+1 day`, `-2 weeks`, `3 hours`.
pub(super) fn amount(cursor: &mut Cursor<'_>) -> Option<Part> {
    let mut sign = 1;
    while let Some(byte) = cursor.one_of(b"+-") {
        if byte == b'-' {
            sign = -sign;
        }
    }
    cursor.skip(b" \t");
    let number = sign * cursor.number(1, 9, 0..=i64::MAX)?;
    cursor.skip(b" \t");
    let unit = cursor.word()?.to_ascii_lowercase();
    let micros = |micros: i64| Relative { micros: number.saturating_mul(micros), ..Relative::default() };
    let days = |days: i64| Relative { days: number * days, ..Relative::default() };
    let months = |months: i64| Relative { months: number * months, ..Relative::default() };
    let relative = match &*unit {
        "usec" | "usecs" | "microsecond" | "microseconds" => micros(1),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => micros(1000),
        "sec" | "secs" | "second" | "seconds" => micros(1_000_000),
        "min" | "mins" | "minute" | "minutes" => micros(60_000_000),
        "hour" | "hours" => micros(3_600_000_000),
        "day" | "days" => days(1),
        "week" | "weeks" => days(7),
        "fortnight" | "fortnights" => days(14),
        "month" | "months" => months(1),
        "year" | "years" => months(12),
        _ => return None,
    };
    Some(Part::Add(relative))
}

/// `+01:00`, `-0330`, `GMT+2`, `CEST`, `(PDT)`, `Z`. Names of the time zone database are not recognized.
pub(super) fn zone(cursor: &mut Cursor<'_>) -> Option<Part> {
    let mut offset = *cursor;
    offset.literal("gmt");
    if let Some(seconds) = signed_offset(&mut offset) {
        *cursor = offset;
        return Some(Part::Zone(seconds));
    }
    let in_brackets = cursor.one_of(b"(").is_some();
    let seconds = names::zone_offset(cursor.word()?)?;
    if cursor.one_of(b"/_").is_some() {
        return None;
    }
    if in_brackets {
        cursor.one_of(b")")?;
    }
    Some(Part::Zone(seconds))
}

fn signed_offset(cursor: &mut Cursor<'_>) -> Option<i64> {
    let sign = if cursor.one_of(b"+-")? == b'-' { -1 } else { 1 };
    let (number, digits) = cursor.digits(1, 6)?;
    let seconds = match digits {
        1 | 2 => {
            let mut seconds = number * 3600;
            for unit in [60, 1] {
                let mut after = *cursor;
                if after.one_of(b":").is_none() {
                    break;
                }
                seconds += after.number(1, 2, 0..=59)? * unit;
                *cursor = after;
            }
            seconds
        }
        3 | 4 => number / 100 * 3600 + number % 100 * 60,
        6 => number / 10_000 * 3600 + number / 100 % 100 * 60 + number % 100,
        _ => return None,
    };
    Some(sign * seconds)
}
