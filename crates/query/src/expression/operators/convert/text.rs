//! Values as text, and text as doubles.

use super::{Target, unsupported};
use crate::date::{DateError, ISO_UTC, Zone, to_text};
use crate::expression::ExpressionError;
use alluvium_document::Value;
use alluvium_document::value::Double;

/// The format for the seconds of a timestamp.
const TIMESTAMP: &str = "%b %d %H:%M:%S";

/// A date as text, with milliseconds.
fn date_text(millis: i64) -> Result<String, DateError> {
    to_text(millis, ISO_UTC, &Zone::Utc)
}

/// The value as text. A double has as many digits as needed to read it back.
pub(super) fn text(value: &Value) -> Result<String, ExpressionError> {
    match value {
        Value::String(text) | Value::Symbol(text) => Ok(text.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Int32(n) => Ok(n.to_string()),
        Value::Int64(n) => Ok(n.to_string()),
        Value::Double(Double(x)) => Ok(double_text(*x)),
        Value::Decimal(decimal) => Ok(decimal.to_string()),
        Value::ObjectId(id) => Ok(super::hex(id)),
        Value::DateTime(millis) => Ok(date_text(*millis)?),
        other => unsupported(other, Target::String),
    }
}

/// The value as operators on text convert it: a double with 6 digits, a timestamp without its year, the text of code.
/// `None` for any other type.
pub(in crate::expression::operators) fn short_text(value: &Value) -> Result<Option<String>, ExpressionError> {
    Ok(Some(match value {
        Value::String(text) | Value::Symbol(text) => text.to_string(),
        Value::Double(Double(x)) if x.is_finite() => general(*x, 6),
        Value::Double(Double(x)) => special(*x).to_ascii_lowercase().replace("inity", ""),
        Value::DateTime(millis) => date_text(*millis)?,
        Value::Code(code) if code.scope.is_none() => code.code.clone(),
        Value::Timestamp(timestamp) => {
            let text = to_text(i64::from(timestamp.time) * 1000, TIMESTAMP, &Zone::Utc)?;
            // A leading zero of the day becomes a blank.
            let text = match text.split_once(" 0") {
                Some((month, rest)) if month.len() == 3 => format!("{month}  {rest}"),
                _ => text,
            };
            format!("{text}:{}", timestamp.increment)
        }
        number if number.is_number() => text(number)?,
        _ => return Ok(None),
    }))
}

fn special(x: f64) -> &'static str {
    match x {
        x if x.is_nan() => "NaN",
        x if x < 0.0 => "-Infinity",
        _ => "Infinity",
    }
}

/// A double with the fewest digits from which the same double can be parsed.
fn double_text(x: f64) -> String {
    if !x.is_finite() {
        return special(x).to_owned();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{x:e}");
    let (digits, exponent) = parts(&scientific);
    if (-4..16).contains(&exponent) { format!("{x}") } else { with_exponent(digits, exponent) }
}

/// A finite double with at most this number of significant digits, in the format of C's `%g`.
fn general(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return double_text(x);
    }
    let last = digits.saturating_sub(1);
    let scientific = format!("{x:.last$e}");
    let (mantissa, exponent) = parts(&scientific);
    match usize::try_from(last as i32 - exponent) {
        Ok(places) if exponent >= -4 => without_zeros(&format!("{x:.places$}")).to_owned(),
        _ => with_exponent(without_zeros(mantissa), exponent),
    }
}

/// The digits and the exponent of a number in Rust's scientific notation.
fn parts(scientific: &str) -> (&str, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// The number without trailing zeros in its fraction.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Parses a double in decimal or hexadecimal notation. `None` if the text is not a number, or if the number is too
/// large, or so small that it would round to zero.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let x = parse_hex(hex)?;
        return Some(if text.starts_with('-') { -x } else { x });
    }
    let x: f64 = text.parse().ok()?;
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    let is_word = unsigned.starts_with(|c: char| c.is_ascii_alphabetic());
    ((is_word || x.is_finite()) && (x != 0.0 || is_zero)).then_some(x)
}

/// Parses hexadecimal digits with an optional point and an optional power of two: `1.8p-1`.
fn parse_hex(text: &str) -> Option<f64> {
    let (mantissa, power) = match text.split_once(['p', 'P']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut bits, mut exponent) = (0u64, power);
    for (at, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let is_full = bits >> 60 != 0;
        // If digits that do not fit are not zero, the last bit is set, so that rounding takes them into account.
        bits = if is_full { bits | u64::from(digit != 0) } else { bits << 4 | digit };
        exponent += 4 * (i64::from(is_full) - i64::from(at >= whole.len()));
    }
    let exponent = i32::try_from(exponent.clamp(-3000, 3000)).ok()?;
    // Multiplies in two steps, because the whole power may be out of the range of doubles.
    let half = exponent / 2;
    let x = bits as f64 * 2f64.powi(half) * 2f64.powi(exponent - half);
    (x.is_finite() && (x != 0.0 || bits == 0)).then_some(x)
}

#[cfg(test)]
mod tests;
