//! Numbers of JSON text.

use super::Reason;
use crate::value::{Double, Value};

/// Powers of ten that a double represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Parses a number at the start of `input`; also returns the number of bytes consumed. The text
/// after it is ignored.
///
/// An integer becomes the smaller of int32 and int64 that can represent it, otherwise a decimal. A
/// number with a fraction or an exponent becomes a double if the double's shortest text has the
/// same value, otherwise a decimal with the same digits.
///
/// # Errors
/// The offset and the kind of the error.
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
    // 18 digits cannot overflow 64 bits.
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

/// Skips digits from `at`, adding them to `magnitude`, which is meaningful only for up to 19
/// digits.
#[inline]
fn take_digits(bytes: &[u8], mut at: usize, magnitude: &mut u64) -> usize {
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        *magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// Parses a number with a fraction or exponent, which starts at `at`.
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
        // Avoids the fast path below if the digits may have overflowed.
        let power = if at - start > 9 { i64::MAX / 2 } else { power as i64 };
        exponent = if sign == Some(b'-') { -power } else { power };
    }
    exponent -= fraction as i64;
    let text = &input[..at];
    // With at most 15 digits and an exact power of ten, one correctly rounded operation suffices. Two different numbers
    // with at most 15 digits are never the same double, so the shortest text of the double has this value.
    if digits <= 15 && exponent.unsigned_abs() <= 22 {
        let power = POWERS[exponent.unsigned_abs() as usize];
        let x = if exponent < 0 { magnitude as f64 / power } else { magnitude as f64 * power };
        return Ok((Value::Double(Double(if negative { -x } else { x })), at));
    }
    classify(text).map(|value| (value, at))
}

/// As [`parse_fraction`], without the fast path.
fn classify(text: &str) -> Result<Value, (usize, Reason)> {
    let x: f64 = text.parse().map_err(|_| (0, Reason::InvalidNumber))?;
    if x == 0.0 {
        let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
        return if mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')) { decimal(text) } else { Ok(x.into()) };
    }
    if x.is_finite() && same_magnitude(text, zmij::Buffer::new().format_finite(x)) {
        return Ok(x.into());
    }
    decimal(text)
}

/// True if two nonzero numbers are equal except for their signs.
fn same_magnitude(a: &str, b: &str) -> bool {
    let (Some((a_place, a_digits)), Some((b_place, b_digits))) = (magnitude(a), magnitude(b)) else { return false };
    // After the digits of the shorter number, the longer one may only have zeros.
    let longer = a_digits.clone().count().max(b_digits.clone().count());
    let padded = std::iter::repeat(b'0');
    a_place == b_place && a_digits.chain(padded.clone()).zip(b_digits.chain(padded)).take(longer).all(|(a, b)| a == b)
}

/// The exponent of the first nonzero digit, and the digits beginning with it. `None` if there is
/// none, or if the exponent is beyond the range of doubles.
fn magnitude(text: &str) -> Option<(i64, impl Iterator<Item = u8> + Clone)> {
    let text = text.as_bytes();
    let exponent_at = text.iter().position(|b| matches!(b, b'e' | b'E'));
    let mantissa = &text[..exponent_at.unwrap_or(text.len())];
    let exponent: i64 = match exponent_at {
        Some(at) => std::str::from_utf8(&text[at + 1..]).ok()?.parse().ok()?,
        None => 0,
    };
    let point = mantissa.iter().position(|&b| b == b'.').unwrap_or(mantissa.len());
    let first = mantissa.iter().position(|b| matches!(b, b'1'..=b'9'))?;
    let before = point.saturating_sub(first + 1) as i64;
    let behind = first.saturating_sub(point) as i64;
    let place = (before - behind).checked_add(exponent)?;
    Some((place, mantissa[first..].iter().copied().filter(u8::is_ascii_digit)))
}

fn decimal(text: &str) -> Result<Value, (usize, Reason)> {
    text.parse().map(Value::Decimal).map_err(|_| (0, Reason::NumberOutOfRange))
}

#[cfg(test)]
mod tests;
