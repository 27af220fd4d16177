//! The date and time of day at a moment in a time zone.

use super::Zone;
use alluvium_document::calendar::Date;

const MILLIS_PER_DAY: i128 = 86_400_000;

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Local {
    pub date: Date,
    /// The number of the day; 0 is 1970-01-01.
    pub day_number: i64,
    /// Milliseconds since midnight.
    pub millis: i64,
    /// Seconds east of UTC.
    pub offset: i64,
}

impl Local {
    /// The local time at a moment, which is in milliseconds since 1970 in UTC.
    pub fn at(millis: i64, zone: &Zone) -> Self {
        let offset = zone.offset_at(millis.div_euclid(1000));
        let local = i128::from(millis) + i128::from(offset) * 1000;
        let day_number = local.div_euclid(MILLIS_PER_DAY) as i64;
        Self { date: Date::of_day(day_number), day_number, millis: local.rem_euclid(MILLIS_PER_DAY) as i64, offset }
    }

    pub fn hour(&self) -> i64 {
        self.millis / 3_600_000
    }

    pub fn minute(&self) -> i64 {
        self.millis / 60_000 % 60
    }

    pub fn second(&self) -> i64 {
        self.millis / 1000 % 60
    }

    pub fn millisecond(&self) -> i64 {
        self.millis % 1000
    }

    /// The seconds since 1970-01-01T00:00:00 of this zone.
    pub fn seconds(&self) -> i64 {
        self.day_number * 86_400 + self.millis / 1000
    }

    /// The day of the week: Monday is 1, Sunday is 7.
    pub fn iso_weekday(&self) -> i64 {
        weekday(self.day_number) + 1
    }

    /// The day of the week: Sunday is 1, Saturday is 7.
    pub fn weekday_from_sunday(&self) -> i64 {
        (weekday(self.day_number) + 1) % 7 + 1
    }

    /// The day of the year, from 1.
    pub fn day_of_year(&self) -> i64 {
        self.day_number - Date { year: self.date.year, month: 1, day: 1 }.day_number() + 1
    }

    /// The week of the year. Week 1 begins with the first Sunday; the days before that Sunday are in week 0.
    pub fn week(&self) -> i64 {
        (self.day_of_year() - self.weekday_from_sunday() + 7) / 7
    }

    /// The year to which the week belongs by ISO 8601: the year of the week's Thursday.
    pub fn iso_year(&self) -> i64 {
        Date::of_day(self.thursday()).year
    }

    /// The week of [`Local::iso_year`], from 1.
    pub fn iso_week(&self) -> i64 {
        let first = Date { year: self.iso_year(), month: 1, day: 1 }.day_number();
        (self.thursday() - first) / 7 + 1
    }

    fn thursday(&self) -> i64 {
        self.day_number - weekday(self.day_number) + 3
    }
}

/// The day of the week: Monday is 0.
pub(super) fn weekday(day_number: i64) -> i64 {
    (day_number + 3).rem_euclid(7)
}

/// The number of a day by ISO 8601. Weeks and weekdays outside their ranges run over into neighbouring years and weeks.
pub(crate) fn iso_day_number(iso_year: i64, week: i64, iso_weekday: i64) -> i64 {
    // January 4 is always in week 1.
    let fourth = Date { year: iso_year, month: 1, day: 4 }.day_number();
    fourth - weekday(fourth) + (week - 1) * 7 + iso_weekday - 1
}
