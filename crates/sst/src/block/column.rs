//! Columns of integers: `value(i) = base + step * i + residual(i)`, all modulo 2^64, with the
//! residuals in fixed width.
//!
//! This is frame-of-reference coding after Goldstein, Ramakrishnan, Shaft, "Compressing
//! Relations and Indexes" (ICDE 1998), with a line in place of the constant. Sequence numbers
//! of a load in key order, and lengths that are all the same, take no bytes at all.

use codec::{DecodeError, varint};

/// How a column is laid out. `Default` is a column of zeros.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Column {
    base: u64,
    step: u64,
    mask: u64,
    /// Where the residuals begin in the block's bytes.
    at: u32,
    width: u32,
}

/// The flag in a column's first byte that says that a step follows.
const HAS_STEP: u8 = 0x10;

impl Column {
    /// The narrowest column that holds `values`. A step is tried if `sloped`.
    pub(super) fn plan(values: &[u64], sloped: bool) -> Self {
        let flat = Self::fit(values, 0);
        if !sloped || flat.width == 0 || values.len() < 2 {
            return flat;
        }
        let (first, last) = (values[0], values[values.len() - 1]);
        let rise = last.wrapping_sub(first) as i64;
        let step = (rise as i128).div_euclid(values.len() as i128 - 1) as i64;
        let line = Self::fit(values, step as u64);
        if line.width < flat.width { line } else { flat }
    }

    /// The column with this step. The offsets from the line are compared as signed numbers,
    /// which is right for values below 2^63 and merely wider beyond.
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
        Self { base: low as u64, step, mask: mask(width), at: 0, width }
    }

    /// The bytes of the residuals of `entries` values.
    pub(super) fn data_len(&self, entries: usize) -> usize {
        self.width as usize * entries
    }

    /// Appends the header.
    pub(super) fn put_header(&self, out: &mut Vec<u8>) {
        let flag = if self.step == 0 { 0 } else { HAS_STEP };
        out.push(self.width as u8 | flag);
        varint::put_i64(out, self.base as i64);
        if self.step != 0 {
            varint::put_i64(out, self.step as i64);
        }
    }

    /// Appends the residuals of the values that the column was planned for.
    pub(super) fn put_data(&self, values: &[u64], out: &mut Vec<u8>) {
        let width = self.width as usize;
        if width == 0 {
            return;
        }
        let mut line = self.base;
        for &value in values {
            let residual = value.wrapping_sub(line).to_le_bytes();
            out.extend_from_slice(&residual[..width]);
            line = line.wrapping_add(self.step);
        }
    }

    /// Takes a header from the front of `input`.
    pub(super) fn get_header(input: &mut &[u8]) -> codec::Result<Self> {
        let (&first, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
        *input = rest;
        let width = u32::from(first & !HAS_STEP);
        if width > 8 {
            return Err(DecodeError::Invalid("a column's width"));
        }
        let base = varint::get_i64(input)? as u64;
        let step = if first & HAS_STEP == 0 { 0 } else { varint::get_i64(input)? as u64 };
        Ok(Self { base, step, mask: mask(width), at: 0, width })
    }

    /// Says where the residuals of `entries` values begin, and returns where they end.
    pub(super) fn place(&mut self, at: usize, entries: usize) -> codec::Result<usize> {
        self.at = u32::try_from(at).map_err(|_| DecodeError::Truncated)?;
        Ok(at + self.data_len(entries))
    }

    /// The value at `index`, which must be below the number of entries.
    #[inline(always)]
    pub(super) fn get(&self, bytes: &[u8], index: usize) -> u64 {
        let at = self.at as usize + index * self.width as usize;
        let residual = bytes.get(at..at + 8).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b));
        self.base.wrapping_add(self.step.wrapping_mul(index as u64)).wrapping_add(residual & self.mask)
    }

    /// The one value of a column that holds no residuals and has no step.
    #[inline]
    pub(super) fn constant(&self) -> Option<u64> {
        (self.width == 0 && self.step == 0).then_some(self.base)
    }
}

fn mask(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - 8 * width) }
}

#[cfg(test)]
mod tests;
