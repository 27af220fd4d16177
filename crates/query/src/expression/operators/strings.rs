//! Operators on text.

use super::arrays::bounds;
use super::convert::short_text;
use super::numbers::{to_long, whole_32};
use super::prepared::Codes;
use super::{
    NULL, Operand, Operator, Outcome, Parameters, any_number, exactly, given, making, operator, some, type_of,
};
use crate::code::ErrorCode;
use crate::expression::error::fail;
use crate::expression::{MAX_VALUE_BYTES, TEXT_BYTES_MAX};
use crate::work::Work;
use alluvium_document::Value;
use hashbrown::HashSet;
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    any_number("$concat", concat),
    operator("$indexOfBytes", Parameters::Count(2, 4), index_of),
    operator("$indexOfCP", Parameters::Count(2, 4), index_of),
    operator("$ltrim", Parameters::Named(&["input!", "chars?"], TRIM), trim),
    making("$replaceAll", Parameters::Named(&["input!", "find!", "replacement!"], REPLACE), replace),
    making("$replaceOne", Parameters::Named(&["input!", "find!", "replacement!"], REPLACE), replace),
    operator("$rtrim", Parameters::Named(&["input!", "chars?"], TRIM), trim),
    making("$split", Parameters::Count(2, 2), split),
    exactly("$strLenBytes", 1, length).constant(),
    exactly("$strLenCP", 1, length),
    exactly("$strcasecmp", 2, compare_ignoring_case),
    exactly("$substr", 3, substring_of_bytes),
    exactly("$substrBytes", 3, substring_of_bytes),
    exactly("$substrCP", 3, substring_of_characters),
    exactly("$toLower", 1, change_case),
    exactly("$toUpper", 1, change_case),
    operator("$trim", Parameters::Named(&["input!", "chars?"], TRIM), trim),
];

const TRIM: Codes = Codes::new(ErrorCode::Location50696, ErrorCode::Location50694, &[ErrorCode::Location50695]);

const REPLACE: Codes = Codes::new(
    ErrorCode::Location51751,
    ErrorCode::Location51750,
    &[ErrorCode::Location51749, ErrorCode::Location51748, ErrorCode::Location51747],
);

fn concat(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let mut text = String::new();
    for at in 0..values.len() {
        match given(values, at) {
            None => return NULL,
            Some(Value::String(part)) => text.push_str(part),
            Some(other) => {
                return fail(
                    ErrorCode::Location16702,
                    format!("$concat only supports strings, not {}", other.type_name()),
                );
            }
        }
    }
    some(text)
}

/// The text of a value whose type has a text form. Missing and null are the empty text.
fn text_of(operator: &Operator, value: Option<&Value>) -> Result<String, super::ExpressionError> {
    let Some(value) = value else { return Ok(String::new()) };
    match short_text(value)? {
        Some(text) => Ok(text),
        None => {
            let problem = format!("can't convert from BSON type {} to String in {}", value.type_name(), operator.name);
            fail(ErrorCode::Location16007, problem)
        }
    }
}

fn change_case(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let text = text_of(operator, given(values, 0))?;
    some(if operator.name == "$toLower" { text.to_ascii_lowercase() } else { text.to_ascii_uppercase() })
}

fn compare_ignoring_case(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let side = |at: usize| text_of(operator, given(values, at)).map(|text| text.to_ascii_uppercase());
    some(side(0)?.cmp(&side(1)?) as i32)
}

fn length(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let value = values.first().and_then(Option::as_deref);
    let Some(Value::String(text)) = value else {
        let code = if operator.name == "$strLenCP" { ErrorCode::Location34471 } else { ErrorCode::Location34473 };
        return fail(code, format!("{} requires a string argument, found: {}", operator.name, type_of(value)));
    };
    let len = if operator.name == "$strLenCP" { text.chars().count() } else { text.len() };
    some(i32::try_from(len).unwrap_or(i32::MAX))
}

fn index_of(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(input) = given(values, 0) else { return NULL };
    let by_bytes = operator.name == "$indexOfBytes";
    let Value::String(input) = input else {
        let code = if by_bytes { ErrorCode::Location40091 } else { ErrorCode::Location40093 };
        return fail(
            code,
            format!("{} requires a string as the first argument, found: {}", operator.name, input.type_name()),
        );
    };
    let wanted = values.get(1).and_then(Option::as_deref);
    let Some(Value::String(wanted)) = wanted else {
        let code = if by_bytes { ErrorCode::Location40092 } else { ErrorCode::Location40094 };
        return fail(
            code,
            format!("{} requires a string as the second argument, found: {}", operator.name, type_of(wanted)),
        );
    };
    let len = if by_bytes { input.len() } else { input.chars().count() };
    let (start, end) = bounds(operator.name, values, len, ErrorCode::Location40096, ErrorCode::Location40097)?;
    let found = match (start.cmp(&end), by_bytes) {
        (Ordering::Greater, _) => None,
        (_, true) => byte_place(input, wanted, start, end),
        (_, false) => character_place(input, wanted, start, end),
    };
    some(found.map_or(-1, |at| i32::try_from(at).unwrap_or(i32::MAX)))
}

/// The first byte at or after `start` at which `wanted` begins, within the first `end` bytes.
fn byte_place(input: &str, wanted: &str, start: usize, end: usize) -> Option<usize> {
    if wanted.is_empty() {
        return Some(start);
    }
    // The positions are in bytes. The range is narrowed to boundaries of characters.
    let from = (start..=end).find(|at| input.is_char_boundary(*at))?;
    let to = (from..=end).rev().find(|at| input.is_char_boundary(*at))?;
    input.get(from..to)?.find(wanted).map(|at| from + at)
}

/// The first character at or after `start`, and before `end`, at which `wanted` begins. As in
/// MongoDB, `wanted` may end after `end`.
fn character_place(input: &str, wanted: &str, start: usize, end: usize) -> Option<usize> {
    if input.is_empty() && wanted.is_empty() {
        return Some(0);
    }
    let (from, _) = input.char_indices().nth(start)?;
    let rest = input.get(from..)?;
    let place = start + rest.get(..rest.find(wanted)?)?.chars().count();
    (place < end).then_some(place)
}

fn split(_: &Operator, values: &[Operand<'_>], work: &mut Work<'_>) -> Outcome {
    let (Some(text), Some(separator)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Value::String(text) = text else {
        let found = text.type_name();
        return fail(
            ErrorCode::Location40085,
            format!("$split requires an expression that evaluates to a string as a first argument, found: {found}"),
        );
    };
    let Value::String(separator) = separator else {
        return fail(
            ErrorCode::Location10503900,
            format!(
                "$split requires an expression that evaluates to a string as a second argument, found: {}",
                separator.type_name()
            ),
        );
    };
    if separator.is_empty() {
        return fail(ErrorCode::Location40087, "$split requires a non-empty separator");
    }
    let (mut parts, mut beside) = (Vec::new(), 0);
    for part in text.split(separator.as_str()) {
        // An empty text has at least eight bytes in BSON.
        if parts.len() > MAX_VALUE_BYTES / 8 {
            return fail(ErrorCode::BSONObjectTooLarge, "$split makes more parts than fit a document");
        }
        let part = Value::from(part);
        beside += part.memory() - size_of::<Value>();
        if parts.len() == parts.capacity() {
            // The vector is full: its contents are copied to a vector of twice the capacity.
            work.make(3 * parts.len() * size_of::<Value>() + beside)?;
        }
        parts.push(part);
    }
    Ok(Some(Value::Array(parts)))
}

fn substring_of_bytes(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let text = text_of(operator, given(values, 0))?;
    let number = |at: usize, what: &str, code| match values.get(at).and_then(Option::as_deref) {
        Some(value) if value.is_number() => Ok(value),
        other => {
            fail(code, format!("the {what} of {} must be a number, this is of type {}", operator.name, type_of(other)))
        }
    };
    let start = number(1, "start", ErrorCode::Location16034)?;
    let count = number(2, "length", ErrorCode::Location16035)?;
    let start = to_long(start, &format!("the start of {}", operator.name))?;
    let count = to_long(count, &format!("the length of {}", operator.name))?;
    let Ok(start) = usize::try_from(start) else {
        return fail(ErrorCode::Location50752, format!("the start of {} must be at least 0", operator.name));
    };
    // A negative length means the rest of the text.
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let end = start.saturating_add(count).min(text.len());
    if start >= text.len() {
        return some("");
    }
    if !text.is_char_boundary(start) {
        return fail(
            ErrorCode::Location28656,
            format!("the start of {} is inside a character: use $substrCP", operator.name),
        );
    }
    if !text.is_char_boundary(end) {
        return fail(
            ErrorCode::Location28657,
            format!("the end of {} is inside a character: use $substrCP", operator.name),
        );
    }
    some(&text[start..end.max(start)])
}

fn substring_of_characters(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let text = text_of(operator, given(values, 0))?;
    let number = |at: usize, what: &str, no_number, no_integer| {
        let value = values.get(at).and_then(Option::as_deref);
        match (value, value.and_then(whole_32)) {
            (_, Some(n)) => Ok(n),
            (Some(number), None) if number.is_number() => {
                let problem = format!("$substrCP: {what} cannot be represented as a 32-bit integral value: {number}");
                fail(no_integer, problem)
            }
            _ => {
                let found = type_of(value);
                fail(no_number, format!("$substrCP: {what} must be a numeric type (is BSON type {found})"))
            }
        }
    };
    let start = number(1, "starting index", ErrorCode::Location34450, ErrorCode::Location34451)?;
    let count = number(2, "length", ErrorCode::Location34452, ErrorCode::Location34453)?;
    let Ok(count) = usize::try_from(count) else {
        return fail(ErrorCode::Location34454, "$substrCP: length must be a nonnegative integer.");
    };
    let Ok(start) = usize::try_from(start) else {
        return fail(ErrorCode::Location34455, "$substrCP: the starting index must be nonnegative integer.");
    };
    some(text.chars().skip(start).take(count).collect::<String>())
}

fn trim(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(input) = given(values, 0) else { return NULL };
    let Value::String(input) = input else {
        return fail(
            ErrorCode::Location50699,
            format!("{} requires its input to be a string, got a value of type {}", operator.name, input.type_name()),
        );
    };
    let strip = |is_stripped: &dyn Fn(char) -> bool| match operator.name {
        "$ltrim" => input.trim_start_matches(is_stripped),
        "$rtrim" => input.trim_end_matches(is_stripped),
        _ => input.trim_matches(is_stripped),
    };
    match values.get(1) {
        // The argument is not given.
        None => some(strip(&is_space)),
        Some(None) => some(strip(&is_space)),
        Some(Some(chars)) => match &**chars {
            Value::Null | Value::Undefined => NULL,
            Value::String(chars) => {
                // Both texts may be long, so the characters are in a hash set.
                let chars: HashSet<char> = chars.chars().collect();
                some(strip(&|c| chars.contains(&c)))
            }
            other => fail(
                ErrorCode::Location50700,
                format!("the chars of {} must be text, this is of type {}", operator.name, other.type_name()),
            ),
        },
    }
}

/// The characters that are removed by default.
fn is_space(c: char) -> bool {
    matches!(c, '\0' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
}

fn replace(operator: &Operator, values: &[Operand<'_>], work: &mut Work<'_>) -> Outcome {
    let mut parts = ["", "", ""];
    let errors = [
        ("input", ErrorCode::Location10503904),
        ("find", ErrorCode::Location10503901),
        ("replacement", ErrorCode::Location10503902),
    ];
    let mut is_null = false;
    for ((at, part), (what, code)) in parts.iter_mut().enumerate().zip(errors) {
        match given(values, at) {
            None => is_null = true,
            Some(Value::String(text)) => *part = text,
            Some(other) => {
                return fail(
                    code,
                    format!("the {what} of {} must be text, this is of type {}", operator.name, other.type_name()),
                );
            }
        }
    }
    let [input, find, replacement] = parts;
    if is_null {
        return NULL;
    }
    if operator.name == "$replaceOne" {
        return some(input.replacen(find, replacement, 1));
    }
    // The size is computed before the text is made.
    let growth = input.matches(find).count().saturating_mul(replacement.len().saturating_sub(find.len()));
    if input.len().saturating_add(growth) > TEXT_BYTES_MAX {
        return fail(ErrorCode::Location16493, "$replaceAll makes a text of 16 MiB or more");
    }
    work.make(input.len() + growth)?;
    some(input.replace(find, replacement))
}
