//! Packed numbers of the same number of bits each, low bits first.

/// Appends numbers to a buffer; [`BitWriter::finish`] fills the last byte with zeros.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    held: u128,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, held: 0, count: 0 }
    }

    /// Appends the low `width` bits, at most 64, of a value whose other bits are 0.
    #[inline]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        self.held |= u128::from(value) << self.count;
        self.count += width;
        if self.count >= 64 {
            self.out.extend_from_slice(&(self.held as u64).to_le_bytes());
            self.held >>= 64;
            self.count -= 64;
        }
    }

    /// Appends `zeros` zeros and a one.
    #[inline]
    pub(super) fn put_unary(&mut self, zeros: u64) {
        for _ in 0..zeros / 32 {
            self.put(0, 32);
        }
        let rest = (zeros % 32) as u32;
        self.put(1 << rest, rest + 1);
    }

    pub(super) fn finish(self) {
        let bytes = self.held.to_le_bytes();
        self.out.extend_from_slice(&bytes[..self.count.div_ceil(8) as usize]);
    }
}

/// The bytes that `count` numbers of `width` bits take.
pub(super) fn packed_len(count: usize, width: u32) -> usize {
    (count as u64 * u64::from(width)).div_ceil(8) as usize
}

/// Eight bytes at `at`, with zeros after the end.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let rest = bytes.get(at..).unwrap_or(&[]);
            rest.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
        }
    }
}

/// Number `index` of numbers with `width` bits each, 1 to 64. Bits after the end are 0.
#[inline(always)]
pub(super) fn number_at(bytes: &[u8], index: usize, width: u32) -> u64 {
    let at = index as u64 * u64::from(width);
    let (byte, shift) = ((at / 8) as usize, (at % 8) as u32);
    let mut value = word(bytes, byte) >> shift;
    if width + shift > 64 {
        value |= u64::from(bytes.get(byte + 8).copied().unwrap_or(0)) << (64 - shift);
    }
    value & u64::MAX >> (64 - width)
}

/// Fills `out` with the results of `each` for numbers of `width` bits, 1 to 64.
#[inline(always)]
pub(super) fn unpack(bytes: &[u8], width: u32, out: &mut [i64], each: impl Fn(u64) -> i64) {
    if width > 57 {
        out.iter_mut().enumerate().for_each(|(index, out)| *out = each(number_at(bytes, index, width)));
        return;
    }
    // One word contains any such number. Numbers near the end may need bytes beyond it, and are
    // read separately.
    let mask = u64::MAX >> (64 - width);
    let easy = (bytes.len().saturating_sub(8) * 8 / width as usize).min(out.len());
    let (front, back) = out.split_at_mut(easy);
    let mut at = 0;
    for out in front {
        let word = bytes.get(at / 8..at / 8 + 8).and_then(|bytes| bytes.first_chunk());
        *out = each(word.map_or(0, |word| u64::from_le_bytes(*word)) >> (at % 8) & mask);
        at += width as usize;
    }
    for (index, out) in back.iter_mut().enumerate() {
        *out = each(number_at(bytes, easy + index, width));
    }
}

/// Reads the output of [`BitWriter::put_unary`].
pub(super) struct Unary<'a> {
    bytes: &'a [u8],
    /// The unread bits of the word that ends at `next`.
    held: u64,
    /// The number of unread bits.
    left: u32,
    next: usize,
}

impl<'a> Unary<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, held: 0, left: 0, next: 0 }
    }

    /// Returns the number of zeros before the next one bit; `None` if there is no further one bit.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<u64> {
        let mut zeros = 0;
        while self.held == 0 {
            zeros += u64::from(self.left);
            if self.next >= self.bytes.len() {
                return None;
            }
            self.held = word(self.bytes, self.next);
            (self.left, self.next) = (64, self.next + 8);
        }
        let run = self.held.trailing_zeros();
        self.held = (self.held >> run) >> 1;
        self.left -= run + 1;
        Some(zeros + u64::from(run))
    }
}

#[cfg(test)]
mod tests;
