//! Finding blocks where no index tells of them.

use super::{Walker, role_of};
use crate::Dictionary;
use crate::stored::{self, Handle, Role};
use codec::checksum32;
use env::Result;

/// So many bytes are hashed for one part of a file at most, some seconds' worth.
const MOST_TRIALS: u64 = 32 << 30;
/// A trailer without raw length: tag and checksum.
const TRAILER: usize = 5;
/// Where nobody knows that a block begins, it is tried up to so many bytes.
const SEARCH: usize = 8 << 10;

/// The bytes of a part of a file, and what trying has cost.
struct Trial<'a> {
    bytes: &'a [u8],
    base: u64,
    number: u64,
    /// Bytes that may still be hashed.
    left: u64,
    /// The length of the longest block so far.
    longest: usize,
}

impl Trial<'_> {
    /// The length and role of a whole block of at most `most` bytes at `at`.
    fn block_at(&mut self, at: usize, most: usize) -> Option<(usize, Role)> {
        let rest = &self.bytes[at..];
        let seed = stored::seed(self.number, self.base + at as u64);
        for len in TRAILER + 1..=most.min(rest.len()) {
            let tag = rest[len - TRAILER];
            let Some(role) = role_of(tag).filter(|_| is_plausible(&rest[..len], tag)) else { continue };
            let Some(left) = self.left.checked_sub(len as u64) else {
                self.left = 0;
                return None;
            };
            self.left = left;
            let (covered, sum) = rest[..len].split_at(len - 4);
            if checksum32(covered, seed).to_le_bytes() == sum {
                return Some((len, role));
            }
        }
        None
    }

    /// The next whole block at or behind `from`, where nobody knows that one begins.
    fn search(&mut self, from: usize) -> Option<(usize, usize, Role)> {
        let most = SEARCH.max(2 * self.longest);
        (from..self.bytes.len()).find_map(|at| {
            if self.left == 0 {
                return None;
            }
            self.block_at(at, most).map(|(len, role)| (at, len, role))
        })
    }
}

/// True if the trailer can be one: the raw length has no more bytes than it needs, and compression has
/// made the body smaller.
fn is_plausible(stored: &[u8], tag: u8) -> bool {
    let (method, width) = (tag & 3, usize::from(tag >> 5));
    if method == 0 || width == 0 {
        return method == 0 && width == 0;
    }
    let Some(body) = stored.len().checked_sub(TRAILER + width).filter(|_| width <= 4) else { return false };
    let raw = &stored[body..body + width];
    let raw_len = raw.iter().rev().fold(0, |len: usize, &byte| len << 8 | usize::from(byte));
    raw[width - 1] != 0 && raw_len > body && raw_len <= stored::MAX_RAW && raw_len / 1024 <= body
}

impl Walker<'_> {
    /// Finds the blocks from `start` to `end` and hands them on. `after` is a key that comes behind them all.
    pub(super) fn by_trial(&mut self, start: u64, end: u64, after: Option<Vec<u8>>) -> Result<()> {
        let mut bytes = vec![0; end.saturating_sub(start) as usize];
        self.reader.read_at(&mut bytes, start);
        let mut trial = Trial { bytes: &bytes, base: start, number: self.number, left: MOST_TRIALS, longest: 0 };
        let (mut blocks, mut gaps, mut at) = (Vec::new(), Vec::new(), 0);
        while at < bytes.len() {
            let (found, len, role) = match trial.block_at(at, bytes.len()) {
                Some((len, role)) => (at, len, role),
                None => match trial.search(at + 1) {
                    Some(found) => found,
                    None => break,
                },
            };
            if found > at {
                gaps.push((blocks.len(), at, found));
            }
            let handle = Handle { offset: start + found as u64, len: len as u32 };
            blocks.push((handle, role));
            trial.longest = trial.longest.max(if role == Role::Data { len } else { 0 });
            at = found + len;
        }
        if at < bytes.len() {
            gaps.push((blocks.len(), at, bytes.len()));
        }
        // A dictionary stands behind the blocks that need it.
        for (handle, _) in blocks.iter().filter(|(_, role)| *role == Role::Dictionary) {
            if let Ok(content) = self.content(*handle, Role::Dictionary)? {
                self.dictionary = Some(self.dictionaries.intern(Dictionary::from_bytes(content)));
            }
        }
        let first = self.found.lost.len();
        for index in 0..=blocks.len() {
            for &(_, from, to) in gaps.iter().filter(|(before, ..)| *before == index) {
                let handle = Handle { offset: start + from as u64, len: (to - from) as u32 };
                let why = self.reader.why(handle.offset, u64::from(handle.len));
                self.lose(handle, why.as_deref().unwrap_or("there is no whole block"), true);
            }
            if let Some((handle, role)) = blocks.get(index) {
                self.block(*handle, *role, None)?;
            }
        }
        for lost in self.found.lost[first..].iter_mut().filter(|lost| lost.to.is_none()) {
            lost.to.clone_from(&after);
        }
        Ok(())
    }
}
