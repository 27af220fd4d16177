//! Searching for blocks that no index locates.

use super::{Walker, role_of};
use crate::dictionary::Dictionary;
use crate::stored::{self, Handle, Role};
use alluvium_codec::checksum32;
use alluvium_env::{AroundReader, Result};

/// A trailer without raw length: tag and checksum.
const TRAILER: usize = 5;
/// The number of bytes that are tried at an offset that need not be the start of a block.
const SEARCH: usize = 8 << 10;

/// The limits of a search for blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The bytes of a file that are in memory at once, in addition to twice the length of the
    /// longest block so far.
    pub(super) window: usize,
    /// The maximum number of bytes that are hashed for one part of a file.
    pub(super) hashed: u64,
}

impl Limits {
    /// 64 MiB, and as many bytes as are hashed in some seconds.
    pub(super) const USUAL: Self = Self { window: 64 << 20, hashed: 32 << 30 };
}

/// A window of a part of a file, and the remaining cost of the search.
struct Trial {
    /// The bytes that begin at `base`; the part ends at `end`.
    bytes: Vec<u8>,
    base: u64,
    end: u64,
    window: usize,
    number: u64,
    /// The bytes that may still be hashed.
    left: u64,
    /// The length of the longest block so far.
    longest: usize,
}

impl Trial {
    /// The number of bytes that are tried at offsets that need not be the start of a block.
    fn reach(&self) -> usize {
        SEARCH.max(2 * self.longest)
    }

    /// Moves the window, so that it begins at `at`.
    fn load(&mut self, reader: &mut AroundReader<'_>, at: u64) {
        let most = self.window + self.reach();
        let len = (most as u64).min(self.end.saturating_sub(at)) as usize;
        self.bytes.clear();
        self.bytes.resize(len, 0);
        reader.read_at(&mut self.bytes, at);
        self.base = at;
    }

    /// The number of bytes in the window after `at`: the bytes that are tried there, or all bytes
    /// up to the end.
    fn held(&mut self, reader: &mut AroundReader<'_>, at: u64) -> usize {
        let held = |trial: &Self| (trial.base + trial.bytes.len() as u64).saturating_sub(at) as usize;
        if at < self.base || (held(self) as u64) < (self.reach() as u64).min(self.end - at) {
            self.load(reader, at);
        }
        held(self)
    }

    /// Returns length and role of a whole block at `at` with more than `least` and at most `most` bytes.
    fn block_at(&mut self, at: u64, least: usize, most: usize) -> Option<(usize, Role)> {
        let rest = &self.bytes[(at - self.base) as usize..];
        let seed = stored::seed(self.number, at);
        for len in least.max(TRAILER) + 1..=most.min(rest.len()) {
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

    /// Returns the whole block at `at`, where a block probably begins; the window then holds this
    /// block.
    fn next(&mut self, reader: &mut AroundReader<'_>, at: u64) -> Option<(usize, Role)> {
        let held = self.held(reader, at);
        let found = self.block_at(at, 0, held);
        if found.is_some() || self.left == 0 || at == self.base || at + held as u64 == self.end {
            return found;
        }
        // The block may extend beyond the bytes in memory.
        self.load(reader, at);
        self.block_at(at, held, self.bytes.len())
    }

    /// Finds the next whole block at or after `from`, which need not be the start of a block.
    fn search(&mut self, reader: &mut AroundReader<'_>, from: u64) -> Option<(u64, usize, Role)> {
        (from..self.end).find_map(|at| {
            if self.left == 0 {
                return None;
            }
            self.held(reader, at);
            let reach = self.reach();
            self.block_at(at, 0, reach).map(|(len, role)| (at, len, role))
        })
    }
}

/// A stretch of a part of a file: its offset, its length, and the block's role. There is no role if
/// the stretch is not a whole block.
type Stretch = (u64, u64, Option<Role>);

/// True if the trailer is plausible: the raw length has no more bytes than it needs, and compression has made the body
/// smaller.
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
    /// Finds the blocks from `start` to `end` and passes them to `visit`. `after` is a key above
    /// all of their keys.
    pub(super) fn by_trial(&mut self, start: u64, end: u64, after: Option<Vec<u8>>) -> Result<()> {
        let stretches = self.stretches(start, end);
        let handle = |offset: u64, bytes: u64| Handle { offset, len: bytes as u32 };
        // A dictionary is stored after the blocks that need it, so it is read first.
        for &(offset, bytes, _) in stretches.iter().filter(|(.., role)| *role == Some(Role::Dictionary)) {
            if let Ok(content) = self.content(handle(offset, bytes), Role::Dictionary)? {
                self.dictionary = Some(self.dictionaries.intern(Dictionary::from_bytes(content)));
            }
        }
        let first = self.found.lost.len();
        for (offset, bytes, role) in stretches {
            match role {
                Some(role) => self.block(handle(offset, bytes), role, None)?,
                None => {
                    let why = self.reader.why(offset, bytes);
                    self.lose(offset, bytes, why.as_deref().unwrap_or("there is no whole block"), true);
                }
            }
        }
        for lost in self.found.lost[first..].iter_mut().filter(|lost| lost.to.is_none()) {
            lost.to.clone_from(&after);
        }
        Ok(())
    }

    /// The blocks from `start` to `end`, and the bytes between them.
    fn stretches(&mut self, start: u64, end: u64) -> Vec<Stretch> {
        let Limits { window, hashed: left } = self.limits;
        let (bytes, number) = (Vec::new(), self.number);
        let mut trial = Trial { bytes, base: start, end, window, number, left, longest: 0 };
        let (mut stretches, mut at) = (Vec::new(), start);
        while at < end {
            let next = trial.next(&mut self.reader, at).map(|(len, role)| (at, len, role));
            let Some((found, len, role)) = next.or_else(|| trial.search(&mut self.reader, at + 1)) else { break };
            if found > at {
                stretches.push((at, found - at, None));
            }
            stretches.push((found, len as u64, Some(role)));
            trial.longest = trial.longest.max(if role == Role::Data { len.min(stored::MAX_RAW) } else { 0 });
            at = found + len as u64;
        }
        if at < end {
            stretches.push((at, end - at, None));
        }
        stretches
    }
}
