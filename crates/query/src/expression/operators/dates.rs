//! Operators on dates.

mod arithmetic;
mod parts;
mod text;

use super::prepared::{Argument, Prepared, PreparedOperator, constant};
use super::{Operand, Operator, Outcome, exactly, given, is_nullish, some};
use crate::code::ErrorCode;
use crate::date::{DateError, Unit, Weekday, Zone};
use crate::expression::error::{ExpressionError, fail};
use alluvium_document::Value;
use std::borrow::Cow;

pub(super) const OPERATORS: &[Operator] =
    &[exactly("$tsIncrement", 1, part_of_timestamp), exactly("$tsSecond", 1, part_of_timestamp)];

pub(super) const PREPARED: [&[PreparedOperator]; 3] = [arithmetic::OPERATORS, parts::OPERATORS, text::OPERATORS];

impl From<DateError> for ExpressionError {
    fn from(error: DateError) -> Self {
        Self::new(error.code, error.message)
    }
}

fn part_of_timestamp(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let is_second = operator.name == "$tsSecond";
    match given(values, 0) {
        None => Ok(Some(Value::Null)),
        Some(Value::Timestamp(timestamp)) => {
            some(i64::from(if is_second { timestamp.time } else { timestamp.increment }))
        }
        Some(other) => {
            let code = if is_second { ErrorCode::Location5687301 } else { ErrorCode::Location5687302 };
            fail(code, format!("{} takes a timestamp, this is of type {}", operator.name, other.type_name()))
        }
    }
}

/// The moment of a date, a timestamp or an object id, in milliseconds since 1970; `None` for other values.
pub(super) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::DateTime(millis) => Some(*millis),
        Value::Timestamp(timestamp) => Some(i64::from(timestamp.time) * 1000),
        // The first four bytes are a signed number of seconds since 1970.
        Value::ObjectId([a, b, c, d, ..]) => Some(i64::from(i32::from_be_bytes([*a, *b, *c, *d])) * 1000),
        _ => None,
    }
}

/// The moment of an argument.
fn date(name: &str, value: &Value, code: ErrorCode) -> Result<i64, ExpressionError> {
    match moment(value) {
        Some(millis) => Ok(millis),
        None => {
            let found = value.type_name();
            fail(code, format!("can't convert from BSON type {found} to Date in {name}"))
        }
    }
}

/// An argument that may be absent or null.
enum Optional<'v> {
    Absent,
    Null,
    Given(&'v Value),
}

fn optional<'v>(values: &'v [Operand<'_>], at: usize) -> Optional<'v> {
    match values.get(at).and_then(Option::as_deref) {
        None => Optional::Absent,
        value if is_nullish(value) => Optional::Null,
        Some(value) => Optional::Given(value),
    }
}

/// The zone of an argument: UTC if the argument is absent, `None` if it is null.
fn zone<'p>(
    values: &[Operand<'_>],
    at: usize,
    prepared: Option<&'p Prepared>,
) -> Result<Option<Cow<'p, Zone>>, ExpressionError> {
    if let Some(Prepared::Zone(zone)) = prepared {
        return Ok(Some(Cow::Borrowed(zone)));
    }
    match optional(values, at) {
        Optional::Absent => Ok(Some(Cow::Owned(Zone::Utc))),
        Optional::Null => Ok(None),
        Optional::Given(value) => Ok(Some(Cow::Owned(zone_of(value)?))),
    }
}

fn zone_of(value: &Value) -> Result<Zone, ExpressionError> {
    match value {
        Value::String(name) => Ok(Zone::find(name)?),
        other => {
            fail(ErrorCode::Location40517, format!("the timezone must be text, this is of type {}", other.type_name()))
        }
    }
}

/// Looks up the zone during parsing if it is a constant, and keeps it.
fn prepared_zone(arguments: &[Argument<'_>], at: usize) -> Result<Option<Prepared>, ExpressionError> {
    match constant(arguments, at) {
        Some(value) => Ok(Some(Prepared::Zone(zone_of(value)?))),
        None => Ok(None),
    }
}

fn unit(operator: &PreparedOperator, value: &Value) -> Result<Unit, ExpressionError> {
    let Value::String(name) = value else {
        let found = value.type_name();
        let problem = format!("the unit of {} must be text, this is of type {found}", operator.name);
        return fail(ErrorCode::Location5439013, problem);
    };
    match Unit::find(name) {
        Some(unit) => Ok(unit),
        None => {
            let known = "year, quarter, month, week, day, hour, minute, second, millisecond";
            fail(ErrorCode::FailedToParse, format!("{} has no unit \"{name}\"; there are {known}", operator.name))
        }
    }
}

/// The first day of the week: Sunday if it is absent or not used by the unit, `None` if it is null.
fn first_day(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    at: usize,
    unit: Unit,
) -> Result<Option<Weekday>, ExpressionError> {
    match optional(values, at) {
        _ if unit != Unit::Week => Ok(Some(Weekday::SUNDAY)),
        Optional::Absent => Ok(Some(Weekday::SUNDAY)),
        Optional::Null => Ok(None),
        Optional::Given(value) => weekday(operator, value).map(Some),
    }
}

fn weekday(operator: &PreparedOperator, value: &Value) -> Result<Weekday, ExpressionError> {
    let Value::String(name) = value else {
        let found = value.type_name();
        let problem = format!("the startOfWeek of {} must be text, this is of type {found}", operator.name);
        return fail(ErrorCode::Location5439015, problem);
    };
    match Weekday::find(name) {
        Some(weekday) => Ok(weekday),
        None => {
            let problem =
                format!("the startOfWeek \"{name}\" of {} is not a day, such as monday or mon", operator.name);
            fail(ErrorCode::Location5439016, problem)
        }
    }
}
