//! The filter of an index partition: a blocked Bloom filter.
//!
//! The design follows Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters"
//! (WEA 2007): all bits of a key are in one line of 64 bytes. The line is chosen from the hash's
//! high half by multiplication (Lemire, "Fast Random Integer Generation in an Interval", 2019). The
//! bits are chosen by multiplying the low half by the golden ratio repeatedly, as in RocksDB's
//! `FastLocalBloom`, whose table of probe counts is used as well. With 10 bits per key some 1% of
//! absent keys pass.
//!
//! Layout: lines of 64 bytes, followed by one byte with the number of probes. No filter has length
//! 0.

/// The second hash in a filter for a *rewritten* key, computed from the key's `hash`. A key is rewritten if its newest
/// version in the file is not known to be its only full write.
#[inline]
pub(crate) fn mark_of(hash: u64) -> u64 {
    let mixed = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

/// The bytes of a line.
const LINE: usize = 64;

/// The most probes, and the highest accepted number of probes.
const MAX_PROBES: u8 = 16;

/// The best number of probes for this many bits per key.
fn probes(bits_per_key: u32) -> u8 {
    match bits_per_key {
        0..=2 => 1,
        3 => 2,
        4..=5 => 3,
        6 => 4,
        7..=8 => 5,
        9..=10 => 6,
        11 => 7,
        12..=14 => 8,
        15..=16 => 9,
        17..=18 => 10,
        19..=22 => 11,
        _ => 12,
    }
}

/// Appends a filter of the keys with these hashes; appends nothing if `bits_per_key` is 0.
pub(crate) fn build(hashes: &[u64], bits_per_key: u32, out: &mut Vec<u8>) {
    if bits_per_key == 0 || hashes.is_empty() {
        return;
    }
    let lines = (hashes.len() * bits_per_key as usize).div_ceil(8 * LINE);
    let start = out.len();
    out.resize(start + lines * LINE, 0);
    let probes = probes(bits_per_key);
    for &hash in hashes {
        let at = start + line_of(hash, lines) * LINE;
        let line = &mut out[at..at + LINE];
        for bit in bits(hash, probes) {
            line[bit / 8] |= 1 << (bit % 8);
        }
    }
    out.push(probes);
}

/// True if `filter` has a form that [`build`] makes.
pub(crate) fn is_sound(filter: &[u8]) -> bool {
    match filter.split_last() {
        None => true,
        Some((&probes, lines)) => {
            (1..=MAX_PROBES).contains(&probes) && !lines.is_empty() && lines.len().is_multiple_of(LINE)
        }
    }
}

/// False if [`build`] was given no key with this hash.
#[inline]
pub(crate) fn contains(filter: &[u8], hash: u64) -> bool {
    let Some((&probes, lines)) = filter.split_last() else { return true };
    let at = line_of(hash, lines.len() / LINE) * LINE;
    let Some(line) = lines.get(at..at + LINE).and_then(|line| line.first_chunk::<LINE>()) else { return true };
    bits(hash, probes).all(|bit| line[bit / 8] & (1 << (bit % 8)) != 0)
}

#[inline]
fn line_of(hash: u64, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// The bits of a key within its line, each below 512.
#[inline]
fn bits(hash: u64, probes: u8) -> impl Iterator<Item = usize> {
    let mut state = hash as u32;
    (0..probes).map(move |_| {
        let bit = (state >> 23) as usize;
        state = state.wrapping_mul(0x9e37_79b9);
        bit
    })
}

#[cfg(test)]
mod tests;
