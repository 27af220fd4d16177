//! The content of strings: finds special bytes, and decodes escapes.

use super::Reason;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The position of the first byte that is a quote, a backslash or below 0x20; the length if no such byte exists.
///
/// Tests eight bytes at a time with the well-known test for a zero byte in a word. The test may wrongly flag a byte
/// after the first hit, but never one before it, so the lowest flag is correct.
#[inline]
pub fn find_special(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (LOW * b'"' as u64);
        let backslash = word ^ (LOW * b'\\' as u64);
        let flags = (word.wrapping_sub(LOW * 0x20) & !word)
            | (quote.wrapping_sub(LOW) & !quote)
            | (backslash.wrapping_sub(LOW) & !backslash);
        if flags & HIGH != 0 {
            return at + (flags & HIGH).trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let tail = bytes[at..].iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\');
    tail.map_or(bytes.len(), |offset| at + offset)
}

/// Decodes the escape at the start of `input`, which begins after the backslash, and appends the
/// result. Returns the number of bytes consumed.
///
/// # Errors
/// The number of bytes after the backslash, and the kind of the error.
pub(super) fn unescape(input: &[u8], out: &mut String) -> Result<usize, (usize, Reason)> {
    let plain = match input.first() {
        None => return Err((0, Reason::UnexpectedEnd)),
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescape_unicode(input, out),
        Some(_) => return Err((0, Reason::InvalidEscape)),
    };
    out.push(plain);
    Ok(1)
}

/// `uXXXX`, or `uXXXX\uXXXX` for a surrogate pair.
fn unescape_unicode(input: &[u8], out: &mut String) -> Result<usize, (usize, Reason)> {
    let first = hex4(input, 1)?;
    let (scalar, taken) = match first {
        0xd800..=0xdbff => {
            if input.get(5..7) != Some(b"\\u") {
                return Err((0, Reason::LoneSurrogate));
            }
            match hex4(input, 7)? {
                second @ 0xdc00..=0xdfff => (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 11),
                _ => return Err((0, Reason::LoneSurrogate)),
            }
        }
        _ => (first, 5),
    };
    out.push(char::from_u32(scalar).ok_or((0, Reason::LoneSurrogate))?);
    Ok(taken)
}

fn hex4(input: &[u8], at: usize) -> Result<u32, (usize, Reason)> {
    let mut value = 0;
    for offset in at..at + 4 {
        let digit = match input.get(offset) {
            Some(&byte) => char::from(byte).to_digit(16).ok_or((offset, Reason::InvalidEscape))?,
            None => return Err((offset, Reason::UnexpectedEnd)),
        };
        value = value << 4 | digit;
    }
    Ok(value)
}
