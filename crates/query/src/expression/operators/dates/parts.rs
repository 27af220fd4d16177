//! `$year` and the like, `$dateToParts`, `$dateFromParts`.

use super::super::numbers::{int_or_long, whole};
use super::super::prepared::{Argument, Codes, Form, Prepared, PreparedOperator};
use super::super::{NULL, Operand, Outcome, given};
use super::{Optional, date, optional, prepared_zone, zone};
use crate::code::ErrorCode;
use crate::date::{Local, iso_day_number};
use crate::expression::error::{ExpressionError, fail};
use crate::pattern::Patterns;
use crate::work::Work;
use alluvium_document::calendar::Date;
use alluvium_document::{Map, Value};

pub(super) const OPERATORS: &[PreparedOperator] = &[
    part("$dayOfMonth"),
    part("$dayOfWeek"),
    part("$dayOfYear"),
    part("$hour"),
    part("$isoDayOfWeek"),
    part("$isoWeek"),
    part("$isoWeekYear"),
    part("$millisecond"),
    part("$minute"),
    part("$month"),
    part("$second"),
    part("$week"),
    part("$year"),
    PreparedOperator {
        name: "$dateToParts",
        form: Form::Named,
        names: &["date!", "timezone?", "iso8601?"],
        codes: Codes::new(ErrorCode::Location40524, ErrorCode::Location40520, &[ErrorCode::Location40522]),
        prepare: |_, arguments, _| prepared_zone(arguments, 1),
        function: to_parts,
    },
    PreparedOperator {
        name: "$dateFromParts",
        form: Form::Named,
        names: &[
            "year?",
            "isoWeekYear?",
            "month?",
            "day?",
            "isoWeek?",
            "isoDayOfWeek?",
            "hour?",
            "minute?",
            "second?",
            "millisecond?",
            "timezone?",
        ],
        codes: Codes::new(ErrorCode::Location40519, ErrorCode::Location40518, &[]),
        prepare: check_parts,
        function: from_parts,
    },
];

const fn part(name: &'static str) -> PreparedOperator {
    PreparedOperator {
        name,
        form: Form::NamedOrFirst,
        names: &["date!", "timezone?"],
        codes: Codes::new(ErrorCode::Location40536, ErrorCode::Location40535, &[ErrorCode::Location40539]),
        prepare: |_, arguments, _| prepared_zone(arguments, 1),
        function: part_of,
    }
}

fn part_of(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    _: &mut Work<'_>,
) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let millis = date(operator.name, value, ErrorCode::Location16006)?;
    let Some(zone) = zone(values, 1, prepared)? else { return NULL };
    let local = Local::at(millis, &zone);
    let number = match operator.name {
        "$dayOfMonth" => local.date.day,
        "$dayOfWeek" => local.weekday_from_sunday(),
        "$dayOfYear" => local.day_of_year(),
        "$hour" => local.hour(),
        "$isoDayOfWeek" => local.iso_weekday(),
        "$isoWeek" => local.iso_week(),
        "$isoWeekYear" => return Ok(Some(Value::Int64(local.iso_year()))),
        "$millisecond" => local.millisecond(),
        "$minute" => local.minute(),
        "$month" => local.date.month,
        "$second" => local.second(),
        "$week" => local.week(),
        _ => local.date.year,
    };
    Ok(Some(int_or_long(number)))
}

fn to_parts(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    _: &mut Work<'_>,
) -> Outcome {
    let Some(zone) = zone(values, 1, prepared)? else { return NULL };
    let is_iso = match optional(values, 2) {
        Optional::Absent => false,
        Optional::Null => return NULL,
        Optional::Given(Value::Bool(is_iso)) => *is_iso,
        Optional::Given(other) => {
            let problem = format!("the iso8601 of $dateToParts must be true or false, this is {}", other.type_name());
            return fail(ErrorCode::Location40521, problem);
        }
    };
    let Some(value) = given(values, 0) else { return NULL };
    let local = Local::at(date(operator.name, value, ErrorCode::Location16006)?, &zone);
    let day = if is_iso {
        [("isoWeekYear", local.iso_year()), ("isoWeek", local.iso_week()), ("isoDayOfWeek", local.iso_weekday())]
    } else {
        [("year", local.date.year), ("month", local.date.month), ("day", local.date.day)]
    };
    let time = [
        ("hour", local.hour()),
        ("minute", local.minute()),
        ("second", local.second()),
        ("millisecond", local.millisecond()),
    ];
    let mut parts = Map::with_capacity(7);
    for (name, number) in day.into_iter().chain(time) {
        parts.push(name, int_or_long(number));
    }
    Ok(Some(Value::Map(parts)))
}

/// Checks the combination of arguments of `$dateFromParts`.
fn check_parts(
    _: &PreparedOperator,
    arguments: &[Argument<'_>],
    _: &Patterns,
) -> Result<Option<Prepared>, ExpressionError> {
    let has = |at: usize| !matches!(arguments.get(at), None | Some(Argument::Absent));
    if has(0) && (has(1) || has(4) || has(5)) {
        return fail(ErrorCode::Location40489, "$dateFromParts has year and parts of an ISO week date");
    }
    if has(1) && (has(2) || has(3)) {
        return fail(ErrorCode::Location40525, "$dateFromParts has isoWeekYear and month or day");
    }
    if !has(0) && !has(1) {
        return fail(ErrorCode::Location40516, "$dateFromParts needs the argument 'year' or 'isoWeekYear'");
    }
    prepared_zone(arguments, 10)
}

fn from_parts(_: &PreparedOperator, values: &[Operand<'_>], prepared: Option<&Prepared>, _: &mut Work<'_>) -> Outcome {
    let Some(hour) = small(values, 6, "hour", 0)? else { return NULL };
    let Some(minute) = small(values, 7, "minute", 0)? else { return NULL };
    let Some(second) = number(values, 8, "second", 0)? else { return NULL };
    let Some(millis) = number(values, 9, "millisecond", 0)? else { return NULL };
    let Some(zone) = zone(values, 10, prepared)? else { return NULL };
    let is_iso = matches!(optional(values, 0), Optional::Absent);
    let day_number = if is_iso {
        let Some(year) = number(values, 1, "isoWeekYear", 1970)? else { return NULL };
        let Some(week) = small(values, 4, "isoWeek", 1)? else { return NULL };
        let Some(weekday) = small(values, 5, "isoDayOfWeek", 1)? else { return NULL };
        check_year(year, "isoWeekYear", ErrorCode::Location31095)?;
        iso_day_number(year, week, weekday)
    } else {
        let Some(year) = number(values, 0, "year", 1970)? else { return NULL };
        let Some(month) = small(values, 2, "month", 1)? else { return NULL };
        let Some(day) = small(values, 3, "day", 1)? else { return NULL };
        check_year(year, "year", ErrorCode::Location40523)?;
        // Months beyond December run over into the following years.
        let months = year * 12 + month - 1;
        Date { year: months.div_euclid(12), month: months.rem_euclid(12) + 1, day }.day_number()
    };
    let overflow = || fail(ErrorCode::DurationOverflow, "the date of $dateFromParts overflows");
    // As in MongoDB, which computes with microseconds here.
    if millis.checked_mul(1000).is_none() {
        return overflow();
    }
    let time = i128::from((hour * 60 + minute) * 60) + i128::from(second) + i128::from(millis.div_euclid(1000));
    let utc = zone.to_utc(i128::from(day_number) * 86_400 + time, false);
    match i64::try_from(utc * 1000 + i128::from(millis.rem_euclid(1000))) {
        Ok(millis) => Ok(Some(Value::DateTime(millis))),
        Err(_) => overflow(),
    }
}

fn check_year(year: i64, name: &str, code: ErrorCode) -> Result<(), ExpressionError> {
    match year {
        1..=9999 => Ok(()),
        _ => fail(code, format!("the {name} of $dateFromParts must be from 1 to 9999, this is {year}")),
    }
}

/// A number; `None` if it is null.
fn number(values: &[Operand<'_>], at: usize, name: &str, default: i64) -> Result<Option<i64>, ExpressionError> {
    match optional(values, at) {
        Optional::Absent => Ok(Some(default)),
        Optional::Null => Ok(None),
        Optional::Given(value) => match whole(value) {
            Some(number) => Ok(Some(number)),
            None => {
                let found = value.type_name();
                let problem = format!("the {name} of $dateFromParts must be a 64-bit integer, this is of type {found}");
                fail(ErrorCode::Location40515, problem)
            }
        },
    }
}

/// A number of 16 bits; `None` if it is null.
fn small(values: &[Operand<'_>], at: usize, name: &str, default: i64) -> Result<Option<i64>, ExpressionError> {
    match number(values, at, name, default)? {
        Some(number) if i16::try_from(number).is_err() => {
            let problem = format!("the {name} of $dateFromParts must be from -32768 to 32767, this is {number}");
            fail(ErrorCode::Location31034, problem)
        }
        number => Ok(number),
    }
}
