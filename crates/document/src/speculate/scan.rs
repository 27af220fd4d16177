//! Scanning JSON text, eight or more bytes at a time.
//!
//! The tests for bytes inside a word are by Mycroft (1987), as in "Bit Twiddling Hacks". Eight digits are converted
//! together as in simdjson (Lemire, 2018).

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Sets the highest bit of each byte of `word` that ends a run of plain text inside a JSON string: a quote, a backslash
/// or a control character. Exact up to the lowest mark.
#[inline]
fn special_bytes(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64)) | control) & HIGHS
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The end of the plain text that begins at `start`: the position of a quote, a backslash or a control character, or
/// the end of `line`. Also returns whether any byte before this end is not ASCII.
#[inline]
pub(super) fn plain_end(line: &[u8], start: usize) -> (usize, bool) {
    let mut high = 0;
    let mut at = start;
    // `start` may be beyond the end, after a backslash that ends the line.
    let mut rest = line.get(start..).unwrap_or_default();
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let marks = special_bytes(word);
        if marks != 0 {
            let before = marks.trailing_zeros() / 8;
            // Selects the bytes before the mark; none if the mark is in the first byte.
            let mask = (1u64 << (before * 8)) - 1;
            return (at + before as usize, (high | word & mask) & HIGHS != 0);
        }
        high |= word;
        at += 8;
        rest = after;
        if at - start >= 32 {
            return long_end(line, at, high & HIGHS != 0);
        }
    }
    tail_end(line, at, high & HIGHS != 0)
}

fn tail_end(line: &[u8], start: usize, mut is_high: bool) -> (usize, bool) {
    for (at, &byte) in line.iter().enumerate().skip(start) {
        if is_special(byte) {
            return (at, is_high);
        }
        is_high |= byte >= 0x80;
    }
    (line.len(), is_high)
}

/// As [`plain_end`], for long text: 32 bytes at a time, in a form that compilers vectorize.
fn long_end(line: &[u8], start: usize, mut is_high: bool) -> (usize, bool) {
    let mut at = start;
    while let Some((chunk, _)) = line[at..].split_first_chunk::<32>() {
        let (mut special, mut high) = (0u8, 0u8);
        for &byte in chunk {
            special |= u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20);
            high |= byte;
        }
        if special != 0 {
            for word in chunk.as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                let marks = special_bytes(word);
                if marks != 0 {
                    let before = marks.trailing_zeros() / 8;
                    is_high |= word & ((1u64 << (before * 8)) - 1) & HIGHS != 0;
                    return (at + before as usize, is_high);
                }
                is_high |= word & HIGHS != 0;
                at += 8;
            }
        } else {
            is_high |= high >= 0x80;
            at += 32;
        }
    }
    tail_end(line, at, is_high)
}

/// The value and the end of the digits at `start`. Reads at most 18 digits. Without digits the result is (0, start).
#[inline]
pub(super) fn digits(line: &[u8], start: usize) -> (u64, usize) {
    let (value, count) = up_to_eight(line, start);
    if count < 8 {
        return (value, start + count);
    }
    let (more, count) = up_to_eight(line, start + 8);
    let value = value * POWERS[count] + more;
    if count < 8 {
        return (value, start + 8 + count);
    }
    let (mut value, mut at) = (value, start + 16);
    while at < start + 18
        && let Some(digit @ b'0'..=b'9') = line.get(at)
    {
        value = value * 10 + u64::from(digit - b'0');
        at += 1;
    }
    (value, at)
}

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The value and the number of up to eight digits at `start`.
#[inline]
fn up_to_eight(line: &[u8], start: usize) -> (u64, usize) {
    let word = match line.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut chunk = [0; 8];
            let rest = line.get(start..).unwrap_or_default();
            chunk[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(chunk)
        }
    };
    // The result is zero in every byte that is a digit: the high half of a digit is 3, also after 6 is added. Only a
    // byte that is not a digit causes a carry.
    let not_three = |word: u64| (word & (ONES * 0xf0)) ^ (ONES * 0x30);
    let others = not_three(word) | not_three(word.wrapping_add(ONES * 0x06));
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // Shifts the digits to the high end of the word; the bytes before them become zero.
    let word = (word & (ONES * 0x0f)) << (64 - count * 8);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, count)
}

/// The length of the common prefix of `a` and `b`.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let mut same = 0;
    for (a, b) in words {
        let differs = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differs != 0 {
            return same + differs.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

/// The position of the first byte at or after `start` that is not JSON whitespace.
#[inline]
pub(super) fn skip_space(line: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = line.get(at) {
        at += 1;
    }
    at
}

/// Decodes the escape at `at` (a backslash), and appends the result. Returns the position after it,
/// or `None` if it is not an escape of JSON or is half of a surrogate pair.
pub(super) fn unescape(line: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let byte = match line.get(at + 1)? {
        b'"' => b'"',
        b'\\' => b'\\',
        b'/' => b'/',
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'u' => return unescape_unicode(line, at + 2, out),
        _ => return None,
    };
    out.push(byte);
    Some(at + 2)
}

fn unescape_unicode(line: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let first = four_hex(line, at)?;
    let (code, end) = match first {
        0xd800..0xdc00 => {
            if line.get(at + 4..at + 6)? != b"\\u" {
                return None;
            }
            let second = four_hex(line, at + 6)?;
            if !(0xdc00..0xe000).contains(&second) {
                return None;
            }
            (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), at + 10)
        }
        _ => (first, at + 4),
    };
    let mut utf8 = [0; 4];
    out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut utf8).as_bytes());
    Some(end)
}

fn four_hex(line: &[u8], at: usize) -> Option<u32> {
    line.get(at..at + 4)?.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
}

/// The position after the closing quote.
pub(super) fn string_end(line: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at = plain_end(line, at).0;
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => return None,
        }
    }
}

/// The position after a value. Inside an array or map only strings and brackets are examined.
pub(super) fn value_end(line: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    loop {
        match line.get(at)? {
            b'"' => at = string_end(line, at + 1)?,
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            // Inside arrays and maps other bytes are skipped; a scalar ends at the next delimiter.
            _ if depth > 0 => at += 1,
            _ => at += line[at..].iter().position(|byte| matches!(byte, b',' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))?,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests;
