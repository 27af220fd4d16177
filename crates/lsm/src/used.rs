//! The numbers of the definitions that the values of a file use.

/// Numbers from this one upwards are ignored, so that a set stays small even if a damaged value
/// contains a large number.
const END: u32 = 1 << 20;

/// A set of numbers below 2^20.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    words: Vec<u64>,
}

impl Used {
    /// Adds a number; one of 2^20 or more is ignored.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        let at = (number / 64) as usize;
        if at >= self.words.len() {
            if number >= END {
                return;
            }
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (number % 64);
    }

    /// Iterates over the numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |(at, word): (usize, &u64)| {
            let (at, word) = (at as u32 * 64, *word);
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at + bit)
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}

#[cfg(test)]
mod tests;
