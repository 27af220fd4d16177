//! Columns of integers: `value(i) = base + step * i + residual(i)`, all modulo 2^64, with the
//! residuals in fixed width.
//!
//! This is frame-of-reference coding after Goldstein, Ramakrishnan, Shaft, "Compressing Relations
//! and Indexes" (ICDE 1998), with a line instead of the constant. The sequence numbers of a load in
//! key order, and lengths that are all equal, take no bytes.

use alluvium_codec::{DecodeError, varint};

/// The flag in a column's first byte that says that a step follows.
const HAS_STEP: u8 = 0x10;

/// The base, the step and the width of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) base: u64,
    pub(super) step: u64,
    /// The bytes of a residual, 0 to 8.
    pub(super) width: u8,
}

impl Line {
    /// The narrowest column that holds `values`. A step is tried if `sloped`.
    pub(super) fn plan(values: &[u64], sloped: bool) -> Self {
        let flat = Self::fit(values, 0);
        if !sloped || flat.width == 0 || values.len() < 2 {
            return flat;
        }
        let (first, last) = (values[0], values[values.len() - 1]);
        let rise = last.wrapping_sub(first) as i64;
        let step = rise.div_euclid(values.len() as i64 - 1);
        let line = Self::fit(values, step as u64);
        if line.width < flat.width { line } else { flat }
    }

    /// The column with this step. The offsets from the line are compared as signed numbers. This is
    /// right for values below 2^63, and only makes the column wider for larger values.
    fn fit(values: &[u64], step: u64) -> Self {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        let mut line = 0u64;
        for &value in values {
            let offset = value.wrapping_sub(line) as i64;
            low = low.min(offset);
            high = high.max(offset);
            line = line.wrapping_add(step);
        }
        if values.is_empty() {
            return Self::default();
        }
        let range = high.wrapping_sub(low) as u64;
        let width = (64 - range.leading_zeros()).div_ceil(8);
        Self { base: low as u64, step, width: width as u8 }
    }

    /// Appends the encoded header.
    pub(super) fn put_header(&self, out: &mut Vec<u8>) {
        let flag = if self.step == 0 { 0 } else { HAS_STEP };
        out.push(self.width | flag);
        varint::put_i64(out, self.base as i64);
        if self.step != 0 {
            varint::put_i64(out, self.step as i64);
        }
    }

    /// Appends the residuals of the values that the column was planned for.
    pub(super) fn put_data(&self, values: &[u64], out: &mut Vec<u8>) {
        if self.width == 0 {
            return;
        }
        let width = usize::from(self.width);
        let mut line = self.base;
        let mut next = || {
            let at = line;
            line = line.wrapping_add(self.step);
            at
        };
        if width == 1 {
            out.extend(values.iter().map(|&value| value.wrapping_sub(next()) as u8));
            return;
        }
        // Each write writes eight bytes; the next value overwrites the excess.
        let mut at = out.len();
        out.resize(at + values.len() * width + 8, 0);
        for &value in values {
            out[at..at + 8].copy_from_slice(&value.wrapping_sub(next()).to_le_bytes());
            at += width;
        }
        out.truncate(at);
    }

    /// Takes a header from the front of `input`.
    pub(super) fn get_header(input: &mut &[u8]) -> alluvium_codec::Result<Self> {
        let (&first, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
        *input = rest;
        let width = first & !HAS_STEP;
        if width > 8 {
            return Err(DecodeError::Invalid("a column's width"));
        }
        let base = varint::get_i64(input)? as u64;
        let step = if first & HAS_STEP == 0 { 0 } else { varint::get_i64(input)? as u64 };
        Ok(Self { base, step, width })
    }

    /// True if all of `count` values are from 0 to `most` for every possible residual, without an
    /// overflow. False proves nothing.
    pub(super) fn is_within(&self, count: usize, most: u64) -> bool {
        let (base, step) = (i128::from(self.base as i64), i128::from(self.step as i64));
        let last = base + step * (count.max(1) - 1) as i128;
        let highest = base.max(last) + ((1 << (8 * u32::from(self.width))) - 1);
        base.min(last) >= 0 && highest <= i128::from(most)
    }

    /// The value at `index` of the column whose residuals begin at offset `at`.
    #[inline(always)]
    pub(super) fn get(&self, bytes: &[u8], at: usize, index: usize) -> u64 {
        let line = self.base.wrapping_add(self.step.wrapping_mul(index as u64));
        line.wrapping_add(residual(bytes, at, self.width, index))
    }
}

/// A column of lengths or kinds, stored compactly: no step, and numbers of 32 bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Small {
    base: u32,
    width: u8,
    /// The sum of the widths of the previous columns.
    pub(super) before: u8,
}

impl Small {
    /// Makes the compact form of a column; an error if the column does not fit.
    pub(super) fn pack(line: Line, before: u8) -> alluvium_codec::Result<Self> {
        let base = u32::try_from(line.base).ok().filter(|_| line.step == 0 && line.width <= 4);
        let base = base.ok_or(DecodeError::Invalid("a column of lengths or kinds"))?;
        Ok(Self { base, width: line.width, before })
    }

    /// The value at `index` of the column whose residuals begin at offset `at`.
    #[inline(always)]
    pub(super) fn get(&self, bytes: &[u8], at: usize, index: usize) -> u64 {
        u64::from(self.base) + residual(bytes, at, self.width, index)
    }

    /// The value of a column without residuals.
    pub(super) fn constant(&self) -> Option<u64> {
        (self.width == 0).then_some(u64::from(self.base))
    }
}

/// Residual `index`. Eight bytes are read, so eight bytes must follow the column. Returns 0 beyond
/// the end.
#[inline(always)]
fn residual(bytes: &[u8], at: usize, width: u8, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let at = at + index * usize::from(width);
    let word = bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word));
    word & (u64::MAX >> (64 - 8 * u32::from(width)))
}

#[cfg(test)]
mod tests;
