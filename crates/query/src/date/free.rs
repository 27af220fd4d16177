//! Parses dates from text without a format. The notations are those that MongoDB recognizes; PHP's manual describes
//! them in "Supported Date and Time Formats".
//!
//! A text is a sequence of parts in any order: a date, a time, a time zone, a day of the week, and amounts that are
//! added. At each place the notation that matches the most text is chosen; if several match equally much, the first of
//! them in [`NOTATIONS`].

mod cursor;
mod dates;
mod times;

use super::fields::{Fields, Relative};
use super::{DateError, Zone};
use alluvium_document::json;
use cursor::Cursor;

/// The date of a text in milliseconds since 1970 in UTC. Without an offset in the text, the time is in `zone`.
pub(crate) fn parse(text: &str, zone: &Zone) -> Result<i64, DateError> {
    // By far the most common notation.
    if zone.is_utc()
        && let Some(millis) = json::parse_date(text)
    {
        return Ok(millis);
    }
    let text = text.trim_matches(['\0', '\u{a0}']);
    let mut found = Found::default();
    let mut cursor = Cursor::new(text.as_bytes());
    loop {
        cursor.skip(b" \t\r\n.,");
        if cursor.is_empty() {
            break;
        }
        let Some((part, rest)) = longest(cursor) else {
            let place = text.len() - cursor.len();
            return Err(DateError::text(format!("'{text}' is not a date: byte {place} begins nothing that is known")));
        };
        cursor = rest;
        if !found.add(part) {
            return Err(DateError::text(format!("'{text}' has a date, a time or a time zone twice")));
        }
    }
    found.fields.moment(text, zone)
}

/// The offset of the time zone at the start of a text, in seconds, and the rest of the text.
pub(super) fn offset_at(text: &[u8]) -> Option<(i64, &[u8])> {
    let mut cursor = Cursor::new(text);
    cursor.skip(b" \t");
    match times::zone(&mut cursor)? {
        Part::Zone(offset) => Some((offset, cursor.rest())),
        _ => None,
    }
}

/// A part of a text.
#[derive(Debug, Clone, Copy)]
enum Part {
    Date {
        year: Option<i64>,
        month: i64,
        day: i64,
    },
    Month(i64),
    Time(Time),
    DateTime {
        year: Option<i64>,
        month: i64,
        day: i64,
        time: Time,
    },
    /// Seconds and microseconds since 1970 in UTC.
    Stamp {
        seconds: i64,
        micros: i64,
    },
    /// Seconds east of UTC.
    Zone(i64),
    /// Monday is 0.
    Weekday(i64),
    Add(Relative),
    /// A time of day that replaces any other, and a number of days to add.
    Moment {
        hour: i64,
        days: i64,
    },
    /// A word without an effect.
    Nothing,
    /// A time without a colon. It is the year if the text already has a time.
    FourDigits(i64),
}

#[derive(Debug, Clone, Copy, Default)]
struct Time {
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

type Notation = fn(&mut Cursor<'_>) -> Option<Part>;

const NOTATIONS: [Notation; 30] = [
    times::clock_12,
    times::clock_24,
    times::without_colon,
    times::word,
    times::weekday,
    times::amount,
    dates::stamp,
    dates::american,
    dates::slashes,
    dates::dashes,
    dates::signed,
    dates::year_month,
    dates::day_month_year,
    dates::short_with_dots,
    dates::year_and_day,
    dates::eight_digits,
    dates::fourteen_digits,
    dates::photograph,
    dates::web_log,
    dates::iso_week,
    dates::day_month_name,
    dates::month_name_year,
    dates::month_name_day_year,
    dates::month_name_day_time,
    dates::year_month_name,
    dates::month_name_with_dashes,
    dates::year_with_dashes,
    dates::month_name,
    dates::four_digits,
    times::zone,
];

fn longest(cursor: Cursor<'_>) -> Option<(Part, Cursor<'_>)> {
    let mut best: Option<(Part, Cursor<'_>)> = None;
    for notation in NOTATIONS {
        let mut after = cursor;
        if let Some(part) = notation(&mut after)
            && best.as_ref().is_none_or(|(_, rest)| after.len() < rest.len())
        {
            best = Some((part, after));
        }
    }
    best
}

/// The fields found so far.
#[derive(Default)]
struct Found {
    fields: Fields,
    has_date: bool,
    has_time: bool,
}

impl Found {
    /// Adds a part. Returns false if the text already has a part that must occur only once.
    fn add(&mut self, part: Part) -> bool {
        match part {
            Part::Date { year, month, day } => return self.date(year, month, day),
            Part::Month(month) => {
                self.fields.month = Some(month);
                return !std::mem::replace(&mut self.has_date, true);
            }
            Part::Time(time) => return self.time(time),
            Part::DateTime { year, month, day, time } => {
                return self.date(year, month, day) && self.time(time);
            }
            Part::Stamp { seconds, micros } => {
                self.fields.relative.days = seconds.div_euclid(86_400);
                self.fields.relative.micros = seconds.rem_euclid(86_400) * 1_000_000 + micros;
                return self.date(Some(1970), 1, 1) && self.time(Time::default()) && self.zone(0);
            }
            Part::Zone(offset) => return self.zone(offset),
            Part::Weekday(weekday) => {
                self.reset_time(0);
                self.fields.relative.weekday = Some(weekday);
            }
            Part::Add(more) => {
                let relative = &mut self.fields.relative;
                relative.months = relative.months.saturating_add(more.months);
                relative.days = relative.days.saturating_add(more.days);
                relative.micros = relative.micros.saturating_add(more.micros);
            }
            Part::Moment { hour, days } => {
                self.reset_time(hour);
                self.has_time = hour > 0;
                self.fields.relative.days = self.fields.relative.days.saturating_add(days);
            }
            Part::Nothing => {}
            Part::FourDigits(number) => {
                let (hour, minute) = (number / 100, number % 100);
                if self.has_time || hour > 24 || minute > 59 {
                    self.fields.year = Some(number);
                } else {
                    return self.time(Time { hour, minute, ..Time::default() });
                }
            }
        }
        true
    }

    fn date(&mut self, year: Option<i64>, month: i64, day: i64) -> bool {
        let year = year.or(self.fields.year);
        self.fields = Fields { year, month: Some(month), day: Some(day), ..self.fields };
        !std::mem::replace(&mut self.has_date, true)
    }

    fn time(&mut self, time: Time) -> bool {
        let Time { hour, minute, second, micros } = time;
        self.fields = Fields { hour: Some(hour), minute: Some(minute), second: Some(second), micros, ..self.fields };
        !std::mem::replace(&mut self.has_time, true)
    }

    /// Sets a time of day that a later part may replace.
    fn reset_time(&mut self, hour: i64) {
        self.time(Time { hour, ..Time::default() });
        self.has_time = false;
    }

    fn zone(&mut self, offset: i64) -> bool {
        self.fields.offset.replace(offset).is_none()
    }
}
