//! Columns of integers: `value(i) = line(i) + base + divisor * u(i)`, all modulo 2^64.
//!
//! The line is 0, or follows an earlier column (a slope in fixed point). `u` is packed in as many
//! bits as its greatest value needs. If the column ascends within the runs of entries whose earlier
//! columns are equal, it may be stored as the gaps within these runs instead, in Rice's code (Rice,
//! Plaunt, "Adaptive Variable-Length Coding", 1971). Frame of reference is that of Goldstein,
//! Ramakrishnan, Shaft, "Compressing Relations and Indexes" (ICDE 1998).

use super::bits::{BitWriter, Unary, number_at, packed_len, unpack};
use alluvium_codec::{DecodeError, Result, varint};

/// The bit of the first byte that says that flags follow; the other bits are the width.
const HAS_FLAGS: u8 = 0x80;
const LINE: u8 = 1;
const DIVISOR: u8 = 2;
const GAPS: u8 = 4;

/// For a column of at most this width, no line is fitted.
const NARROW_BITS: u32 = 3;
/// The approximate cost of a line in the header.
const LINE_HEADER_BITS: u64 = 80;
/// A line is useful if the square of the correlation is at least this.
const CORRELATED: f64 = 0.9;

/// A line through an earlier column: `((x(i) - x(0)) * slope) >> shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slope {
    /// The index of the earlier column.
    of: usize,
    slope: i64,
    shift: u32,
}

impl Slope {
    #[inline(always)]
    fn at(&self, x: i64, first: i64) -> i64 {
        x.wrapping_sub(first).wrapping_mul(self.slope) >> self.shift
    }
}

/// The range of a column after its line is subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    base: i64,
    divisor: u64,
    width: u32,
}

impl Range {
    /// The narrowest range that contains the values.
    fn of(values: &[i64]) -> Self {
        let Some(&first) = values.first() else { return Self { base: 0, divisor: 1, width: 0 } };
        let (low, high) = values.iter().fold((first, first), |(low, high), &v| (low.min(v), high.max(v)));
        let mut divisor = 0;
        for &value in values {
            divisor = gcd(divisor, value.wrapping_sub(low) as u64);
            if divisor == 1 {
                break;
            }
        }
        let divisor = divisor.max(1);
        let span = high.wrapping_sub(low) as u64 / divisor;
        Self { base: low, divisor, width: 64 - span.leading_zeros() }
    }

    #[inline(always)]
    fn unit(&self, value: i64) -> u64 {
        self.units(value.wrapping_sub(self.base) as u64)
    }

    #[inline(always)]
    fn units(&self, offset: u64) -> u64 {
        if self.divisor == 1 { offset } else { offset / self.divisor }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Rice's code for the gaps of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gaps {
    low_bits: u32,
    bits: u64,
}

impl Gaps {
    /// The best code for the gaps of an ascending column; `None` if it does not ascend within its runs.
    fn plan(values: &[i64], heads: &[bool], range: &Range) -> Option<Self> {
        let (mut sum, mut count) = (0u64, 0u64);
        for (pair, _) in values.windows(2).zip(&heads[1..]).filter(|(_, head)| !**head) {
            let gap = pair[1].checked_sub(pair[0]).filter(|gap| *gap >= 0)?;
            sum = sum.checked_add(gap as u64)?;
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let mean = sum / range.divisor / count;
        let middle = 63 - (mean | 1).leading_zeros();
        let fixed = (values.len() as u64 - count) * u64::from(range.width) + 24;
        let of = |low_bits: u32| {
            let pairs = (1..values.len()).filter(|&at| !heads[at]).map(|at| (values[at], values[at - 1]));
            let high: u64 = pairs.map(|(a, b)| range.units(a.wrapping_sub(b) as u64) >> low_bits).sum();
            Self { low_bits, bits: fixed + high.saturating_add(count * u64::from(low_bits + 1)) }
        };
        let best = of(middle);
        let lower = if middle == 0 { best } else { of(middle - 1) };
        Some(if lower.bits < best.bits { lower } else { best })
    }
}

/// Reused buffers of an encoder.
#[derive(Debug, Default)]
pub(super) struct Planner {
    residuals: Vec<i64>,
    tried: Vec<i64>,
}

/// A slope is first searched among this many entries.
const PROBES: usize = 32;

/// The columns that a column may refer to.
pub(super) struct Context<'a> {
    /// The earlier columns.
    pub(super) earlier: &'a [Vec<i64>],
    /// True for entry `i` if it differs from the previous one in an earlier column; `None` if the
    /// column does not ascend.
    pub(super) heads: Option<&'a [bool]>,
}

impl Planner {
    /// Appends a column.
    pub(super) fn put(&mut self, values: &[i64], context: &Context<'_>, out: &mut Vec<u8>) {
        let mut range = Range::of(values);
        let mut bits = u64::from(range.width) * values.len() as u64;
        let mut gaps = None;
        if range.width > 0
            && let Some(heads) = context.heads
        {
            gaps = Gaps::plan(values, heads, &range).filter(|gaps| gaps.bits < bits);
            bits = gaps.map_or(bits, |gaps| gaps.bits);
        }
        let mut line = None;
        if bits > u64::from(NARROW_BITS) * values.len() as u64 {
            for (of, x) in context.earlier.iter().enumerate() {
                let Some(slope) = fit(of, x, values) else { continue };
                for slope in [slope.rounded(), Some(slope)].into_iter().flatten() {
                    self.tried.clear();
                    self.tried.extend(x.iter().zip(values).map(|(&x_i, &v)| v.wrapping_sub(slope.at(x_i, x[0]))));
                    let tried = Range::of(&self.tried);
                    let tried_bits = u64::from(tried.width) * values.len() as u64 + LINE_HEADER_BITS;
                    if tried_bits < bits {
                        std::mem::swap(&mut self.residuals, &mut self.tried);
                        (line, range, gaps, bits) = (Some(slope), tried, None, tried_bits);
                    }
                }
            }
        }
        put_header(line, &range, gaps, out);
        let rest = if line.is_some() { &self.residuals } else { values };
        match (gaps, context.heads) {
            (Some(gaps), Some(heads)) => put_gaps(rest, heads, &range, gaps, out),
            _ if range.width > 0 => {
                let mut writer = BitWriter::new(out);
                rest.iter().for_each(|&value| writer.put(range.unit(value), range.width));
                writer.finish();
            }
            _ => {}
        }
    }
}

fn put_header(line: Option<Slope>, range: &Range, gaps: Option<Gaps>, out: &mut Vec<u8>) {
    let mut flags = 0;
    for (flag, is) in [(LINE, line.is_some()), (DIVISOR, range.divisor != 1), (GAPS, gaps.is_some())] {
        flags |= if is { flag } else { 0 };
    }
    out.push(range.width as u8 | if flags == 0 { 0 } else { HAS_FLAGS });
    if flags != 0 {
        out.push(flags);
    }
    if let Some(line) = line {
        out.extend_from_slice(&[line.of as u8, line.shift as u8]);
        varint::put_i64(out, line.slope);
    }
    if range.divisor != 1 {
        varint::put_u64(out, range.divisor);
    }
    varint::put_i64(out, range.base);
}

fn put_gaps(values: &[i64], heads: &[bool], range: &Range, gaps: Gaps, out: &mut Vec<u8>) {
    let low_mask = (1u64 << gaps.low_bits) - 1;
    let each_gap = |each: &mut dyn FnMut(u64)| {
        for at in (1..values.len()).filter(|&at| !heads[at]) {
            each(range.units(values[at].wrapping_sub(values[at - 1]) as u64));
        }
    };
    let mut high = Vec::new();
    let mut writer = BitWriter::new(&mut high);
    each_gap(&mut |gap| writer.put_unary(gap >> gaps.low_bits));
    writer.finish();
    out.push(gaps.low_bits as u8);
    varint::put_u64(out, high.len() as u64);
    if range.width > 0 {
        let mut writer = BitWriter::new(out);
        for at in (0..values.len()).filter(|&at| at == 0 || heads[at]) {
            writer.put(range.unit(values[at]), range.width);
        }
        writer.finish();
    }
    let mut writer = BitWriter::new(out);
    each_gap(&mut |gap| writer.put(gap & low_mask, gaps.low_bits));
    writer.finish();
    out.extend_from_slice(&high);
}

/// The line through `x` that is nearest to `y`, if it is useful.
fn fit(of: usize, x: &[i64], y: &[i64]) -> Option<Slope> {
    let step = y.len() / PROBES;
    if step > 1 {
        slope_of(x, y, step)?;
    }
    let (slope, reach) = slope_of(x, y, 1)?;
    Slope::new(of, slope, reach)
}

/// The slope by least squares over every `step`th entry, and the greatest distance of these entries
/// from the first one. `None` if they are not near a line.
fn slope_of(x: &[i64], y: &[i64], step: usize) -> Option<(f64, f64)> {
    let (x0, y0) = (*x.first()?, *y.first()?);
    let [mut n, mut sx, mut sy, mut sxx, mut sxy, mut syy, mut reach] = [0.0f64; 7];
    for (&x, &y) in x.iter().zip(y).step_by(step) {
        let (x, y) = (x.wrapping_sub(x0) as f64, y.wrapping_sub(y0) as f64);
        n += 1.0;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        syy += y * y;
        reach = if x.abs() > reach { x.abs() } else { reach };
    }
    let (vx, vy, cov) = (sxx - sx * sx / n, syy - sy * sy / n, sxy - sx * sy / n);
    let correlated = vx > 0.0 && vy > 0.0 && cov * cov >= CORRELATED * vx * vy;
    correlated.then_some((cov / vx, reach))
}

impl Slope {
    /// A slope with some 31 bits, or fewer if the products would not fit.
    fn new(of: usize, slope: f64, reach: f64) -> Option<Self> {
        let (magnitude, room) = (slope.abs(), 61 - reach.max(1.0).log2().ceil() as i32);
        if !(1e-9..1e9).contains(&magnitude) {
            return None;
        }
        let shift = (room.min(31) - magnitude.log2().floor() as i32).clamp(0, 60) as u32;
        Some(Self { of, slope: (slope * (1u64 << shift) as f64) as i64, shift })
    }

    /// The nearest integer slope, unless that is 0.
    fn rounded(self) -> Option<Self> {
        let slope = (self.slope as f64 / (1u64 << self.shift) as f64).round() as i64;
        (slope != 0).then_some(Self { slope, shift: 0, ..self })
    }
}

/// Takes a column of `count` values from the front of `input`, and replaces the content of `out` by
/// the values. Returns true if all values are equal.
///
/// # Errors
/// [`DecodeError`] if the input is not such a column.
pub(super) fn get(
    input: &mut &[u8],
    count: usize,
    earlier: &[Vec<i64>],
    heads: Option<&[bool]>,
    out: &mut Vec<i64>,
) -> Result<bool> {
    let invalid = DecodeError::Invalid("a column of integers");
    let first = take_byte(input)?;
    let width = u32::from(first & !HAS_FLAGS);
    let flags = if first & HAS_FLAGS == 0 { 0 } else { take_byte(input)? };
    if width > 64 || flags & !(LINE | DIVISOR | GAPS) != 0 {
        return Err(invalid);
    }
    let line = match flags & LINE {
        0 => None,
        _ => {
            let (of, shift) = (usize::from(take_byte(input)?), u32::from(take_byte(input)?));
            let slope = varint::get_i64(input)?;
            if of >= earlier.len() || earlier[of].len() != count || shift > 63 {
                return Err(invalid);
            }
            Some(Slope { of, slope, shift })
        }
    };
    let divisor = if flags & DIVISOR == 0 { 1 } else { varint::get_u64(input)? };
    let base = varint::get_i64(input)?;
    out.clear();
    match (flags & GAPS, heads) {
        (0, _) => get_packed(input, count, &Units { width, base, divisor }, out)?,
        (_, Some(heads)) => get_gaps(input, heads, &Units { width, base, divisor }, out)?,
        (_, None) => return Err(invalid),
    }
    if let Some(line) = line {
        let x = &earlier[line.of];
        let first = x.first().copied().unwrap_or(0);
        out.iter_mut().zip(x).for_each(|(value, &x)| *value = value.wrapping_add(line.at(x, first)));
    }
    Ok(width == 0 && flags & (LINE | GAPS) == 0)
}

/// The values of a column from its packed units: `base + unit * divisor`, wrapping.
struct Units {
    /// Bits of a unit.
    width: u32,
    base: i64,
    divisor: u64,
}

fn get_packed(input: &mut &[u8], count: usize, units: &Units, out: &mut Vec<i64>) -> Result<()> {
    let Units { width, base, divisor } = *units;
    if width == 0 {
        out.resize(count, base);
        return Ok(());
    }
    let data = take(input, packed_len(count, width))?;
    out.resize(count, 0);
    match divisor {
        1 => unpack(data, width, out, |unit| base.wrapping_add(unit as i64)),
        _ => unpack(data, width, out, |unit| base.wrapping_add(unit.wrapping_mul(divisor) as i64)),
    }
    Ok(())
}

fn get_gaps(input: &mut &[u8], heads: &[bool], units: &Units, out: &mut Vec<i64>) -> Result<()> {
    let Units { width, base, divisor } = *units;
    let low_bits = u32::from(take_byte(input)?);
    if low_bits > 62 {
        return Err(DecodeError::Invalid("gaps of a column of integers"));
    }
    let high_len = usize::try_from(varint::get_u64(input)?).map_err(|_| DecodeError::Truncated)?;
    let runs = heads.iter().enumerate().filter(|(at, head)| *at == 0 || **head).count();
    let gaps = heads.len() - runs;
    let starts = take(input, packed_len(runs, width))?;
    let lows = take(input, packed_len(gaps, low_bits))?;
    let mut high = Unary::new(take(input, high_len)?);
    let (mut unit, mut run, mut gap) = (0u64, 0, 0);
    out.reserve(heads.len());
    for (at, head) in heads.iter().enumerate() {
        if at == 0 || *head {
            unit = if width == 0 { 0 } else { number_at(starts, run, width) };
            run += 1;
        } else {
            let low = if low_bits == 0 { 0 } else { number_at(lows, gap, low_bits) };
            unit = unit.wrapping_add(high.take().ok_or(DecodeError::Truncated)? << low_bits | low);
            gap += 1;
        }
        out.push(base.wrapping_add(unit.wrapping_mul(divisor) as i64));
    }
    Ok(())
}

fn take_byte(input: &mut &[u8]) -> Result<u8> {
    let (&byte, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(byte)
}

fn take<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (bytes, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
