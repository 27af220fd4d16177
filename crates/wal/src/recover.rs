//! Recovery: reading the log.
//!
//! There are two kinds of ends. If a segment has a *limit*, because the next segment's header or
//! its own seal names its end, it must be complete up to there. The last segment after a crash has
//! no limit: it ends at the first incomplete group, unless a later group proves that the incomplete
//! group was once durable.

use crate::decode::GroupDecoder;
use crate::layout::{
    ALIGN, End, FOLLOWED_AT, FOLLOWED_LEN, GROUP_HEADER_LEN, GROUPS_AT, GroupHeader, HEADER_LEN, Header, NotAHeader,
    SEAL_AT, SEAL_LEN, Seeds, VERSION, decode_followed, decode_seal,
};
use crate::marks;
use crate::segment::{self, Segment};
use crate::types::{Dropped, Lost, OnDamage, Options, Record, Recovery};
use crate::window::Window;
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::{LAST_SEQ, MAX_NUMBER};
use alluvium_env::{Env, Error, File, OpenMode, Result};
use std::path::{Path, PathBuf};

/// The result of a replay.
pub(crate) struct Replayed {
    pub recovery: Recovery,
    pub segments: Vec<Segment>,
    /// The end of the last segment.
    pub end: Option<End>,
    /// True if the last segment has only zeros after its end.
    pub trimmable: bool,
}

impl Replayed {
    /// See [`crate::Recovered::is_as_made`].
    pub(crate) fn is_as_made(&self) -> bool {
        let empty = self.end.is_some_and(|end| end.offset == GROUPS_AT) && self.recovery.dropped.is_none();
        matches!(self.segments.as_slice(), [one] if one.number == 1) && empty && !self.recovery.clean
    }
}

/// Bytes that are written again at once.
const REWRITE: usize = 256 << 10;

type Replay<'a> = dyn FnMut(Record<'_>) -> Result<()> + 'a;

struct SegmentFile {
    number: u64,
    path: PathBuf,
    bytes: u64,
    /// `None` if the header is damaged, and damage is skipped.
    header: Option<Header>,
    /// True if the segment has the mark that the next segment was durable.
    followed: bool,
}

/// Replays the log in `dir`, and removes the file of an unfinished creation.
pub(crate) fn replay(env: &Env, dir: &Path, options: &Options, replay: &mut Replay<'_>) -> Result<Replayed> {
    let found = find(env, dir, options)?;
    let lost = found.is_empty() && options.must_exist;
    if lost && options.on_damage == OnDamage::Refuse {
        return Err(Error::corrupt(dir, 0, "the log is missing: restore its segments"));
    }
    let ChainDamage { damaged, end_missing } = check_chain(&found, options)?;
    let next_seq = options.next_seq.max(1);
    let mut state = Reader {
        options,
        replay,
        recovery: Recovery {
            clean: found.is_empty() && !lost,
            damaged: lost || damaged,
            end_missing,
            released: found.first().and_then(|f| f.header?.previous).map_or(0, |end| end.last_seq),
            ..Recovery::default()
        },
        decoder: GroupDecoder::default(),
        expected: found.first().map_or(next_seq, |f| f.header.map_or(0, |header| header.first_seq)),
    };
    let mut out = Replayed { recovery: Recovery::default(), segments: Vec::new(), end: None, trimmable: false };
    let mut in_doubt = false;
    for (at, segment) in found.iter().enumerate() {
        let next = found.get(at + 1);
        if let Some(header) = segment.header {
            let before = header.previous.map_or(0, |end| end.last_seq);
            state.lose_up_to(before);
            if header.first_seq > before + 1 {
                state.recovery.passed_over.push(Lost { first: before + 1, last: header.first_seq - 1 });
            }
            state.expected = state.expected.max(header.first_seq);
        }
        let first_seq = state.expected;
        // Opens one file at a time: a log may have more segments than the process may have
        // descriptors.
        let mode = if next.is_none() { OpenMode::ReadWrite } else { OpenMode::Read };
        let file = env.fs.open(&segment.path, mode)?;
        if next.is_none() {
            // The process of the log may have ended without a power cut, so records may not be
            // durable yet. The caller of the replay may write them elsewhere, durably, so they are
            // made durable here first.
            make_durable(segment.number, &*file, options)?;
        }
        let offset = state.segment(segment, &*file, next)?;
        state.recovery.end_missing |= next.is_none() && segment.header.is_none() && offset <= GROUPS_AT;
        if at > 0 && next.is_none() && state.is_in_doubt(&found[at - 1], segment, offset) {
            marks::SEGMENT_IN_DOUBT.hit();
            in_doubt = true;
            break;
        }
        let last_seq = state.expected.saturating_sub(1);
        out.segments.push(Segment { number: segment.number, first_seq, last_seq, bytes: segment.bytes });
        out.end = Some(End { offset, last_seq });
    }
    state.recovery.first_seq = out.segments.first().map_or(state.expected, |segment| segment.first_seq).max(1);
    state.recovery.last_seq = state.expected.saturating_sub(1);
    state.recovery.clean &= !state.recovery.damaged;
    out.trimmable = state.recovery.dropped.is_none() && !in_doubt;
    out.recovery = state.recovery;
    Ok(out)
}

/// Reads the headers of all segments, in their order.
fn find(env: &Env, dir: &Path, options: &Options) -> Result<Vec<SegmentFile>> {
    let mut numbers: Vec<u64> = env.fs.list(dir)?.iter().filter_map(|entry| segment::number(&entry.name)).collect();
    numbers.sort_unstable();
    let last = numbers.last().copied();
    // An existing log has at least one complete segment, so an unfinished segment is not the only
    // one.
    let may_be_unfinished = numbers.len() > 1 || !options.must_exist;
    let mut found: Vec<SegmentFile> = Vec::new();
    for number in numbers {
        let path = segment::path(dir, number);
        if number > MAX_NUMBER {
            return Err(Error::corrupt(&path, 0, "the number of the segment is out of range"));
        }
        let file = env.fs.open(&path, OpenMode::Read)?;
        let mut window = Window::new(&*file)?;
        let header = match Header::decode(window.bytes(0, HEADER_LEN)?, number) {
            Ok(header) => Some(check_header(header, &path, number, options)?),
            Err(NotAHeader::Newer(found)) => {
                return Err(Error::NewerFormat { path, found, supported: VERSION });
            }
            Err(NotAHeader::Impossible) if options.on_damage == OnDamage::Refuse => {
                return Err(Error::corrupt(&path, 32, "the numbers in the segment header are out of range"));
            }
            Err(NotAHeader::Impossible) => None,
            // A segment's header is durable before anything else is written to the segment, and
            // before the previous segment gets its mark.
            Err(NotAHeader::Invalid)
                if may_be_unfinished
                    && last == Some(number)
                    && !found.last().is_some_and(|before| before.followed)
                    && window.next_nonzero(SEAL_AT)?.is_none() =>
            {
                env.fs.remove(&path)?;
                marks::UNFINISHED_SEGMENT.hit();
                continue;
            }
            Err(NotAHeader::Invalid) if options.on_damage == OnDamage::Skip => None,
            Err(NotAHeader::Invalid) => return Err(Error::corrupt(&path, 0, "the segment header is incomplete")),
        };
        let bytes = window.len();
        let seeds = Seeds::new(options.database_id, number);
        let followed = decode_followed(window.bytes(FOLLOWED_AT, FOLLOWED_LEN)?, seeds).is_some();
        found.push(SegmentFile { number, path, bytes, header, followed });
    }
    Ok(found)
}

/// Makes the groups of the last segment durable before they are read.
///
/// A sync is not enough: after an earlier failed sync, the system may have marked pages as clean
/// that it has not written, and reads return their content. Therefore all bytes that no group
/// declares synced are written again unchanged, and then synced.
fn make_durable(number: u64, file: &dyn File, options: &Options) -> Result<()> {
    let seeds = Seeds::new(options.database_id, number);
    let mut window = Window::new(file)?;
    // A seal was written when everything before it was durable, and a group was written when the
    // header was durable.
    let sealed = decode_seal(window.bytes(SEAL_AT, SEAL_LEN)?, seeds).is_some();
    let (mut synced, mut end) = (if sealed { GROUPS_AT } else { 0 }, GROUPS_AT.min(window.len()));
    while !sealed
        && let Some(group) = GroupHeader::decode(window.bytes(end, GROUP_HEADER_LEN)?, end, seeds)
        && group.group_len() <= window.len() - end
    {
        synced = synced.max(group.synced);
        end += group.group_len();
    }
    while synced < end {
        let piece = window.bytes(synced, (end - synced).min(REWRITE as u64) as usize)?;
        if piece.is_empty() {
            break;
        }
        file.write_at(piece, synced)?;
        synced += piece.len() as u64;
    }
    file.sync()
}

fn check_header(header: Header, path: &Path, number: u64, options: &Options) -> Result<Header> {
    if header.database_id != options.database_id {
        let (theirs, ours) = (header.database_id, options.database_id);
        return Err(Error::corrupt(path, 16, format!("it belongs to the database {theirs:016x}, not {ours:016x}")));
    }
    if header.number != number {
        return Err(Error::corrupt(path, 24, format!("it is segment {}", header.number)));
    }
    if header.first_seq == 0 || header.previous.is_some_and(|end| end.last_seq >= header.first_seq) {
        return Err(Error::corrupt(path, 32, "its first number is not above the last one of the previous segment"));
    }
    Ok(header)
}

/// The damage of a chain of segments that was skipped.
struct ChainDamage {
    /// True if a header is damaged, or a segment or the end of the log is missing.
    damaged: bool,
    /// True if the newest segment is missing or truncated.
    end_missing: bool,
}

/// Checks that no segment is missing between two others or after the last one, and that the last
/// one was not truncated below its initial length.
fn check_chain(found: &[SegmentFile], options: &Options) -> Result<ChainDamage> {
    let mut damaged = found.iter().any(|segment| segment.header.is_none());
    let mut end_missing = false;
    if let Some(last) = found.last() {
        let is_cut = last.bytes < GROUPS_AT;
        let refused = match (is_cut, last.followed) {
            (true, _) => Some((last.path.clone(), last.bytes, "the segment ends before its first group")),
            (_, true) => {
                let path = last.path.with_file_name(segment_name(last.number + 1));
                Some((path, 0, "the segment is missing: the previous one is marked as followed"))
            }
            _ => None,
        };
        if let (Some((path, offset, what)), OnDamage::Refuse) = (&refused, options.on_damage) {
            return Err(Error::corrupt(path, *offset, *what));
        }
        end_missing = refused.is_some();
        damaged |= end_missing;
    }
    for pair in found.windows(2) {
        let [before, after] = pair else { continue };
        let missing = before.number + 1 != after.number;
        if missing && options.on_damage == OnDamage::Refuse {
            let path = after.path.with_file_name(segment_name(before.number + 1));
            return Err(Error::corrupt(&path, 0, "the segment is missing"));
        }
        damaged |= missing;
        let named = after.header.is_none_or(|header| header.previous.is_some());
        if !named {
            return Err(Error::corrupt(&after.path, 40, "it does not name the end of the previous segment"));
        }
    }
    Ok(ChainDamage { damaged, end_missing })
}

fn segment_name(number: u64) -> String {
    segment::path(Path::new(""), number).to_string_lossy().into_owned()
}

/// The content of a segment at an offset.
enum At {
    Group(GroupHeader),
    /// No complete group, and the reason.
    Nothing(&'static str),
}

struct Reader<'a, 'b> {
    options: &'a Options,
    replay: &'a mut Replay<'b>,
    recovery: Recovery,
    decoder: GroupDecoder,
    /// The next number; 0 if unknown, because the first header is damaged.
    expected: Seq,
}

impl Reader<'_, '_> {
    /// Replays one segment and returns its end.
    fn segment(&mut self, segment: &SegmentFile, file: &dyn File, next: Option<&SegmentFile>) -> Result<u64> {
        let seeds = Seeds::new(self.options.database_id, segment.number);
        let mut window = Window::new(file)?;
        let seal = decode_seal(window.bytes(SEAL_AT, SEAL_LEN)?, seeds);
        let named = next.and_then(|n| n.header.filter(|_| n.number == segment.number + 1)).and_then(|h| h.previous);
        let limit = match next {
            Some(_) => named.or(seal),
            None => seal,
        };
        let mut reading = Reading { path: &segment.path, seeds, window, limit };
        let end = match limit {
            Some(limit) => self.limited(&mut reading, limit)?,
            None => self.unlimited(&mut reading, next.is_none())?,
        };
        self.recovery.clean |= next.is_none() && seal.is_some();
        Ok(end)
    }

    /// True if the creation of the last segment, which ends at `end`, may have failed in its last
    /// step, the sync of the directory. The segment's name may then be lost later although it is
    /// visible now, whatever the next sync returns. Such a segment is empty and is left out: the
    /// next segment gets its number, and creates the name again.
    fn is_in_doubt(&self, before: &SegmentFile, last: &SegmentFile, end: u64) -> bool {
        let recovery = &self.recovery;
        // Groups, a seal and the mark in the previous segment are written only after the name is
        // durable.
        let proven = end > GROUPS_AT || recovery.clean || recovery.dropped.is_some() || before.followed;
        last.header.is_some() && !proven && !recovery.damaged
    }

    /// Reads a segment that must be complete up to `limit`.
    fn limited(&mut self, reading: &mut Reading<'_>, limit: End) -> Result<u64> {
        let mut at = GROUPS_AT;
        while at < limit.offset {
            match reading.at(at, self.expected)? {
                At::Group(group) => at = self.group(reading, at, group)?,
                At::Nothing(what) => match self.skip(reading, at, what)? {
                    Some(next) => at = next,
                    None => break,
                },
            }
        }
        if self.expected.wrapping_sub(1) != limit.last_seq {
            self.refuse(reading.path, at, "numbers are missing at the end")?;
        }
        self.lose_up_to(limit.last_seq);
        Ok(limit.offset.max(GROUPS_AT))
    }

    /// Reads a segment whose end neither a seal nor another segment names.
    fn unlimited(&mut self, reading: &mut Reading<'_>, is_last: bool) -> Result<u64> {
        let mut at = GROUPS_AT;
        loop {
            match reading.at(at, self.expected)? {
                At::Group(group) => at = self.group(reading, at, group)?,
                At::Nothing(what) => {
                    if is_last && !reading.was_synced(at, self.expected)? {
                        break;
                    }
                    match self.skip(reading, at, what)? {
                        Some(next) => at = next,
                        None => break,
                    }
                }
            }
        }
        if is_last && let Some(end) = reading.window.end_of_nonzero(at)? {
            marks::TORN_LOG.hit();
            let path = reading.path.to_owned();
            self.recovery.dropped = Some(Dropped { path, offset: at, bytes: end - at });
        }
        Ok(at)
    }

    /// Replays the group at `at`, and returns the offset after it.
    fn group(&mut self, reading: &mut Reading<'_>, at: u64, group: GroupHeader) -> Result<u64> {
        let body = reading.window.bytes(at + GROUP_HEADER_LEN as u64, group.body_len as usize)?;
        let (records, bytes) = (&mut self.recovery.records, &mut self.recovery.bytes);
        let whole = self.decoder.records(&group, body, |record| {
            *records += 1;
            *bytes += record.payload.len() as u64;
            (self.replay)(record)
        })?;
        if whole {
            self.expected = group.last_seq + 1;
        } else {
            // The checksum is right, so these bytes were written as they are. They are not the end of the log.
            self.refuse(reading.path, at, "a group with a valid checksum does not consist of records")?;
            self.lose_up_to(group.last_seq);
        }
        Ok(at + group.group_len())
    }

    /// Handles damage at `at`: returns an error, or the offset of the next complete group, if there
    /// is one. The numbers before that group are lost.
    fn skip(&mut self, reading: &mut Reading<'_>, at: u64, what: &str) -> Result<Option<u64>> {
        self.refuse(reading.path, at, what)?;
        let Some((next, first_seq)) = reading.next_group(at, self.expected)? else { return Ok(None) };
        if self.expected == 0 {
            self.expected = first_seq;
        }
        self.lose_up_to(first_seq - 1);
        Ok(Some(next))
    }

    fn refuse(&mut self, path: &Path, at: u64, what: &str) -> Result<()> {
        self.recovery.damaged = true;
        match self.options.on_damage {
            OnDamage::Refuse => Err(Error::corrupt(path, at, what)),
            OnDamage::Skip => Ok(()),
        }
    }

    /// Reports the numbers up to `last` that were not replayed.
    fn lose_up_to(&mut self, last: Seq) {
        if last >= self.expected.max(1) {
            self.recovery.lost.push(Lost { first: self.expected.max(1), last });
            self.expected = last.saturating_add(1);
        }
    }
}

/// A segment being read.
struct Reading<'a> {
    path: &'a Path,
    seeds: Seeds,
    window: Window<'a>,
    limit: Option<End>,
}

impl Reading<'_> {
    /// Returns the group at `at`, if it is complete and its numbers start at `expected`.
    fn at(&mut self, at: u64, expected: Seq) -> Result<At> {
        let Some(group) = self.header(at)? else {
            return Ok(At::Nothing("a group that was written is incomplete or missing"));
        };
        if !self.body_is_whole(at, &group)? {
            return Ok(At::Nothing("the checksum of a group does not match"));
        }
        if group.first_seq != expected {
            return Ok(At::Nothing("the numbers of a group do not continue the previous ones"));
        }
        Ok(At::Group(group))
    }

    /// Returns the header at `at`, if there is a valid header whose group does not exceed the end.
    fn header(&mut self, at: u64) -> Result<Option<GroupHeader>> {
        let end = self.limit.map_or(u64::MAX, |limit| limit.offset).min(self.window.len());
        let bytes = self.window.bytes(at, GROUP_HEADER_LEN)?;
        let group = GroupHeader::decode(bytes, at, self.seeds);
        Ok(group.filter(|g| {
            let fits = end.checked_sub(at).is_some_and(|left| g.group_len() <= left);
            let numbered = g.first_seq > 0 && g.first_seq <= g.last_seq && g.last_seq <= LAST_SEQ;
            fits && numbered
        }))
    }

    fn body_is_whole(&mut self, at: u64, group: &GroupHeader) -> Result<bool> {
        let body = self.window.bytes(at + GROUP_HEADER_LEN as u64, group.body_len as usize)?;
        Ok(group.matches(body, at, self.seeds))
    }

    /// True if a later group declares that bytes at or after `at` were durable. The header of that
    /// group suffices: it has its own checksum, so the rest of the group may be torn.
    fn was_synced(&mut self, at: u64, expected: Seq) -> Result<bool> {
        let mut next = at + ALIGN;
        while let Some(found) = self.next_word(next)? {
            let bytes = self.window.bytes(found, GROUP_HEADER_LEN)?;
            if GroupHeader::decode(bytes, found, self.seeds).is_some_and(|g| g.synced > at && g.first_seq >= expected) {
                return Ok(true);
            }
            next = found + ALIGN;
        }
        Ok(false)
    }

    /// The first complete group at or after `from` whose numbers are not below `expected`: its
    /// offset and its first number.
    fn next_group(&mut self, from: u64, expected: Seq) -> Result<Option<(u64, Seq)>> {
        let mut next = from;
        while let Some(found) = self.next_word(next)? {
            if let Some(group) = self.header(found)?
                && group.first_seq >= expected
                && self.body_is_whole(found, &group)?
            {
                return Ok(Some((found, group.first_seq)));
            }
            next = found + ALIGN;
        }
        Ok(None)
    }

    /// The offset of the first aligned word at or after `from` that is not all zeros.
    fn next_word(&mut self, from: u64) -> Result<Option<u64>> {
        let found = self.window.next_nonzero(from)?;
        Ok(found.map(|at| at - at % ALIGN))
    }
}
