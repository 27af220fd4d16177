//! `$dateToString`, `$dateFromString`.

use super::super::prepared::{Argument, Codes, Form, Prepared, PreparedOperator, constant};
use super::super::{NULL, Operand, Outcome, given, some};
use super::{Optional, date, optional, prepared_zone, zone};
use crate::code::ErrorCode;
use crate::date::{Direction, ISO_LOCAL, ISO_UTC, check_format, parse, parse_by, to_text};
use crate::expression::error::{ExpressionError, fail};
use crate::pattern::Patterns;
use crate::work::Work;
use alluvium_document::Value;

pub(super) const OPERATORS: &[PreparedOperator] = &[
    PreparedOperator {
        name: "$dateFromString",
        form: Form::Named,
        names: &["dateString!", "format?", "timezone?", "onError~", "onNull~"],
        codes: Codes::new(ErrorCode::Location40540, ErrorCode::Location40541, &[ErrorCode::Location40542]),
        prepare: check,
        function: from_string,
    },
    PreparedOperator {
        name: "$dateToString",
        form: Form::Named,
        names: &["date!", "format?", "timezone?", "onNull~"],
        codes: Codes::new(ErrorCode::Location18629, ErrorCode::Location18534, &[ErrorCode::Location18628]),
        prepare: check,
        function: to_string,
    },
];

fn check(
    operator: &PreparedOperator,
    arguments: &[Argument<'_>],
    _: &Patterns,
) -> Result<Option<Prepared>, ExpressionError> {
    if let Some(value) = constant(arguments, 1) {
        format_of(operator, value)?;
    }
    prepared_zone(arguments, 2)
}

fn format_of<'v>(operator: &PreparedOperator, value: &'v Value) -> Result<&'v str, ExpressionError> {
    let (direction, code) = match operator.name {
        "$dateToString" => (Direction::ToText, ErrorCode::Location18533),
        _ => (Direction::FromText, ErrorCode::Location40684),
    };
    let Value::String(format) = value else {
        let found = value.type_name();
        return fail(code, format!("the format of {} must be text, this is of type {found}", operator.name));
    };
    check_format(format, direction)?;
    Ok(format)
}

/// The format of the text. It is checked before all other arguments.
enum Format<'v> {
    Default,
    Null,
    Given(&'v str),
}

fn format<'v>(operator: &PreparedOperator, values: &'v [Operand<'_>]) -> Result<Format<'v>, ExpressionError> {
    match optional(values, 1) {
        Optional::Absent => Ok(Format::Default),
        Optional::Null => Ok(Format::Null),
        Optional::Given(value) => Ok(Format::Given(format_of(operator, value)?)),
    }
}

fn to_string(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    _: &mut Work<'_>,
) -> Outcome {
    let format = format(operator, values)?;
    let zone = zone(values, 2, prepared)?;
    let (Some(value), Some(zone)) = (given(values, 0), zone) else { return NULL };
    let format = match format {
        Format::Null => return NULL,
        Format::Given(format) => format,
        Format::Default if zone.is_utc() => ISO_UTC,
        Format::Default => ISO_LOCAL,
    };
    some(to_text(date(operator.name, value, ErrorCode::Location16006)?, format, &zone)?)
}

fn from_string(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    _: &mut Work<'_>,
) -> Outcome {
    let format = format(operator, values)?;
    let zone = zone(values, 2, prepared)?;
    let Some(value) = given(values, 0) else { return NULL };
    let Value::String(text) = value else {
        let problem = format!("the dateString of $dateFromString must be text, this is of type {}", value.type_name());
        return fail(ErrorCode::ConversionFailure, problem);
    };
    let Some(zone) = zone else { return NULL };
    let millis = match format {
        Format::Null => return NULL,
        Format::Default => parse(text, &zone)?,
        Format::Given(format) => parse_by(text, format, &zone)?,
    };
    Ok(Some(Value::DateTime(millis)))
}
