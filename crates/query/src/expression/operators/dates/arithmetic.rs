//! `$dateAdd`, `$dateSubtract`, `$dateDiff`, `$dateTrunc`.

use super::super::numbers::whole;
use super::super::prepared::{Argument, Codes, Form, Prepared, PreparedOperator, constant};
use super::super::{NULL, Operand, Outcome, given};
use super::{Optional, date, first_day, optional, prepared_zone, unit, weekday, zone};
use crate::code::ErrorCode;
use crate::date::{Unit, add, difference, truncate};
use crate::expression::error::{ExpressionError, fail};
use crate::pattern::Patterns;
use crate::work::Work;
use alluvium_document::Value;

pub(super) const OPERATORS: &[PreparedOperator] = &[
    shift("$dateAdd"),
    shift("$dateSubtract"),
    PreparedOperator {
        name: "$dateDiff",
        form: Form::Named,
        names: &["startDate!", "endDate!", "unit!", "timezone?", "startOfWeek?"],
        codes: Codes::new(
            ErrorCode::Location5166301,
            ErrorCode::Location5166302,
            &[ErrorCode::Location5166303, ErrorCode::Location5166304, ErrorCode::Location5166305],
        ),
        prepare: |operator, arguments, _| {
            check_unit(operator, arguments, 2)?;
            prepared_zone(arguments, 3)
        },
        function: diff,
    },
    PreparedOperator {
        name: "$dateTrunc",
        form: Form::Named,
        names: &["date!", "unit!", "binSize?", "timezone?", "startOfWeek?"],
        codes: Codes::new(
            ErrorCode::Location5439007,
            ErrorCode::Location5439008,
            &[ErrorCode::Location5439009, ErrorCode::Location5439010],
        ),
        prepare: |operator, arguments, _| {
            check_unit(operator, arguments, 1)?;
            constant(arguments, 2).map(bin_size).transpose()?;
            prepared_zone(arguments, 3)
        },
        function: trunc,
    },
];

const fn shift(name: &'static str) -> PreparedOperator {
    PreparedOperator {
        name,
        form: Form::Named,
        names: &["startDate!", "unit!", "amount!", "timezone?"],
        codes: Codes::new(ErrorCode::Location5166400, ErrorCode::Location5166401, &[ErrorCode::Location5166402]),
        prepare: check_shift,
        function: shifted,
    }
}

fn check_shift(
    operator: &PreparedOperator,
    arguments: &[Argument<'_>],
    _: &Patterns,
) -> Result<Option<Prepared>, ExpressionError> {
    constant(arguments, 1).map(|value| unit(operator, value)).transpose()?;
    prepared_zone(arguments, 3)
}

/// Checks the unit, and also the first day of the week if the unit uses it. The first day is the fifth argument.
fn check_unit(operator: &PreparedOperator, arguments: &[Argument<'_>], at: usize) -> Result<(), ExpressionError> {
    let known = constant(arguments, at).map(|value| unit(operator, value)).transpose()?;
    if known == Some(Unit::Week)
        && let Some(value) = constant(arguments, 4)
    {
        weekday(operator, value)?;
    }
    Ok(())
}

/// `$dateAdd` and `$dateSubtract`.
fn shifted(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    _: &mut Work<'_>,
) -> Outcome {
    let Some(start) = given(values, 0) else { return NULL };
    let Some(unit_value) = given(values, 1) else { return NULL };
    let unit = unit(operator, unit_value)?;
    let Some(amount_value) = given(values, 2) else { return NULL };
    let Some(zone) = zone(values, 3, prepared)? else { return NULL };
    let millis = date(operator.name, start, ErrorCode::Location5166403)?;
    let Some(amount) = whole(amount_value) else {
        let found = amount_value.type_name();
        let problem = format!("the amount of {} must be a 64-bit integer, this is of type {found}", operator.name);
        return fail(ErrorCode::Location5166405, problem);
    };
    let amount = match operator.name {
        "$dateAdd" => amount,
        _ => match amount.checked_neg() {
            Some(amount) => amount,
            None => return fail(ErrorCode::Location6045000, "$dateSubtract cannot subtract the smallest integer"),
        },
    };
    Ok(Some(Value::DateTime(add(millis, unit, amount, &zone)?)))
}

fn diff(operator: &PreparedOperator, values: &[Operand<'_>], prepared: Option<&Prepared>, _: &mut Work<'_>) -> Outcome {
    let (Some(start), Some(end)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Some(unit_value) = given(values, 2) else { return NULL };
    let unit = unit(operator, unit_value)?;
    let Some(first_day) = first_day(operator, values, 4, unit)? else { return NULL };
    let Some(zone) = zone(values, 3, prepared)? else { return NULL };
    let start = date(operator.name, start, ErrorCode::Location5166307)?;
    let end = date(operator.name, end, ErrorCode::Location5166307)?;
    Ok(Some(Value::Int64(difference(start, end, unit, &zone, first_day)?)))
}

fn trunc(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    prepared: Option<&Prepared>,
    _: &mut Work<'_>,
) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let size = match optional(values, 2) {
        Optional::Absent => 1,
        Optional::Null => return NULL,
        Optional::Given(size) => bin_size(size)?,
    };
    let Some(unit_value) = given(values, 1) else { return NULL };
    let unit = unit(operator, unit_value)?;
    let Some(first_day) = first_day(operator, values, 4, unit)? else { return NULL };
    let Some(zone) = zone(values, 3, prepared)? else { return NULL };
    let millis = date(operator.name, value, ErrorCode::Location5166307)?;
    Ok(Some(Value::DateTime(truncate(millis, unit, size, &zone, first_day)?)))
}

fn bin_size(value: &Value) -> Result<i64, ExpressionError> {
    match whole(value) {
        Some(size @ 1..) => Ok(size),
        Some(size) => {
            let problem = format!("the binSize of $dateTrunc must be greater than 0, this is {size}");
            fail(ErrorCode::Location5439018, problem)
        }
        None => {
            let found = value.type_name();
            let problem = format!("the binSize of $dateTrunc must be a 64-bit integer, this is of type {found}");
            fail(ErrorCode::Location5439017, problem)
        }
    }
}
