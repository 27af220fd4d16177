//! Notations of dates.

use super::cursor::Cursor;
use super::{Part, Time};
use crate::date::local::iso_day_number;
use crate::date::names;
use alluvium_document::calendar::Date;

/// Bytes that may separate the parts of a date with the name of a month.
const BLANKS: &[u8] = b" .\t-";

fn date(year: i64, month: i64, day: i64) -> Option<Part> {
    Some(Part::Date { year: Some(year), month, day })
}

fn of_day_number(number: i64) -> Option<Part> {
    let Date { year, month, day } = Date::of_day(number);
    date(year, month, day)
}

/// `@1215282385`, `@-1.5`: seconds since 1970 in UTC.
pub(super) fn stamp(cursor: &mut Cursor<'_>) -> Option<Part> {
    cursor.one_of(b"@")?;
    let sign = if cursor.one_of(b"-").is_some() { -1 } else { 1 };
    let seconds = sign * cursor.number(1, 15, 0..=i64::MAX)?;
    let mut after = *cursor;
    let mut micros = 0;
    if after.one_of(b".").is_some()
        && let Some(fraction) = after.fraction()
    {
        micros = sign * fraction;
        *cursor = after;
    }
    Some(Part::Stamp { seconds, micros })
}

/// `5/17`, `5/17/2006`, `5/17/06`: month, day, year.
pub(super) fn american(cursor: &mut Cursor<'_>) -> Option<Part> {
    let month = cursor.month()?;
    cursor.one_of(b"/")?;
    let day = cursor.day()?;
    let mut after = *cursor;
    let mut year = None;
    if after.one_of(b"/").is_some() {
        year = after.year();
        if year.is_some() {
            *cursor = after;
        }
    }
    Some(Part::Date { year, month, day })
}

/// `2008/6/30`.
pub(super) fn slashes(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    cursor.one_of(b"/")?;
    let month = cursor.month()?;
    cursor.one_of(b"/")?;
    date(year, month, cursor.day()?)
}

/// `2008-06-30`, `08-6-30`.
pub(super) fn dashes(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.year()?;
    cursor.one_of(b"-")?;
    let month = cursor.month()?;
    cursor.one_of(b"-")?;
    date(year, month, cursor.number(1, 2, 0..=31)?)
}

/// `-0002-07-26`, `+012026-01-01`.
pub(super) fn signed(cursor: &mut Cursor<'_>) -> Option<Part> {
    let sign = if cursor.one_of(b"+-")? == b'-' { -1 } else { 1 };
    let year = sign * cursor.number(4, 9, 0..=i64::MAX)?;
    cursor.one_of(b"-")?;
    let month = cursor.number(2, 2, 0..=12)?;
    cursor.one_of(b"-")?;
    date(year, month, cursor.number(2, 2, 0..=31)?)
}

/// `2008-06`: the first day of the month.
pub(super) fn year_month(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    cursor.one_of(b"-")?;
    date(year, cursor.month()?, 1)
}

/// `30-6-2008`, `22.12.1978`.
pub(super) fn day_month_year(cursor: &mut Cursor<'_>) -> Option<Part> {
    let day = cursor.day()?;
    cursor.one_of(b".\t-")?;
    let month = cursor.month()?;
    cursor.one_of(b".-")?;
    date(cursor.full_year()?, month, day)
}

/// `30.6.78`. The text is read as a time instead if it can be one.
pub(super) fn short_with_dots(cursor: &mut Cursor<'_>) -> Option<Part> {
    let day = cursor.day()?;
    cursor.one_of(b".\t")?;
    let month = cursor.month()?;
    cursor.one_of(b".")?;
    if cursor.ahead().digits(3, 3).is_some() {
        return None;
    }
    cursor.ahead().digits(2, 2)?;
    date(cursor.year()?, month, day)
}

/// `2008.197`, `2008-197`, `2008197`: the day of the year.
pub(super) fn year_and_day(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    cursor.one_of(b".-");
    let day = cursor.number(3, 3, 1..=366)?;
    of_day_number(Date { year, month: 1, day }.day_number())
}

/// `20080630`.
pub(super) fn eight_digits(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    let month = cursor.number(2, 2, 0..=12)?;
    date(year, month, cursor.number(2, 2, 0..=31)?)
}

/// `20080630223807`.
pub(super) fn fourteen_digits(cursor: &mut Cursor<'_>) -> Option<Part> {
    let (year, month) = (cursor.full_year()?, cursor.number(2, 2, 0..=12)?);
    let day = cursor.number(2, 2, 0..=31)?;
    let (hour, minute) = (cursor.number(2, 2, 0..=24)?, cursor.number(2, 2, 0..=59)?);
    let time = Time { hour, minute, second: cursor.number(2, 2, 0..=59)?, micros: 0 };
    Some(Part::DateTime { year: Some(year), month, day, time })
}

/// `2008:08:07 18:11:31`, as in photographs (EXIF).
pub(super) fn photograph(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    cursor.one_of(b":")?;
    let month = cursor.number(2, 2, 0..=12)?;
    cursor.one_of(b":")?;
    let day = cursor.number(2, 2, 0..=31)?;
    cursor.one_of(b" ")?;
    Some(Part::DateTime { year: Some(year), month, day, time: time(cursor)? })
}

/// `10/Oct/2000:13:55:36`, as in the logs of web servers.
pub(super) fn web_log(cursor: &mut Cursor<'_>) -> Option<Part> {
    let day = cursor.day()?;
    cursor.one_of(b"/")?;
    let month = names::month(cursor.word()?)?;
    cursor.one_of(b"/")?;
    let year = cursor.full_year()?;
    cursor.one_of(b":")?;
    Some(Part::DateTime { year: Some(year), month, day, time: time(cursor)? })
}

fn time(cursor: &mut Cursor<'_>) -> Option<Time> {
    let hour = cursor.number(2, 2, 0..=24)?;
    cursor.one_of(b":")?;
    let minute = cursor.number(2, 2, 0..=59)?;
    cursor.one_of(b":")?;
    Some(Time { hour, minute, second: cursor.number(2, 2, 0..=59)?, micros: 0 })
}

/// `2008W28`, `2008-W28-3`.
pub(super) fn iso_week(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    cursor.one_of(b"-");
    cursor.one_of(b"W")?;
    let week = cursor.number(2, 2, 1..=53)?;
    let mut after = *cursor;
    after.one_of(b"-");
    let mut day = 1;
    if let Some(weekday) = after.number(1, 1, 0..=7) {
        day = weekday;
        *cursor = after;
    }
    of_day_number(iso_day_number(year, week, day))
}

/// `30-June 2008`, `22DEC78`, `14 III 1879`, `30 June`.
pub(super) fn day_month_name(cursor: &mut Cursor<'_>) -> Option<Part> {
    let day = cursor.day()?;
    cursor.skip(BLANKS);
    let word = cursor.word()?;
    let mut after = *cursor;
    after.skip(BLANKS);
    let year = after.year();
    if year.is_some() {
        *cursor = after;
    }
    let roman = || year.and_then(|_| names::roman_month(word));
    let month = names::month(word).or_else(roman)?;
    Some(Part::Date { year, month, day })
}

/// `June 2008`: the first day of the month.
pub(super) fn month_name_year(cursor: &mut Cursor<'_>) -> Option<Part> {
    let month = names::month(cursor.word()?)?;
    cursor.skip(BLANKS);
    date(cursor.full_year()?, month, 1)
}

/// `July 1st, 2008`, `April 17, 1790`, `May 9`.
pub(super) fn month_name_day_year(cursor: &mut Cursor<'_>) -> Option<Part> {
    let month = names::month(cursor.word()?)?;
    cursor.skip(BLANKS);
    let day = cursor.number(1, 2, 0..=31)?;
    let before = cursor.len();
    cursor.skip(b",.stndrh\t ");
    let mut after = *cursor;
    let mut year = None;
    if cursor.len() < before {
        year = after.year();
        if year.is_some() {
            *cursor = after;
        }
    }
    Some(Part::Date { year, month, day })
}

/// `Jan 31 12:05:28`: a day without its year, and a time.
pub(super) fn month_name_day_time(cursor: &mut Cursor<'_>) -> Option<Part> {
    let month = names::month(cursor.word()?)?;
    cursor.skip(BLANKS);
    let day = cursor.number(1, 2, 0..=31)?;
    cursor.skip(b",.stndrh\t ");
    Some(Part::DateTime { year: None, month, day, time: time(cursor)? })
}

/// `2008 June`, `2008-VI`: the first day of the month.
pub(super) fn year_month_name(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.full_year()?;
    cursor.skip(BLANKS);
    date(year, names::month(cursor.word()?)?, 1)
}

/// `May-09-78`, `Apr-17-1790`.
pub(super) fn month_name_with_dashes(cursor: &mut Cursor<'_>) -> Option<Part> {
    let month = names::month(cursor.word()?)?;
    cursor.one_of(b"-")?;
    let day = cursor.number(2, 2, 0..=31)?;
    cursor.one_of(b"-")?;
    date(cursor.year()?, month, day)
}

/// `78-Dec-22`, `1814-May-17`.
pub(super) fn year_with_dashes(cursor: &mut Cursor<'_>) -> Option<Part> {
    let year = cursor.year()?;
    cursor.one_of(b"-")?;
    let month = names::month(cursor.word()?)?;
    cursor.one_of(b"-")?;
    date(year, month, cursor.number(2, 2, 0..=31)?)
}

/// `June`.
pub(super) fn month_name(cursor: &mut Cursor<'_>) -> Option<Part> {
    names::month(cursor.word()?).map(Part::Month)
}

/// `1814`: a time without a colon, or a year.
pub(super) fn four_digits(cursor: &mut Cursor<'_>) -> Option<Part> {
    cursor.full_year().map(Part::FourDigits)
}
