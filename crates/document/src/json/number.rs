//! Numbers of JSON text.

use super::Reason;
use crate::decimal::Decimal;
use crate::value::{Double, Value};

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Reads a number at the front of `input` and gives it with the number of bytes taken. What follows it is not looked at.
///
/// An integer becomes the smaller of int32 and int64 that holds it, else a decimal. With a fraction or an exponent it
/// becomes a double if the double's shortest text has the same value, else a decimal of the same digits.
///
/// # Errors
/// The offset and the reason.
#[inline]
pub fn parse_number(input: &str) -> Result<(Value, usize), (usize, Reason)> {
    let bytes = input.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let mut magnitude = 0u64;
    let whole = take_digits(bytes, start, &mut magnitude);
    if whole == start {
        return Err((start, if start == bytes.len() { Reason::UnexpectedEnd } else { Reason::InvalidNumber }));
    }
    if bytes[start] == b'0' && whole > start + 1 {
        return Err((start, Reason::InvalidNumber));
    }
    if matches!(bytes.get(whole), Some(b'.' | b'e' | b'E')) {
        return parse_fraction(input, negative, whole, magnitude);
    }
    // 18 digits cannot overflow.
    if whole - start <= 18 {
        let n = if negative { -(magnitude as i64) } else { magnitude as i64 };
        return Ok((i32::try_from(n).map_or(Value::Int64(n), Value::Int32), whole));
    }
    let value = match input[..whole].parse::<i64>() {
        Ok(n) => Value::Int64(n),
        Err(_) => decimal(&input[..whole])?,
    };
    Ok((value, whole))
}

/// Passes over digits from `at`, adding them to `magnitude`, which means something up to 19 digits only.
#[inline]
fn take_digits(bytes: &[u8], mut at: usize, magnitude: &mut u64) -> usize {
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        *magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// A number with a fraction or exponent, which starts at `at`.
fn parse_fraction(
    input: &str,
    negative: bool,
    whole: usize,
    mut magnitude: u64,
) -> Result<(Value, usize), (usize, Reason)> {
    let bytes = input.as_bytes();
    let wanted_digit =
        |at: usize| Err((at, if at == bytes.len() { Reason::UnexpectedEnd } else { Reason::InvalidNumber }));
    let mut at = whole;
    let mut fraction = 0;
    if bytes[at] == b'.' {
        let end = take_digits(bytes, at + 1, &mut magnitude);
        fraction = end - (at + 1);
        if fraction == 0 {
            return wanted_digit(end);
        }
        at = end;
    }
    let digits = whole - usize::from(negative) + fraction;
    let mut exponent = 0i64;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = bytes.get(at + 1).copied();
        let start = at + 1 + usize::from(matches!(sign, Some(b'+' | b'-')));
        let mut power = 0;
        at = take_digits(bytes, start, &mut power);
        if at == start {
            return wanted_digit(at);
        }
        // Out of the fast path below if there are so many digits that they may have overflowed.
        let power = if at - start > 9 { i64::MAX / 2 } else { power as i64 };
        exponent = if sign == Some(b'-') { -power } else { power };
    }
    exponent -= fraction as i64;
    let text = &input[..at];
    // Up to 15 digits and exact powers: one correctly rounded operation, and two numbers of so few digits are
    // never the same double, so that its shortest text has this value.
    if digits <= 15 && exponent.unsigned_abs() <= 22 {
        let power = POWERS[exponent.unsigned_abs() as usize];
        let x = if exponent < 0 { magnitude as f64 / power } else { magnitude as f64 * power };
        return Ok((Value::Double(Double(if negative { -x } else { x })), at));
    }
    classify(text).map(|value| (value, at))
}

/// As above without the fast path.
#[cold]
fn classify(text: &str) -> Result<Value, (usize, Reason)> {
    let x: f64 = text.parse().map_err(|_| (0, Reason::InvalidNumber))?;
    if x == 0.0 {
        let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
        return if mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')) { decimal(text) } else { Ok(x.into()) };
    }
    let exact = decimal(text)?;
    match &exact {
        Value::Decimal(d) if x.is_finite() && Decimal::from_f64(x).compare(d).is_eq() => Ok(x.into()),
        _ => Ok(exact),
    }
}

fn decimal(text: &str) -> Result<Value, (usize, Reason)> {
    text.parse().map(Value::Decimal).map_err(|_| (0, Reason::NumberOutOfRange))
}

#[cfg(test)]
mod tests;
