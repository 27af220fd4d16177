//! From an entry outside the bounds of a scan, finds the next key that may be within the bounds. A
//! reader seeks that key instead of reading each entry in between.

use super::ranges::after;
use super::scan::IndexScan;
use crate::index::MAX_PARTS;

/// The position of an entry relative to the bounds of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The entry is within the bounds of all parts.
    Within,
    /// The entry is outside the bounds, and so is every entry before this key in the direction of
    /// the scan. In a forward scan, the next entry within the bounds is at or above the key. In a
    /// backward scan, it is below the key.
    Outside(Vec<u8>),
    /// The entry is outside the bounds, and so are all entries after it in the direction of the scan.
    End,
}

/// The ends of the parts in an entry's key.
struct Parts<'e> {
    entry: &'e [u8],
    ends: [usize; MAX_PARTS],
}

impl<'e> Parts<'e> {
    /// The bytes before a part.
    fn before(&self, part: usize) -> &'e [u8] {
        let end = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entry[..end]
    }

    /// The bytes up to the end of a part.
    fn up_to(&self, part: usize) -> &'e [u8] {
        &self.entry[..self.ends[part]]
    }

    fn of(&self, part: usize) -> &'e [u8] {
        &self.entry[self.before(part).len()..self.ends[part]]
    }
}

impl IndexScan {
    /// The position of an entry relative to the bounds. `entry` is the index key or the whole key.
    pub fn place(&self, entry: &[u8]) -> Place {
        let mut parts = Parts { entry, ends: [0; MAX_PARTS] };
        let mut rest = entry;
        for (at, part) in self.bounds.iter().enumerate() {
            if !part.skip(&mut rest) {
                // Only the malformed key itself is skipped.
                return Place::Outside(if self.backward { entry.to_vec() } else { [entry, &[0]].concat() });
            }
            parts.ends[at] = entry.len() - rest.len();
            if !part.admits(parts.of(at)) {
                let next = if self.backward { self.below(&parts, at) } else { self.above(&parts, at) };
                return next.map_or(Place::End, Place::Outside);
            }
        }
        Place::Within
    }

    /// The key to seek to skip all entries that have the same values in the parts up to this one,
    /// as in [`Place::Outside`]. `None` if no entry can follow.
    pub fn behind(&self, entry: &[u8], part: usize) -> Option<Vec<u8>> {
        let mut rest = entry;
        if !self.bounds.iter().take(part + 1).all(|part| part.skip(&mut rest)) {
            return None;
        }
        let same = entry[..entry.len() - rest.len()].to_vec();
        if self.backward { Some(same) } else { after(same) }
    }

    /// The least key above the entry that may be within the bounds. `outside` is the first part
    /// whose value is outside its bounds.
    fn above(&self, parts: &Parts<'_>, outside: usize) -> Option<Vec<u8>> {
        for at in (0..=outside).rev() {
            let part = &self.bounds[at];
            if at < outside && !part.points {
                // Greater values of this part may follow in the same range.
                return after(parts.up_to(at).to_vec());
            }
            let next = part.ranges.partition_point(|range| range.from.as_slice() <= parts.of(at));
            let Some(range) = part.ranges.get(next) else { continue };
            let mut key = [parts.before(at), &range.from].concat();
            let mut whole = part.points;
            for part in &self.bounds[at + 1..] {
                let Some(first) = part.ranges.first().filter(|_| whole) else { break };
                key.extend_from_slice(&first.from);
                whole = part.points;
            }
            return Some(key);
        }
        None
    }

    /// A key with this property: the entries directly below it are the next that may be within the
    /// bounds. `outside` is the first part whose value is outside its bounds.
    fn below(&self, parts: &Parts<'_>, outside: usize) -> Option<Vec<u8>> {
        for at in (0..=outside).rev() {
            let part = &self.bounds[at];
            if at < outside && !part.points {
                return Some(parts.up_to(at).to_vec());
            }
            let begin = part.ranges.partition_point(|range| range.from.as_slice() <= parts.of(at));
            // If the part is within its bounds, the last of these ranges contains the entry's value.
            let below = begin - usize::from(at < outside && begin > 0);
            let Some(range) = below.checked_sub(1).and_then(|last| part.ranges.get(last)) else { continue };
            let Some(to) = &range.to else { return Some(parts.up_to(at).to_vec()) };
            let mut key = [parts.before(at), to].concat();
            let mut values = part.points.then(|| [parts.before(at), &range.from].concat());
            for part in &self.bounds[at + 1..] {
                let (Some(before), Some(last)) = (values, part.ranges.last()) else { break };
                let Some(to) = &last.to else { break };
                key = [before.as_slice(), to].concat();
                values = part.points.then(|| [before.as_slice(), &last.from].concat());
            }
            return Some(key);
        }
        None
    }
}
