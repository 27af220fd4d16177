//! Numbers as text, appended without allocation.

/// Appends `value` in decimal.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, value: u64) {
    let mut text = [0u8; 20];
    let mut start = text.len();
    let mut rest = value;
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[start..]);
}

/// Appends `value` in decimal, with a minus sign when it is below zero.
pub(crate) fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    decimal(out, value.unsigned_abs());
}

/// Appends `value` in base 36 with lower-case letters: the site's form of an id.
#[inline]
pub(crate) fn base36(out: &mut Vec<u8>, value: u64) {
    let mut text = [0u8; 13];
    let mut start = text.len();
    let mut rest = value;
    loop {
        start -= 1;
        text[start] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[start..]);
}

/// Appends the lowest `count` hexadecimal digits of `value`, lower case.
pub(crate) fn hex(out: &mut Vec<u8>, value: u64, count: u32) {
    for position in (0..count).rev() {
        out.push(b"0123456789abcdef"[(value >> (4 * position)) as usize & 15]);
    }
}

/// Appends the identifier (8-4-4-4-12 hexadecimal digits) that belongs to `value`.
pub(crate) fn uuid(out: &mut Vec<u8>, value: u64) {
    let other = super::random::mix(value);
    hex(out, value >> 32, 8);
    out.push(b'-');
    hex(out, value >> 16, 4);
    out.extend_from_slice(b"-11e");
    hex(out, value, 1);
    out.extend_from_slice(b"-b");
    hex(out, value >> 4, 3);
    out.push(b'-');
    hex(out, other, 12);
}
