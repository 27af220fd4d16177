//! Bodies: English-like text with the lengths of real comments.

use super::lexicon::{Group, Lexicon};
use super::random::Random;

/// Pairs of a cumulative share, in 65,536ths, and the length in bytes at that share; lengths between them are
/// interpolated linearly. They are fitted so that whole lines have the same quantiles as a real month of such comments.
const LENGTHS: [(u32, u32); 16] = [
    (0, 2),
    (3_000, 8),
    (8_000, 20),
    (16_384, 42),
    (24_000, 62),
    (32_768, 94),
    (42_000, 138),
    (49_152, 194),
    (55_000, 288),
    (58_982, 410),
    (62_259, 620),
    (64_225, 880),
    (64_880, 1_150),
    (65_300, 2_150),
    (65_470, 3_850),
    (65_535, 9_900),
];

/// Draws the lengths of bodies. They follow a Weyl sequence (multiples of the golden ratio modulo 1), so that even a
/// short run has the same quantiles as a long run.
#[derive(Debug)]
pub(crate) struct Lengths(u64);

impl Lengths {
    /// A sequence that starts at a value determined by `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(super::random::mix(seed))
    }

    /// The next length in bytes.
    #[inline]
    pub(crate) fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let share = (self.0 >> 48) as u32;
        let above = LENGTHS.partition_point(|(at, _)| *at <= share).clamp(1, LENGTHS.len() - 1);
        let ((low, short), (high, long)) = (LENGTHS[above - 1], LENGTHS[above]);
        // 16 more bits interpolate between two shares, so that the tail is smooth.
        let fine = ((self.0 >> 32) as u32 & 0xffff) as u64;
        let along = (u64::from(share.min(high) - low) << 16) + fine;
        short as usize + ((u64::from(long - short) * along) / (u64::from(high - low) << 16)) as usize
    }
}

/// The writing style of an author.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// True if sentences begin without capitals.
    pub(crate) is_casual: bool,
    /// True if bodies have paragraphs, quotations and links.
    pub(crate) is_elaborate: bool,
}

/// Appends a body of about `length` bytes, already escaped for JSON.
pub(crate) fn write(lexicon: &Lexicon, random: &mut Random, out: &mut Vec<u8>, length: usize, manner: Manner) {
    let end = out.len() + length;
    if length < 24 {
        write_sentence_of(lexicon, random, out, Group::Shorts, manner);
        return;
    }
    loop {
        write_sentence(lexicon, random, out, end, manner);
        if out.len() + 12 >= end {
            break;
        }
        if manner.is_elaborate {
            lexicon.write_phrase(out, random, Group::Gaps);
        } else {
            out.push(b' ');
        }
    }
}

/// Appends a note that a comment was edited.
pub(crate) fn write_edit(lexicon: &Lexicon, random: &mut Random, out: &mut Vec<u8>) {
    lexicon.write_phrase(out, random, Group::Edits);
}

fn write_sentence_of(lexicon: &Lexicon, random: &mut Random, out: &mut Vec<u8>, group: Group, manner: Manner) {
    let start = out.len();
    lexicon.write_phrase(out, random, group);
    if manner.is_casual {
        out[start..].make_ascii_lowercase();
    } else if let Some(first) = out.get_mut(start) {
        first.make_ascii_uppercase();
    }
}

#[inline]
fn write_sentence(lexicon: &Lexicon, random: &mut Random, out: &mut Vec<u8>, end: usize, manner: Manner) {
    let start = out.len();
    let dice = random.next();
    if dice & 3 < 2 && start + 40 < end {
        lexicon.write_phrase(out, random, Group::Openers);
        out.push(b' ');
    }
    lexicon.write_phrase(out, random, Group::Clauses);
    let mut more = dice >> 8;
    while more & 3 < 2 && out.len() + 20 < end {
        lexicon.write_phrase(out, random, Group::Joins);
        lexicon.write_phrase(out, random, Group::Clauses);
        more >>= 2;
    }
    if dice >> 40 & 15 == 0 {
        lexicon.write_phrase(out, random, Group::Quotes);
    }
    if manner.is_elaborate && dice >> 44 & 31 == 0 && out.len() + 20 < end {
        lexicon.write_phrase(out, random, Group::Links);
    }
    if manner.is_casual {
        // Only the case of the first byte changes.
        if let Some(first) = out.get_mut(start) {
            first.make_ascii_lowercase();
        }
    } else if let Some(first) = out.get_mut(start) {
        first.make_ascii_uppercase();
    }
    if dice >> 52 & 3 == 0 {
        lexicon.write_phrase(out, random, Group::Closers);
    } else {
        out.push(b'.');
    }
}

/// Appends a flood of `count` emoji, twelve bytes each once escaped: the longest comments of a month.
#[cold]
pub(crate) fn write_flood(out: &mut Vec<u8>, count: u64) {
    for _ in 0..count {
        out.extend_from_slice(b"\\ud83d\\ude02");
    }
}
