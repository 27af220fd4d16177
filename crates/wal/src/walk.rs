//! Reading segments without changing them: for copies of the log, tools and salvage.
//!
//! Recovery decides where the log ends, and writes that down. What is here decides nothing: it tells
//! what stands in a file, whole groups and what lies between them.

use crate::layout::{
    ALIGN, FOLLOWED_AT, FOLLOWED_LEN, GROUP_HEADER_LEN, GROUPS_AT, GroupHeader, HEADER_LEN, Header, NotAHeader,
    SEAL_AT, SEAL_LEN, Seeds, VERSION, decode_followed, decode_records, decode_seal,
};
use crate::segment;
use crate::types::Record;
use crate::window::Window;
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::{LAST_SEQ, MAX_NUMBER};
use alluvium_env::{Env, Error, OpenMode, Result, Unreadable};
use std::path::{Path, PathBuf};

/// Where a segment ends, as its seal or the header of the next one says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The offset behind its last group.
    pub offset: u64,
    /// The last number before it.
    pub last_seq: Seq,
}

/// What the header of a segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The database that the log belongs to.
    pub database_id: u64,
    /// The number of the segment.
    pub number: u64,
    /// The number of its first operation.
    pub first_seq: Seq,
    /// Where the segment before ends; `None` in the first one of a database.
    pub previous: Option<SegmentEnd>,
}

/// One whole group of a segment.
#[derive(Debug)]
pub struct Group<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its length, header included.
    pub bytes: u64,
    /// The number of its first operation.
    pub first_seq: Seq,
    /// The number of its last operation.
    pub last_seq: Seq,
    /// Up to which offset the segment was known to be durable when it was written.
    pub synced: u64,
    /// Its records.
    pub records: Vec<Record<'a>>,
}

/// Bytes in a segment that are no group, with whole groups behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Where it begins.
    pub offset: u64,
    /// Where the next whole group begins.
    pub next: u64,
    /// The number that should have come there; 0 if that is not known.
    pub expected: Seq,
    /// The number of the next whole group.
    pub next_seq: Seq,
    /// Why there is no group.
    pub what: &'static str,
}

/// What [`walk_segment`] found in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkedSegment {
    /// The header; `None` if it is damaged.
    pub header: Option<SegmentHeader>,
    /// The seal of a clean close.
    pub seal: Option<SegmentEnd>,
    /// It says that the next segment was begun, and was durable.
    pub followed: bool,
    /// The length of the file in bytes.
    pub file_bytes: u64,
    /// Whole groups.
    pub groups: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes of the records' payloads.
    pub payload_bytes: u64,
    /// Where the last whole group ends.
    pub end: u64,
    /// The last number in a whole group; 0 without any.
    pub last_seq: Seq,
    /// What is no group between whole ones.
    pub gaps: Vec<Gap>,
    /// Bytes behind the end up to the last that is not zero: a torn tail, or damage.
    pub tail_bytes: u64,
    /// Why reading stopped at the end, where something follows it.
    pub tail: Option<&'static str>,
    /// What the disk cannot read, in the order of the file.
    pub unreadable: Vec<Unreadable>,
}

/// How to walk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk {
    /// The number of the segment, from its name.
    pub number: u64,
    /// The database, if it is known: a segment whose header is damaged can be read then.
    pub database_id: Option<u64>,
    /// Where the segment is known to end: what lies behind is not looked at.
    pub limit: Option<u64>,
}

/// The segments in a directory, by number: their numbers and paths.
///
/// # Errors
/// What listing the directory says.
pub fn list_segments(env: &Env, dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut segments: Vec<_> = env
        .fs
        .list(dir)?
        .iter()
        .filter(|entry| !entry.is_dir)
        .filter_map(|entry| Some((segment::number(&entry.name)?, dir.join(&entry.name))))
        // No segment has a higher one, and whoever opens the log says so.
        .filter(|(number, _)| *number <= MAX_NUMBER)
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// The number of the segment with this file name, if it is one.
pub fn segment_number(name: &str) -> Option<u64> {
    segment::number(name)
}

/// Reads the file of a segment from its beginning to its end and calls `visit` with each whole group,
/// also with those behind damage. Writes nothing, and never fails for what stands in the file, but for
/// [`Error::NewerFormat`]; what the disk cannot read is damage, too.
///
/// # Errors
/// [`Error::NewerFormat`], I/O errors, and what `visit` returns.
pub fn walk_segment(
    env: &Env,
    path: &Path,
    walk: Walk,
    visit: &mut dyn FnMut(&Group<'_>) -> Result<()>,
) -> Result<WalkedSegment> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut window = Window::around(&*file)?;
    let header = match Header::decode(window.bytes(0, HEADER_LEN)?, walk.number) {
        Ok(header) => Some(header),
        Err(NotAHeader::Newer(found)) => {
            return Err(Error::NewerFormat { path: path.to_owned(), found, supported: VERSION });
        }
        Err(NotAHeader::Invalid | NotAHeader::Impossible) => None,
    };
    let mut found = WalkedSegment { file_bytes: window.len(), end: GROUPS_AT, ..WalkedSegment::default() };
    found.header = header.map(|h| SegmentHeader {
        database_id: h.database_id,
        number: h.number,
        first_seq: h.first_seq,
        previous: h.previous.map(|end| SegmentEnd { offset: end.offset, last_seq: end.last_seq }),
    });
    let Some(database_id) = header.map(|h| h.database_id).or(walk.database_id) else {
        found.end = 0;
        found.tail_bytes = window.end_of_nonzero(0)?.unwrap_or(0);
        found.tail = Some("the segment header is not whole, so nobody knows which database it is of");
        found.unreadable = window.unreadable().to_vec();
        return Ok(found);
    };
    let seeds = Seeds::new(database_id, walk.number);
    let seal = decode_seal(window.bytes(SEAL_AT, SEAL_LEN)?, seeds);
    found.seal = seal.map(|end| SegmentEnd { offset: end.offset, last_seq: end.last_seq });
    found.followed = decode_followed(window.bytes(FOLLOWED_AT, FOLLOWED_LEN)?, seeds).is_some();
    let limit = walk.limit.or(seal.map(|end| end.offset)).unwrap_or(u64::MAX).min(window.len());
    let expected = header.map_or(0, |h| h.first_seq);
    let mut walker = Walker { window, seeds, limit, expected, found };
    walker.walk(visit)?;
    let Walker { window, mut found, .. } = walker;
    found.unreadable = window.unreadable().to_vec();
    // What was looked at together with the rest, and lies behind the limit, is nobody's loss.
    found.unreadable.retain(|part| part.offset < limit);
    Ok(found)
}

struct Walker<'a> {
    window: Window<'a>,
    seeds: Seeds,
    limit: u64,
    /// The number that comes next; 0 if that is not known.
    expected: Seq,
    found: WalkedSegment,
}

impl Walker<'_> {
    fn walk(&mut self, visit: &mut dyn FnMut(&Group<'_>) -> Result<()>) -> Result<()> {
        let mut at = GROUPS_AT;
        while at < self.limit {
            match self.group_at(at)? {
                Ok(group) => at = self.take(at, &group, visit)?,
                Err(what) => {
                    let Some((next, next_seq)) = self.next_group(at + ALIGN)? else {
                        self.end(at, what)?;
                        return Ok(());
                    };
                    let what = self.reason(at, next, what);
                    self.found.gaps.push(Gap { offset: at, next, expected: self.expected, next_seq, what });
                    self.expected = next_seq;
                    at = next;
                }
            }
        }
        Ok(())
    }

    /// The header of the whole group at `at`, or why there is none.
    fn group_at(&mut self, at: u64) -> Result<std::result::Result<GroupHeader, &'static str>> {
        let bytes = self.window.bytes(at, GROUP_HEADER_LEN)?;
        let Some(group) = GroupHeader::decode(bytes, at, self.seeds) else {
            return Ok(Err("there is no whole group header"));
        };
        if self.limit.checked_sub(at).is_none_or(|left| group.group_len() > left) {
            return Ok(Err("the file ends within a group"));
        }
        if group.first_seq == 0 || group.first_seq > group.last_seq || group.last_seq > LAST_SEQ {
            return Ok(Err("the numbers of a group are impossible"));
        }
        let body = self.window.bytes(at + GROUP_HEADER_LEN as u64, group.body_len as usize)?;
        if !group.matches(body, at, self.seeds) {
            return Ok(Err("the checksum of a group does not match"));
        }
        if self.expected != 0 && group.first_seq != self.expected {
            return Ok(Err("the numbers of a group do not follow on"));
        }
        Ok(Ok(group))
    }

    fn take(&mut self, at: u64, group: &GroupHeader, visit: &mut dyn FnMut(&Group<'_>) -> Result<()>) -> Result<u64> {
        let body = self.window.bytes(at + GROUP_HEADER_LEN as u64, group.body_len as usize)?;
        let mut records = Vec::new();
        let whole = decode_records(group, body, |record| {
            records.push(record);
            Ok::<(), Error>(())
        })?;
        if !whole {
            let (next, what) = (at + group.group_len(), "a group with a right checksum holds no records");
            let (expected, next_seq) = (group.first_seq, group.last_seq + 1);
            self.found.gaps.push(Gap { offset: at, next, expected, next_seq, what });
            self.expected = next_seq;
            return Ok(next);
        }
        self.found.groups += 1;
        self.found.records += records.len() as u64;
        self.found.payload_bytes += records.iter().map(|record| record.payload.len() as u64).sum::<u64>();
        self.found.last_seq = group.last_seq;
        self.expected = group.last_seq + 1;
        self.found.end = at + group.group_len();
        visit(&Group {
            offset: at,
            bytes: group.group_len(),
            first_seq: group.first_seq,
            last_seq: group.last_seq,
            synced: group.synced,
            records,
        })?;
        Ok(self.found.end)
    }

    /// The first whole group at or behind `from` whose numbers are not below the expected one.
    fn next_group(&mut self, from: u64) -> Result<Option<(u64, Seq)>> {
        let expected = std::mem::take(&mut self.expected);
        let mut next = from;
        let mut found = None;
        while let Some(at) = self.window.next_nonzero(next)?.map(|at| at - at % ALIGN).filter(|at| *at < self.limit) {
            if let Ok(group) = self.group_at(at)?
                && group.first_seq >= expected
            {
                found = Some((at, group.first_seq));
                break;
            }
            next = at + ALIGN;
        }
        self.expected = expected;
        Ok(found)
    }

    /// What keeps a group from being whole: `what`, unless the disk does.
    fn reason(&self, from: u64, to: u64, what: &'static str) -> &'static str {
        let touches = |part: &Unreadable| part.offset < to && from < part.offset + part.bytes;
        if self.window.unreadable().iter().any(touches) { "the disk cannot read it" } else { what }
    }

    /// Nothing whole follows `at`.
    fn end(&mut self, at: u64, what: &'static str) -> Result<()> {
        if let Some(end) = self.window.end_of_nonzero(at)?.map(|end| end.min(self.limit)).filter(|end| *end > at) {
            self.found.tail_bytes = end - at;
            self.found.tail = Some(self.reason(at, end, what));
        }
        Ok(())
    }
}

/// Reads a log that must be whole, and calls `visit` with its records from the one that holds `from` on.
/// Writes nothing. Returns the last number.
///
/// # Errors
/// [`Error::Corrupt`] for anything that is not whole or does not follow on, [`Error::NewerFormat`], I/O
/// errors, and what `visit` returns.
pub fn read_whole(
    env: &Env,
    dir: &Path,
    database_id: u64,
    from: Seq,
    visit: &mut dyn FnMut(Record<'_>) -> Result<()>,
) -> Result<Seq> {
    let mut last: Option<SegmentHeader> = None;
    let mut last_seq = 0;
    let segments = list_segments(env, dir)?;
    for (at, (number, path)) in segments.iter().enumerate() {
        let next = segments.get(at + 1);
        let limit = next.map(|(number, path)| limit_of(env, path, *number)).transpose()?.flatten();
        let walk = Walk { number: *number, database_id: Some(database_id), limit };
        let found = walk_segment(env, path, walk, &mut |group| records_from(group, from, visit))?;
        let header = found.header.ok_or_else(|| Error::corrupt(path, 0, "the segment header is not whole"))?;
        if header.database_id != database_id {
            return Err(Error::corrupt(path, 16, "the segment belongs to another database"));
        }
        if last.is_some_and(|last| last.number + 1 != header.number || last_seq + 1 != header.first_seq) {
            return Err(Error::corrupt(path, 24, "the segment does not follow on the one before"));
        }
        check_whole(path, &found)?;
        if found.followed && next.is_none() {
            return Err(Error::corrupt(path, FOLLOWED_AT, "the segment behind it is missing"));
        }
        if found.seal.is_some_and(|seal| next.is_none() && seal.offset != found.end) {
            return Err(Error::corrupt(path, found.end, "groups are missing before the end that the seal names"));
        }
        last_seq = if found.groups > 0 { found.last_seq } else { header.first_seq - 1 };
        last = Some(header);
    }
    Ok(last_seq)
}

/// Errors if something of a segment is missing up to the limit of the walk.
pub(crate) fn check_whole(path: &Path, found: &WalkedSegment) -> Result<()> {
    if let Some(part) = found.unreadable.first() {
        let why = format!("{} bytes from offset {} on: {}", part.bytes, part.offset, part.why);
        return Err(Error::io("read", path, std::io::Error::other(why)));
    }
    if let Some(gap) = found.gaps.first() {
        return Err(Error::corrupt(path, gap.offset, gap.what));
    }
    match found.tail {
        Some(what) => Err(Error::corrupt(path, found.end, what)),
        None => Ok(()),
    }
}

/// Where the segment before this one ends, by this one's header.
pub(crate) fn limit_of(env: &Env, path: &Path, number: u64) -> Result<Option<u64>> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut window = Window::new(&*file)?;
    let header = Header::decode(window.bytes(0, HEADER_LEN)?, number).ok();
    Ok(header.and_then(|header| header.previous).map(|end| end.offset))
}

/// Calls `visit` with the records of a group that do not end before `from`.
pub(crate) fn records_from(
    group: &Group<'_>,
    from: Seq,
    visit: &mut dyn FnMut(Record<'_>) -> Result<()>,
) -> Result<()> {
    group.records.iter().filter(|record| record.last_seq >= from).try_for_each(|record| visit(*record))
}

#[cfg(test)]
mod tests;
