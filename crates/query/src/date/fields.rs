//! The fields of a date that a text contains, and the moment that follows from them.

use super::local::{iso_day_number, weekday};
use super::{DateError, Zone};
use alluvium_document::calendar::Date;

/// The parts of a date that a text has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fields {
    pub year: Option<i64>,
    pub month: Option<i64>,
    pub day: Option<i64>,
    pub iso_year: Option<i64>,
    pub iso_week: Option<i64>,
    /// Monday is 1.
    pub iso_weekday: Option<i64>,
    pub hour: Option<i64>,
    pub minute: Option<i64>,
    pub second: Option<i64>,
    pub micros: i64,
    /// Seconds east of UTC.
    pub offset: Option<i64>,
    pub relative: Relative,
}

/// The amounts that are added to the date.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Relative {
    pub months: i64,
    pub days: i64,
    pub micros: i64,
    /// The date moves forward to this day of the week, unless it already falls on that day. Monday is 0.
    pub weekday: Option<i64>,
}

impl Fields {
    /// The moment, in milliseconds since 1970 in UTC. Without an offset in the text, the time is in `zone`.
    ///
    /// The argument `text` is used only in messages.
    pub fn moment(self, text: &str, zone: &Zone) -> Result<i64, DateError> {
        let date = self.date(text)?;
        let time = [self.hour, self.minute, self.second].map(|part| part.unwrap_or(0));
        let [hour, minute, second] = time;
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..60).contains(&second) {
            return Err(DateError::text(format!("'{text}' has no valid time")));
        }
        if self.offset.is_some() && !zone.is_utc() {
            let message = format!("'{text}' has a time zone of its own: leave out the timezone, or that in the text");
            return Err(DateError::text(message));
        }
        let day_number = self.relative.day(date);
        let local = i128::from(day_number) * 86_400 + i128::from((hour * 60 + minute) * 60 + second);
        let micros = i128::from(self.micros) + i128::from(self.relative.micros);
        let local = local + micros.div_euclid(1_000_000);
        let utc = match self.offset {
            Some(offset) => local - i128::from(offset),
            None => zone.to_utc(local, false),
        };
        let millis = utc * 1000 + micros.rem_euclid(1_000_000) / 1000;
        i64::try_from(millis).map_err(|_| DateError::text(format!("the date '{text}' overflows")))
    }

    fn date(&self, text: &str) -> Result<Date, DateError> {
        let is_iso = self.iso_year.or(self.iso_week).or(self.iso_weekday).is_some();
        let is_natural = self.year.or(self.month).or(self.day).is_some();
        if is_iso && is_natural {
            return Err(DateError::text(format!("'{text}' has parts of an ISO week date and of a date by months")));
        }
        if is_iso {
            let Some(year) = self.iso_year else {
                return Err(DateError::text(format!("'{text}' has no ISO year")));
            };
            let day = iso_day_number(year, self.iso_week.unwrap_or(1), self.iso_weekday.unwrap_or(1));
            return Ok(Date::of_day(day));
        }
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(DateError::text(format!("'{text}' has no complete date: it needs year, month and day")));
        };
        let date = Date { year, month, day };
        if !date.is_valid() {
            return Err(DateError::text(format!("'{text}' is not a date of the calendar")));
        }
        Ok(date)
    }
}

impl Relative {
    fn day(&self, date: Date) -> i64 {
        let month = date.year * 12 + date.month - 1 + self.months;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        // A day after the end of the month runs over into the next month.
        let first = Date { year, month, day: 1 }.day_number();
        let day = first + date.day - 1 + self.days;
        match self.weekday {
            None => day,
            Some(wanted) => day + (wanted - weekday(day)).rem_euclid(7),
        }
    }
}
