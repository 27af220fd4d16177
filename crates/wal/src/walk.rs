//! Reading segments without changing them: for copies of the log, tools and salvage.
//!
//! Recovery decides where the log ends, and records that end. This module decides nothing: it
//! reports the contents of a file, which are complete groups and the gaps between them.

use crate::decode::GroupDecoder;
use crate::layout::{
    ALIGN, FOLLOWED_AT, FOLLOWED_LEN, GROUP_HEADER_LEN, GROUPS_AT, GroupHeader, HEADER_LEN, Header, NotAHeader,
    SEAL_AT, SEAL_LEN, Seeds, VERSION, decode_followed, decode_seal,
};
use crate::segment;
use crate::types::Record;
use crate::window::Window;
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::{LAST_SEQ, MAX_NUMBER};
use alluvium_env::{Env, Error, OpenMode, Result, Unreadable};
use std::path::{Path, PathBuf};

/// The end of a segment, as named by its seal or by the header of the next segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The offset after its last group.
    pub offset: u64,
    /// The last number before the end.
    pub last_seq: Seq,
}

/// The header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The database that the log belongs to.
    pub database_id: u64,
    /// The number of the segment.
    pub number: u64,
    /// The number of its first operation.
    pub first_seq: Seq,
    /// The end of the previous segment; `None` in the first one of a database.
    pub previous: Option<SegmentEnd>,
}

/// One complete group of a segment.
#[derive(Debug)]
pub struct Group<'a> {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length, header included.
    pub bytes: u64,
    /// The number of its first operation.
    pub first_seq: Seq,
    /// The number of its last operation.
    pub last_seq: Seq,
    /// The offset up to which the segment was known to be durable when the group was written.
    pub synced: u64,
    /// The records, in order.
    pub records: Vec<Record<'a>>,
}

/// Bytes in a segment that are not a group, before a complete group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The offset of its first byte.
    pub offset: u64,
    /// The offset of the next complete group.
    pub next: u64,
    /// The number that was expected at this offset; 0 if unknown.
    pub expected: Seq,
    /// The first number of the next complete group.
    pub next_seq: Seq,
    /// The reason why the bytes are not a group.
    pub what: &'static str,
}

/// The result of [`walk_segment`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkedSegment {
    /// The header; `None` if it is damaged.
    pub header: Option<SegmentHeader>,
    /// The seal of a clean close.
    pub seal: Option<SegmentEnd>,
    /// True if the segment has the mark that the next segment was begun and durable.
    pub followed: bool,
    /// The length of the file in bytes.
    pub file_bytes: u64,
    /// The number of complete groups.
    pub groups: u64,
    /// The number of records in them.
    pub records: u64,
    /// Bytes of the records' payloads, before compression.
    pub payload_bytes: u64,
    /// The end of the last complete group.
    pub end: u64,
    /// The last number in a complete group; 0 if there is no complete group.
    pub last_seq: Seq,
    /// The gaps between complete groups.
    pub gaps: Vec<Gap>,
    /// The number of bytes from the end to the last byte that is not zero: a torn tail, or damage.
    pub tail_bytes: u64,
    /// Why reading stopped at [`WalkedSegment::end`], if bytes other than zeros follow there.
    pub tail: Option<&'static str>,
    /// The parts that the disk cannot read, by offset.
    pub unreadable: Vec<Unreadable>,
}

/// The options of a walk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk {
    /// The number of the segment, from its name.
    pub number: u64,
    /// The database, if known. A segment with a damaged header can only be read if it is known.
    pub database_id: Option<u64>,
    /// The known end of the segment: bytes after it are ignored.
    pub limit: Option<u64>,
}

/// The segments in a directory, by number: their numbers and paths.
///
/// # Errors
/// I/O errors.
pub fn list_segments(env: &Env, dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut segments: Vec<_> = env
        .fs
        .list(dir)?
        .iter()
        .filter(|entry| !entry.is_dir)
        .filter_map(|entry| Some((segment::number(&entry.name)?, dir.join(&entry.name))))
        // No segment has a higher number: a log with such a segment cannot be opened.
        .filter(|(number, _)| *number <= MAX_NUMBER)
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// The number of the segment with this file name; `None` for other names.
pub fn segment_number(name: &str) -> Option<u64> {
    segment::number(name)
}

/// Reads the file of a segment from its beginning to its end, and calls `visit` with each complete
/// group, including groups after damage. Writes nothing. No content is an error except
/// [`Error::NewerFormat`]; bytes that the disk cannot read count as damage.
///
/// # Errors
/// [`Error::NewerFormat`], I/O errors, and errors of `visit`.
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
        found.tail = Some("the segment header is incomplete, and the database is unknown");
        found.unreadable = window.unreadable().to_vec();
        return Ok(found);
    };
    let seeds = Seeds::new(database_id, walk.number);
    let seal = decode_seal(window.bytes(SEAL_AT, SEAL_LEN)?, seeds);
    found.seal = seal.map(|end| SegmentEnd { offset: end.offset, last_seq: end.last_seq });
    found.followed = decode_followed(window.bytes(FOLLOWED_AT, FOLLOWED_LEN)?, seeds).is_some();
    let limit = walk.limit.or(seal.map(|end| end.offset)).unwrap_or(u64::MAX).min(window.len());
    let expected = header.map_or(0, |h| h.first_seq);
    let mut walker = Walker { window, seeds, limit, expected, decoder: GroupDecoder::default(), found };
    walker.walk(visit)?;
    let Walker { window, mut found, .. } = walker;
    found.unreadable = window.unreadable().to_vec();
    // Unreadable bytes after the limit, which were read together with other bytes, are not a loss.
    found.unreadable.retain(|part| part.offset < limit);
    Ok(found)
}

struct Walker<'a> {
    window: Window<'a>,
    seeds: Seeds,
    limit: u64,
    /// The next number; 0 if unknown.
    expected: Seq,
    decoder: GroupDecoder,
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

    /// Returns the header of the complete group at `at`, or the reason why no complete group begins there.
    fn group_at(&mut self, at: u64) -> Result<std::result::Result<GroupHeader, &'static str>> {
        let bytes = self.window.bytes(at, GROUP_HEADER_LEN)?;
        let Some(group) = GroupHeader::decode(bytes, at, self.seeds) else {
            return Ok(Err("the group header is incomplete or missing"));
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
            return Ok(Err("the numbers of a group do not continue the previous ones"));
        }
        Ok(Ok(group))
    }

    fn take(&mut self, at: u64, group: &GroupHeader, visit: &mut dyn FnMut(&Group<'_>) -> Result<()>) -> Result<u64> {
        let body = self.window.bytes(at + GROUP_HEADER_LEN as u64, group.body_len as usize)?;
        let mut records = Vec::new();
        let whole = self.decoder.records(group, body, |record| {
            records.push(record);
            Ok::<(), Error>(())
        })?;
        if !whole {
            let (next, what) = (at + group.group_len(), "a group with a valid checksum does not consist of records");
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

    /// Finds the first complete group at or after `from` whose numbers are not below the expected
    /// one.
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

    /// The reason why a group is incomplete: `what`, unless the disk cannot read the bytes.
    fn reason(&self, from: u64, to: u64, what: &'static str) -> &'static str {
        let touches = |part: &Unreadable| part.offset < to && from < part.offset + part.bytes;
        if self.window.unreadable().iter().any(touches) { "the disk cannot read it" } else { what }
    }

    /// Ends the walk, because no complete group follows `at`.
    fn end(&mut self, at: u64, what: &'static str) -> Result<()> {
        if let Some(end) = self.window.end_of_nonzero(at)?.map(|end| end.min(self.limit)).filter(|end| *end > at) {
            self.found.tail_bytes = end - at;
            self.found.tail = Some(self.reason(at, end, what));
        }
        Ok(())
    }
}

/// Reads a log that must be complete, and calls `visit` with its records, beginning with the record
/// that contains `from`. Writes nothing. Returns the last number.
///
/// # Errors
/// [`Error::Corrupt`] for anything incomplete or missing, [`Error::NewerFormat`], I/O errors, and
/// errors of `visit`.
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
        let header = found.header.ok_or_else(|| Error::corrupt(path, 0, "the segment header is incomplete"))?;
        if header.database_id != database_id {
            return Err(Error::corrupt(path, 16, "the segment belongs to another database"));
        }
        if last.is_some_and(|last| last.number + 1 != header.number || last_seq + 1 != header.first_seq) {
            return Err(Error::corrupt(path, 24, "the segment does not continue the previous one"));
        }
        check_whole(path, &found)?;
        if found.followed && next.is_none() {
            return Err(Error::corrupt(path, FOLLOWED_AT, "the next segment is missing"));
        }
        if found.seal.is_some_and(|seal| next.is_none() && seal.offset != found.end) {
            return Err(Error::corrupt(path, found.end, "groups are missing before the end that the seal names"));
        }
        last_seq = if found.groups > 0 { found.last_seq } else { header.first_seq - 1 };
        last = Some(header);
    }
    Ok(last_seq)
}

/// Returns an error if a segment is incomplete before the limit of the walk.
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

/// The end of the previous segment, which this segment's header names.
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
