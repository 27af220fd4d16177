//! Columns of doubles as integers. Each double is an integer divided by a power of ten, which all
//! doubles of the column share, plus a distance: the number of doubles from the nearest one.
//! Computed values often have such a distance.
//!
//! This is the idea of ALP (Afroozeh, Kuffo, Boncz, "ALP: Adaptive Lossless floating-Point
//! Compression", SIGMOD 2023) with a division, which rounds correctly, instead of its two
//! multiplications.

use alluvium_codec::key::{f64_bits, f64_from_bits};

/// The powers of ten that are tried.
pub(super) const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Larger integers take no fewer bits than the doubles themselves.
const MAX_INTEGER: f64 = (1u64 << 51) as f64;

/// The largest distance of a value from the double nearest to the quotient, counted in adjacent doubles (ULPs).
const MAX_BESIDE: i64 = 16;

/// The sign bit of a column of bits. Numbers ascend if this bit is inverted.
pub(super) const SIGN: u64 = 1 << 63;

/// The bits of the double that is `beside` doubles after the quotient of `integer` and a power of
/// ten.
#[inline(always)]
pub(super) fn bits_of(integer: i64, power: usize, beside: i64) -> u64 {
    f64_bits(integer as f64 / POWERS[power]).wrapping_add(beside as u64)
}

#[inline(always)]
fn integer_of(bits: u64, power: usize) -> Option<(i64, i64)> {
    let scaled = f64_from_bits(bits) * POWERS[power];
    if scaled.is_nan() || scaled.abs() >= MAX_INTEGER {
        return None;
    }
    let integer = (scaled + 0.5f64.copysign(scaled)) as i64;
    let beside = bits.wrapping_sub(bits_of(integer, power, 0)) as i64;
    (-MAX_BESIDE..=MAX_BESIDE).contains(&beside).then_some((integer, beside))
}

/// Writes the integers and their distances for the lowest power of ten that restores all bits.
/// Tries `hint` first. Returns `None` if there is no such power.
pub(super) fn scale(column: &[i64], hint: usize, integers: &mut Vec<i64>, beside: &mut Vec<i64>) -> Option<usize> {
    let ends = [column.first(), column.get(column.len() / 2), column.last()];
    let fits_all = |power: usize, integers: &mut Vec<i64>, beside: &mut Vec<i64>| {
        if ends.iter().flatten().any(|&&value| integer_of(value as u64 ^ SIGN, power).is_none()) {
            return false;
        }
        integers.clear();
        beside.clear();
        column.iter().all(|&value| match integer_of(value as u64 ^ SIGN, power) {
            Some((integer, by)) => {
                integers.push(integer);
                beside.push(by);
                true
            }
            None => false,
        })
    };
    if fits_all(hint, integers, beside) && (hint == 0 || integers.iter().any(|integer| integer % 10 != 0)) {
        return Some(hint);
    }
    (0..POWERS.len()).find(|&power| fits_all(power, integers, beside))
}

#[cfg(test)]
mod tests;
