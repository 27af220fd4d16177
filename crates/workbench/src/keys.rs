//! Random keys and values, as lines: the data of the key/value benchmarks.
//!
//! A line is the 16-byte key as 32 hexadecimal digits, a tab, the value as hexadecimal digits, and a newline. Therefore
//! a line with a value of `v` bytes has `34 + 2 v` bytes. Lines sort like their keys, and need no escaping.

use crate::comments::random::{Random, mix};

/// The length of a key in bytes.
pub const KEY_BYTES: usize = 16;

/// Generates keys and values: the same arguments give the same results on every run and every
/// machine.
#[derive(Debug, Clone)]
pub struct Generator {
    random: Random,
    seed: u64,
    key_space: u64,
    value_bytes: usize,
}

impl Generator {
    /// A generator that draws uniformly from `key_space` different keys (0 counts as 1). Each drawn key gets a new
    /// random value of `value_bytes` bytes.
    pub fn new(seed: u64, key_space: u64, value_bytes: usize) -> Self {
        Self { random: Random::new(seed), seed, key_space: key_space.max(1), value_bytes }
    }

    /// The key at `place` in the key space (taken modulo its size). Different places have different
    /// keys, and keys of neighbouring places are unrelated.
    pub fn key(&self, place: u64) -> [u8; KEY_BYTES] {
        // `mix` is a bijection, so the first half is different for each place.
        let first = mix((place % self.key_space) ^ self.seed);
        let mut key = [0; KEY_BYTES];
        key[..8].copy_from_slice(&first.to_be_bytes());
        key[8..].copy_from_slice(&mix(first.wrapping_add(0x9e37_79b9_7f4a_7c15)).to_be_bytes());
        key
    }

    /// Draws a key and replaces `value` by a new value for it.
    pub fn next_pair(&mut self, value: &mut Vec<u8>) -> [u8; KEY_BYTES] {
        let place = self.random.below(self.key_space);
        value.clear();
        value.resize(self.value_bytes, 0);
        for chunk in value.chunks_mut(8) {
            let bytes = self.random.next().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
        self.key(place)
    }

    /// Appends the next pair to `out` as a line, and leaves its value in the buffer `value`.
    pub fn write_line(&mut self, value: &mut Vec<u8>, out: &mut Vec<u8>) {
        let key = self.next_pair(value);
        out.reserve(2 * (KEY_BYTES + value.len()) + 2);
        write_hex(&key, out);
        out.push(b'\t');
        write_hex(value, out);
        out.push(b'\n');
    }
}

fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}

#[cfg(test)]
mod tests;
