//! The undamaged parts of the log.

use super::entry::{OwnedEntry, most_frequent, readable};
use crate::batch::{LogRecord, decode_record};
use crate::error::{Result, check_stop};
use crate::report::LostNumbers;
use alluvium_codec::entry::Seq;
use alluvium_env::Env;
use alluvium_lsm::VersionEdit;
use alluvium_wal::{Group, SegmentHeader, Walk, WalkedSegment};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The log of a damaged store.
#[derive(Default)]
pub(super) struct SalvagedLog {
    /// The operations of each partition, in their order.
    pub entries: Vec<Vec<OwnedEntry>>,
    /// For each partition, the number up to which it is flushed at least, according to the notes.
    pub flushed: Vec<Seq>,
    pub lost: Vec<LostNumbers>,
    pub notes: Vec<String>,
    /// Descriptions of an incomplete end of the log, which was being written when the process ended.
    pub torn: Vec<String>,
    /// The directory of the log.
    pub dir: PathBuf,
    /// According to the newest note, the log below this number was removed.
    pub needed: Seq,
    /// The number that should come next; 0 at the beginning.
    pub expected: Seq,
    /// The last number before the oldest segment.
    pub released: Seq,
    pub segments: usize,
    /// True if the end of the log is not known.
    pub open_end: bool,
    /// Set to stop reading.
    pub stop: Arc<AtomicBool>,
}

/// The id of the database that most segments name.
pub(super) fn id_of(env: &Env, dir: &Path) -> Result<Option<u64>> {
    let mut ids = Vec::new();
    if env.fs.exists(dir)? {
        for (number, path) in readable(alluvium_wal::list_segments(env, dir))?.unwrap_or_default() {
            ids.extend(header_of(env, number, &path)?.map(|header| header.database_id));
        }
    }
    Ok(most_frequent(ids))
}

/// The header of a segment; `None` if it is damaged or cannot be read.
fn header_of(env: &Env, number: u64, path: &Path) -> Result<Option<SegmentHeader>> {
    let walk = Walk { number, limit: Some(0), ..Walk::default() };
    let walked = readable(alluvium_wal::walk_segment(env, path, walk, &mut |_| Ok(())))?;
    Ok(walked.ok().and_then(|walked| walked.header))
}

impl SalvagedLog {
    pub fn read(env: &Env, dir: &Path, id: Option<u64>, partitions: u32, stop: &Arc<AtomicBool>) -> Result<Self> {
        let (entries, flushed) = (vec![Vec::new(); partitions as usize], vec![0; partitions as usize]);
        let mut log = Self { entries, flushed, dir: dir.to_owned(), stop: stop.clone(), ..Self::default() };
        let segments = log.own_segments(env, id)?;
        log.segments = segments.len();
        let mut before: Option<u64> = None;
        let mut followed = false;
        for (at, (number, path)) in segments.iter().enumerate() {
            check_stop(stop)?;
            let next = segments.get(at + 1).filter(|(next, _)| *next == number + 1);
            // The header of the next segment records the end of this one. Bytes after that end were never valid.
            let limit = match next {
                Some((next, path)) => header_of(env, *next, path)?.and_then(|header| header.previous),
                None => None,
            };
            if before.is_some_and(|before| before + 1 != *number) {
                log.notes.push(format!("segments of the log are missing before {}", path.display()));
            }
            before = Some(*number);
            let walk = Walk { number: *number, database_id: id, limit: limit.map(|end| end.offset) };
            let head = alluvium_wal::walk_segment(env, path, Walk { limit: Some(0), ..walk }, &mut |_| Ok(()));
            let head = match readable(head)? {
                Ok(head) => head,
                Err(why) => {
                    log.notes.push(format!("a segment of the log is lost: {why}"));
                    log.open_end = true;
                    continue;
                }
            };
            log.begin(&head, at == 0);
            let found = alluvium_wal::walk_segment(env, path, walk, &mut |group| {
                log.group(group);
                Ok(())
            })?;
            log.end(path, &found, next.is_none(), followed);
            if found.followed && at + 1 == segments.len() {
                let file = path.display();
                log.notes.push(format!("the segment of the log after {file} is missing: the last writes are lost"));
                log.open_end = true;
            }
            followed = found.followed;
        }
        Ok(log)
    }

    /// The segments of this database. Segments of another database are ignored, including the end of the previous
    /// segment that their headers record.
    fn own_segments(&mut self, env: &Env, id: Option<u64>) -> Result<Vec<(u64, PathBuf)>> {
        if !env.fs.exists(&self.dir)? {
            return Ok(Vec::new());
        }
        let all = readable(alluvium_wal::list_segments(env, &self.dir))?.unwrap_or_else(|why| {
            self.notes.push(why);
            Vec::new()
        });
        let mut own = Vec::new();
        for (number, path) in all {
            let header = header_of(env, number, &path)?;
            if header.is_some_and(|header| id.is_some_and(|id| id != header.database_id)) {
                self.notes.push(format!("{} belongs to another database and is left out", path.display()));
            } else {
                own.push((number, path));
            }
        }
        Ok(own)
    }

    /// Begins a segment. If its header is undamaged, it has the last number of the previous segment.
    fn begin(&mut self, head: &WalkedSegment, first: bool) {
        let Some(header) = head.header else { return };
        self.open_end = false;
        let last = header.previous.map_or(0, |end| end.last_seq);
        // For numbers before the first readable segment, `needed` determines whether they are missing.
        if first || self.expected == 0 {
            self.released = last;
        } else {
            self.lose(last);
        }
        self.expected = header.first_seq;
    }

    fn group(&mut self, group: &Group<'_>) {
        self.open_end = false;
        if self.expected > 0 {
            self.lose(group.first_seq - 1);
        } else {
            self.released = group.first_seq.saturating_sub(1);
        }
        self.expected = group.last_seq + 1;
        for record in &group.records {
            match decode_record(record) {
                Ok(LogRecord::Batch(ops)) => {
                    for (partition, entry) in ops {
                        if let Some(entries) = self.entries.get_mut(partition as usize) {
                            entries.push(OwnedEntry::of(&entry));
                        }
                    }
                }
                Ok(LogRecord::Flushed { needed, flushed }) => {
                    self.needed = self.needed.max(needed);
                    for (partition, seq) in flushed {
                        if let Some(noted) = self.flushed.get_mut(partition as usize) {
                            *noted = seq.max(*noted);
                        }
                    }
                }
                Err(_) => self.lost.push(LostNumbers { first: record.first_seq, last: record.last_seq }),
            }
        }
    }

    /// Ends a segment. `known` is true if the previous segment records that this segment was durable.
    fn end(&mut self, path: &Path, found: &WalkedSegment, is_last: bool, known: bool) {
        let file = path.display();
        if found.header.is_none() {
            self.notes.push(format!("the header of {file} is damaged"));
        }
        for gap in &found.gaps {
            self.notes.push(format!("{file} is damaged at offset {}: {}", gap.offset, gap.what));
        }
        if let Some(what) = found.tail {
            let (offset, bytes) = (found.end, found.tail_bytes);
            let (why, notes) = if is_last && found.seal.is_none() {
                ("an incomplete write is cut off, or the last writes are damaged", &mut self.torn)
            } else {
                ("the rest is damaged", &mut self.notes)
            };
            notes.push(format!("{file} ends at offset {offset}, with {bytes} bytes after it ({what}): {why}"));
        }
        for part in &found.unreadable {
            self.notes.push(format!(
                "{file}: {} bytes from offset {} on cannot be read: {}",
                part.bytes, part.offset, part.why
            ));
        }
        // The unreadable part after the last readable group may have contained further groups.
        self.open_end |= is_last && found.unreadable.last().is_some_and(|part| part.offset + part.bytes > found.end);
        match found.seal {
            Some(seal) => self.lose(seal.last_seq),
            // A new segment gets a header and space for groups before anything else is written to it.
            None if is_last => self.open_end |= found.groups == 0 && self.is_cut(found, known),
            // This segment was complete before the next one was begun. The header or the groups of the next one may
            // show its end.
            None => self.open_end |= found.tail.is_some() || found.groups == 0 && found.header.is_none(),
        }
    }

    /// True if a segment without groups has lost its groups, that is, if it is not a segment that was being created.
    fn is_cut(&self, found: &WalkedSegment, known: bool) -> bool {
        let unfinished = self.segments > 1 && !known && found.header.is_none() && found.tail_bytes == 0;
        !unfinished && (found.header.is_none() || found.file_bytes < alluvium_wal::GROUPS_AT)
    }

    /// Records that the numbers up to `last` were written and are missing.
    pub fn lose(&mut self, last: Seq) {
        if last >= self.expected.max(1) {
            self.lost.push(LostNumbers { first: self.expected.max(1), last });
            self.expected = last + 1;
        }
    }

    /// True if the log may lack numbers that the files of a version do not have either.
    pub fn lacks_after(&self, version: &VersionEdit) -> bool {
        let flushed = version.flushed_seq.unwrap_or(0);
        let begins_late = self.released > flushed && self.released >= self.needed;
        self.segments == 0 || self.open_end || begins_late || self.lost.iter().any(|lost| lost.last > flushed)
    }
}
