//! Authors: a name, an account number and the time of its creation, all functions of the author's
//! rank.

use super::digits;
use super::lexicon::{Class, Lexicon};
use super::random::{Random, mix, permute};

/// The population has `2^RANK_BITS` authors; a full month of 147 million comments includes about 7
/// million of them.
const RANK_BITS: u32 = 23;

/// The first `2^HEAD_BITS` ranks are equally likely, so that no single author writes as much as one comment in fifty.
const HEAD_BITS: u32 = 7;

/// An author, identified by the rank by number of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Author(u32);

impl Author {
    /// Draws an author. Active authors are drawn often, most authors rarely.
    #[inline]
    pub(crate) fn draw(random: &mut Random) -> Self {
        Self(random.zipf(1 << RANK_BITS, HEAD_BITS) as u32)
    }

    /// The author of this rank.
    #[cfg(test)]
    pub(crate) fn from_rank(rank: u32) -> Self {
        Self(rank)
    }

    /// A hash of the author, for traits that never change.
    pub(crate) fn hash(self) -> u64 {
        mix(u64::from(self.0) ^ 0xa076_1d64_78bd_642f)
    }

    /// The position in the order in which accounts were created.
    fn place(self) -> u64 {
        permute(u64::from(self.0), RANK_BITS)
    }

    /// The account's number (in base 36 after `t2_`) and its creation time, in seconds since 1970. The creation time
    /// ascends with the number.
    pub(crate) fn account(self) -> (u64, u64) {
        const YEARS_5_DIGITS: u64 = 3 << (RANK_BITS - 3);
        const YEARS_6_DIGITS: u64 = 7 << (RANK_BITS - 3);
        let place = self.place();
        if place < YEARS_5_DIGITS {
            (1_700_000 + place * 18, 1_134_100_000 + place * 105)
        } else if place < YEARS_6_DIGITS {
            let place = place - YEARS_5_DIGITS;
            (60_500_000 + place * 480, 1_464_500_000 + place * 17)
        } else {
            let place = place - YEARS_6_DIGITS;
            (78_400_000_000 + place * 223_000, 1_535_900_000 + place * 27)
        }
    }

    /// Appends the name. Different ranks have different names: the words and the number encode the
    /// position.
    pub(crate) fn write_name(self, lexicon: &Lexicon, out: &mut Vec<u8>) {
        // The position has 8 bits for the first word, 9 for the second, and 6 for the style that combines them.
        let place = permute(self.place(), RANK_BITS);
        let (first, second, style) = ((place & 255) as usize, (place >> 8 & 511) as usize, place >> 17);
        const PLAIN: u64 = 24;
        let hash = self.hash();
        let (prefix, joint, suffix): (&str, &str, &str) = match style % PLAIN {
            0 => ("", "", ""),
            1 => ("", "_", ""),
            2 => ("", "-", ""),
            3 => ("The", "", ""),
            4 => ("Mr", "", ""),
            5 => ("", "", "_"),
            6 => ("_", "", ""),
            7 => ("", "_", "_"),
            8 => ("The_", "_", ""),
            9 => ("i", "", ""),
            10 => ("", "", "Fan"),
            11 => ("x", "", "x"),
            12 => ("Real", "", ""),
            13 => ("", "", "Guy"),
            14 => ("", "_the_", ""),
            15 => ("", "And", ""),
            16 => ("", "Is", ""),
            17 => ("", "Of", ""),
            18 => ("Dr", "", ""),
            19 => ("", "", "MD"),
            20 => ("Not", "", ""),
            21 => ("", "-", "-"),
            22 => ("Just", "", ""),
            _ => ("", "__", ""),
        };
        out.extend_from_slice(if style < PLAIN { prefix.as_bytes() } else { b"" });
        write_capital(lexicon, out, Class::Adjective, first);
        let plain_joint: &[u8] = if hash & 3 == 0 { b"_" } else { b"" };
        out.extend_from_slice(if style < PLAIN { joint.as_bytes() } else { plain_joint });
        write_capital(lexicon, out, Class::Noun, second);
        if style < PLAIN {
            out.extend_from_slice(suffix.as_bytes());
        } else {
            // The number is `style` modulo 64, so it still identifies the style.
            digits::decimal(out, style + 64 * (hash >> 8 & if hash & 4 == 0 { 31 } else { 0 }));
        }
    }
}

/// Appends a word with its first letter in upper case and without hyphens.
pub(crate) fn write_capital(lexicon: &Lexicon, out: &mut Vec<u8>, class: Class, rank: usize) {
    let start = out.len();
    lexicon.write_word(out, class, rank);
    if let Some(first) = out.get_mut(start) {
        first.make_ascii_uppercase();
    }
}
