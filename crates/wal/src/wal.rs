//! The log.

use crate::layout::{self, End, GROUPS_AT, GroupHeader, Header, SEAL_AT, Seeds};
use crate::marks;
use crate::recover::{self, Replayed};
use crate::segment::{self, NotCreated, Segment};
use crate::types::{Options, Position, Purpose, Record, Recovery};
use crate::walk::{Walk, check_whole, limit_of, records_from, walk_segment};
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::MAX_NUMBER;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_env::sync::{Condvar, Mutex, MutexGuard};
use alluvium_env::{Env, Error, File, OpenMode, Result};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The write-ahead log of a database.
///
/// After an error on writing to or syncing an existing segment, the log is *poisoned*: the contents
/// of the disk are unknown, so every later call returns that error. Only a recovery can read the
/// contents again.
///
/// Locks are taken in the order `releasing`, `appender`, `directory`, `shared`. `appender` is held
/// while writing; `shared` is never held during I/O.
pub struct Wal {
    env: Env,
    dir: PathBuf,
    options: Options,
    appender: Mutex<Appender>,
    shared: Mutex<Shared>,
    /// Notified when `synced`, `syncing` or `failed` of [`Shared`] change.
    changed: Condvar,
    releasing: Mutex<()>,
    /// Held while the directory is synced, until a failure is recorded, because a failed sync may
    /// lose the name of another segment.
    directory: Mutex<()>,
    /// True if the last attempt to create a segment of the usual size found too little space.
    short: AtomicBool,
}

/// The state of the commit leader.
struct Appender {
    file: Arc<dyn File>,
    seeds: Seeds,
    number: u64,
    offset: u64,
    /// The length of the segment.
    capacity: u64,
    /// The bytes of the segment's groups before compression.
    raw: u64,
    next_seq: Seq,
    group: Vec<u8>,
}

struct Shared {
    /// The file of the last segment.
    file: Arc<dyn File>,
    end: Position,
    synced: Position,
    /// True while a thread syncs. No other thread syncs until that sync has ended, so that every
    /// waiting thread learns of a failure that the system reports only once.
    syncing: bool,
    failed: Option<Error>,
    closed: bool,
    /// Bytes of groups written since the log was opened.
    written: u64,
    /// The segments, oldest first; the last one is being written.
    segments: VecDeque<Segment>,
}

/// A buffer of a group that is larger than this number of bytes is freed after use.
const KEEP_BUFFER: usize = 4 << 20;

/// A log that was read, but to which no segment was added yet.
pub struct Recovered {
    env: Env,
    dir: PathBuf,
    options: Options,
    replayed: Replayed,
}

impl Recovered {
    /// The report.
    pub fn recovery(&self) -> &Recovery {
        &self.replayed.recovery
    }

    /// True if nothing was written to the log since it was created, and it was not closed: the
    /// creation of the database may be unfinished.
    pub fn is_as_made(&self) -> bool {
        self.replayed.is_as_made()
    }

    /// Starts a new segment after the records that were found: the second half of [`Wal::recover`].
    ///
    /// # Errors
    /// I/O errors. After an error the log can be read again.
    pub fn start(self) -> Result<Wal> {
        let Self { env, dir, options, replayed } = self;
        let Replayed { recovery, segments, end, trimmable } = replayed;
        if !segments.is_empty() {
            // The name of the last segment must be durable, like its records and like the header
            // that will name it.
            env.fs.sync_dir(&dir)?;
        }
        let mut segments = VecDeque::from(segments);
        let last_number = segments.back().map_or(0, |last| last.number);
        check_number(&dir, last_number)?;
        let header = Header {
            database_id: options.database_id,
            number: last_number + 1,
            first_seq: recovery.next_seq().max(options.next_seq),
            previous: end,
        };
        // Opening must succeed on a nearly full disk, because otherwise nothing could be deleted.
        let bytes = segment::length(&env, &dir, &options, 0, Purpose::Upkeep)?;
        let (file, bytes) = segment::create_any(&env, &dir, &header, bytes, Some(segment::small(0)))?;
        let short = AtomicBool::new(bytes < segment::whole(&options, 0));
        // The closed segment is only trimmed, so a failure to open it is ignored.
        if let (Some(closed), Some(end)) = (segments.back_mut(), end)
            && let Ok(file) = env.fs.open(&segment::path(&dir, closed.number), OpenMode::ReadWrite)
        {
            segment::mark_followed(&*file, Seeds::new(options.database_id, closed.number), closed.number);
            if trimmable {
                segment::trim(&*file, closed, end.offset);
            }
        }
        segments.push_back(new_segment(&header, bytes));
        let start = Position { segment: header.number, offset: GROUPS_AT };
        let appender = Appender::new(Arc::clone(&file), &header, bytes, Vec::new());
        let shared = Shared {
            file,
            end: start,
            synced: start,
            syncing: false,
            failed: None,
            closed: false,
            written: 0,
            segments,
        };
        Ok(Wal {
            env,
            dir,
            options,
            appender: Mutex::new(appender),
            shared: Mutex::new(shared),
            changed: Condvar::new(),
            releasing: Mutex::new(()),
            directory: Mutex::new(()),
            short,
        })
    }
}

impl Wal {
    /// Opens the log in `dir`, an existing directory that may be empty, replays its records in
    /// order, and starts a new segment after them. Old segments are not overwritten.
    ///
    /// When this returns, the new segment's header is durable. The header records where the old log
    /// ends, so a tail that was cut off is never replayed. Every call creates a segment, so
    /// [`Wal::release_below`] should follow.
    ///
    /// # Errors
    /// As [`Wal::read`] and [`Recovered::start`].
    pub fn recover(
        env: &Env,
        dir: &Path,
        options: Options,
        replay: &mut dyn FnMut(Record<'_>) -> Result<()>,
    ) -> Result<(Self, Recovery)> {
        let read = Self::read(env, dir, options, replay)?;
        let recovery = read.recovery().clone();
        Ok((read.start()?, recovery))
    }

    /// Creates a log in `dir`, an existing empty directory; its first number is `first_seq`. Lower
    /// numbers count as released: the caller must record that in the log, or the next open reports
    /// them as lost.
    ///
    /// # Errors
    /// I/O errors.
    pub fn begin(env: &Env, dir: &Path, options: Options, first_seq: Seq) -> Result<Self> {
        let last_seq = first_seq.max(1) - 1;
        let end = (last_seq > 0).then_some(End { offset: GROUPS_AT, last_seq });
        let recovery = Recovery { last_seq, ..Recovery::default() };
        let replayed = Replayed { recovery, segments: Vec::new(), end, trimmable: false };
        Recovered { env: env.clone(), dir: dir.to_owned(), options, replayed }.start()
    }

    /// Calls `visit` with the records from the record that contains `from` to the record that
    /// contains `to`. Both must be in the log; they are read from its files. Other threads may
    /// append concurrently. The caller ensures that none of these records is released.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a record is damaged or missing; I/O errors; errors of `visit`.
    pub fn read_back(&self, from: Seq, to: Seq, visit: &mut dyn FnMut(Record<'_>) -> Result<()>) -> Result<()> {
        let (segments, end) = self.check(|shared| (shared.segments.clone(), shared.end))?;
        let mut last_seq = 0;
        for (at, segment) in segments.iter().enumerate() {
            if segment.last_seq < from || segment.last_seq < segment.first_seq || segment.first_seq > to {
                continue;
            }
            let path = segment::path(&self.dir, segment.number);
            let limit = match segments.get(at + 1) {
                Some(next) => limit_of(&self.env, &segment::path(&self.dir, next.number), next.number)?,
                None => Some(end.offset),
            };
            let walk = Walk { number: segment.number, database_id: Some(self.options.database_id), limit };
            let found = walk_segment(&self.env, &path, walk, &mut |group| match group.first_seq > to {
                true => Ok(()),
                false => records_from(group, from, visit),
            })?;
            check_whole(&path, &found)?;
            last_seq = found.last_seq;
        }
        match last_seq < to {
            true => {
                Err(Error::corrupt(&self.dir, 0, format!("number {to} is not in the log, which ends at {last_seq}")))
            }
            false => Ok(()),
        }
    }

    /// The first half of [`Wal::recover`]: replays the records. The end of the log is not decided
    /// yet, so the log can be read again. Replayed records are durable.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for damage (see [`crate::OnDamage`]), for a missing segment, and for
    /// a segment of another database; [`Error::NewerFormat`]; I/O errors; errors of `replay`.
    pub fn read(
        env: &Env,
        dir: &Path,
        options: Options,
        replay: &mut dyn FnMut(Record<'_>) -> Result<()>,
    ) -> Result<Recovered> {
        let replayed = recover::replay(env, dir, &options, replay)?;
        Ok(Recovered { env: env.clone(), dir: dir.to_owned(), options, replayed })
    }

    /// Writes the records as one group: after a crash either the whole group exists or nothing of
    /// it. The numbers continue the numbers of the previous group without gaps. Only the commit
    /// leader calls this. Returns the end of the group, which becomes durable with
    /// [`Wal::sync_to`]. Without records nothing happens. The purpose is growth.
    ///
    /// # Errors
    /// Nothing has changed if no new segment can be created (no space, or too little for the
    /// reserve), if the numbers do not continue, or if the records exceed 4 GiB. Any other error
    /// poisons the log.
    pub fn append(&self, records: &[Record<'_>]) -> Result<Position> {
        self.append_for(Purpose::Growth, records)
    }

    /// As [`Wal::append`], for any purpose. A new segment that uses the reserve is small, and
    /// accepts no growth until the reserve is free again.
    ///
    /// # Errors
    /// As [`Wal::append`].
    pub fn append_for(&self, purpose: Purpose, records: &[Record<'_>]) -> Result<Position> {
        let mut appender = self.appender.lock();
        let synced = self.check(|shared| shared.synced)?;
        if records.is_empty() {
            return Ok(self.end());
        }
        let next_seq = appender.next_seq;
        let mut header = layout::encode_records(&mut appender.group, records, next_seq, GROUPS_AT).map_err(|bad| {
            Error::io("append to", appender.file.path(), io::Error::new(io::ErrorKind::InvalidInput, bad))
        })?;
        let len = appender.group.len() as u64;
        if purpose == Purpose::Growth && appender.capacity < self.options.segment_bytes {
            // This segment was made from the reserve, which is not for growth.
            self.next_length(len, purpose)?;
        }
        // The reserve of the disk is checked when a segment is begun. Sorted files take space for what a segment holds,
        // so a segment takes no more, and needs as much free space, as without compression.
        let raw = records.iter().map(|record| record.payload.len() as u64).sum::<u64>().max(len);
        let is_full = GROUPS_AT + appender.raw + raw > appender.capacity;
        if is_full && raw > len {
            self.next_length(raw, purpose)?;
        }
        if is_full && appender.offset > GROUPS_AT || appender.offset + len > appender.capacity {
            self.rotate(&mut appender, len, purpose)?;
        }
        if synced.segment == appender.number {
            header.synced = synced.offset;
        }
        appender.write_group(header).map_err(|error| self.poison(error))?;
        appender.raw += raw;
        appender.next_seq = header.last_seq + 1;
        if appender.group.capacity() > KEEP_BUFFER {
            appender.group = Vec::new();
        }
        let mut shared = self.shared.lock();
        shared.end = Position { segment: appender.number, offset: appender.offset };
        shared.written += len;
        if let Some(segment) = shared.segments.back_mut() {
            segment.last_seq = header.last_seq;
        }
        Ok(shared.end)
    }

    /// Starts a new segment, unless the current one is empty, so that [`Wal::release_below`] can
    /// remove all earlier records. The purpose is upkeep, which may use the whole reserve.
    ///
    /// # Errors
    /// As [`Wal::append`].
    pub fn start_segment(&self) -> Result<()> {
        let mut appender = self.appender.lock();
        self.check(|_| ())?;
        if appender.offset > GROUPS_AT {
            self.rotate(&mut appender, 0, Purpose::Upkeep)?;
        }
        Ok(())
    }

    /// Ends the current segment durably, and starts a new one with room for `len` bytes.
    fn rotate(&self, appender: &mut Appender, len: u64, purpose: Purpose) -> Result<()> {
        let end = Position { segment: appender.number, offset: appender.offset };
        check_number(&self.dir, end.segment)?;
        // The length is determined before the sync, so that a refused batch costs nothing.
        let bytes = self.next_length(len, purpose)?;
        self.sync_to(end)?;
        let header = Header {
            database_id: self.options.database_id,
            number: end.segment + 1,
            first_seq: appender.next_seq,
            previous: Some(End { offset: end.offset, last_seq: appender.next_seq - 1 }),
        };
        let small = (purpose < Purpose::Growth).then(|| segment::small(len));
        let _directory = self.directory.lock();
        let made = segment::create_any(&self.env, &self.dir, &header, bytes, small);
        let (file, bytes) = made.map_err(|not| match not {
            NotCreated::Unchanged(error) => self.refused(error),
            NotCreated::Unknown(error) => self.poison(error),
        })?;
        self.check(|_| ())?;
        let short = bytes < segment::whole(&self.options, len);
        if self.short.swap(short, Ordering::Relaxed) && !short {
            marks::DISK_RELIEVED.hit();
        }
        let (old, seeds) = (std::mem::replace(&mut appender.file, Arc::clone(&file)), appender.seeds);
        *appender = Appender::new(Arc::clone(&file), &header, bytes, std::mem::take(&mut appender.group));
        let mut shared = self.shared.lock();
        shared.file = file;
        shared.end = Position { segment: header.number, offset: GROUPS_AT };
        shared.synced = shared.end;
        shared.segments.push_back(new_segment(&header, bytes));
        drop(shared);
        segment::mark_followed(&*old, seeds, end.segment);
        self.trim_closed(&*old, end);
        Ok(())
    }

    /// The length of a segment that is created now.
    fn next_length(&self, len: u64, purpose: Purpose) -> Result<u64> {
        let length = segment::length(&self.env, &self.dir, &self.options, len, purpose);
        length.map_err(|error| self.refused(error))
    }

    /// Records the reason why a segment was not created.
    fn refused(&self, error: Error) -> Error {
        if error.is_displaced() {
            // The directory no longer exists, so no later write can succeed.
            return self.poison(error);
        }
        self.short.fetch_or(error.is_no_space(), Ordering::Relaxed);
        error
    }

    /// Frees the unused space of a closed segment.
    fn trim_closed(&self, file: &dyn File, end: Position) {
        let closed = self.shared.lock().segments.iter().find(|s| s.number == end.segment).cloned();
        let Some(mut closed) = closed else { return };
        segment::trim(file, &mut closed, end.offset);
        let mut shared = self.shared.lock();
        if let Some(segment) = shared.segments.iter_mut().find(|s| s.number == end.segment) {
            segment.bytes = closed.bytes;
        }
    }

    /// Makes all appended records durable, and returns the end of the log.
    ///
    /// # Errors
    /// A failure poisons the log; it is never retried.
    pub fn sync(&self) -> Result<Position> {
        let end = self.check(|shared| shared.end)?;
        self.sync_to(end)?;
        Ok(self.synced())
    }

    /// Everything before this is durable.
    pub fn synced(&self) -> Position {
        self.shared.lock().synced
    }

    /// The number of bytes at the end of the log that are not durable yet. A segment is durable
    /// before the next one is begun.
    pub fn unsynced_bytes(&self) -> u64 {
        let shared = self.shared.lock();
        let synced = if shared.synced.segment == shared.end.segment { shared.synced.offset } else { GROUPS_AT };
        shared.end.offset.saturating_sub(synced)
    }

    /// The end of the appended records.
    pub fn end(&self) -> Position {
        self.shared.lock().end
    }

    /// Waits until everything before `position` is durable. One caller syncs for all waiting
    /// callers. Other threads may append concurrently. A position after the end counts as the end.
    ///
    /// # Errors
    /// The error that poisoned the log, unless everything before `position` was durable by then.
    pub fn sync_to(&self, position: Position) -> Result<()> {
        let mut shared = self.shared.lock();
        let position = position.min(shared.end);
        while shared.synced < position {
            if shared.syncing {
                self.changed.wait(&mut shared);
                continue;
            }
            shared.usable(&self.dir)?;
            let (target, file) = (shared.end, Arc::clone(&shared.file));
            shared.syncing = true;
            drop(shared);
            let result = file.sync();
            shared = self.shared.lock();
            shared.syncing = false;
            match result {
                Ok(()) => shared.synced = shared.synced.max(target),
                Err(error) => shared.fail(error),
            }
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Removes the oldest closed segments as long as they hold only numbers below `seq`.
    /// Returns the bytes freed.
    ///
    /// # Errors
    /// If a file cannot be removed, the remaining segments are left for a later call. If the
    /// directory cannot be synced, the log is poisoned.
    pub fn release_below(&self, seq: Seq) -> Result<u64> {
        let releasing = self.releasing.lock();
        let mut freed = 0;
        while let Some(oldest) = self.check(|shared| shared.releasable(seq))? {
            match self.env.fs.remove(&segment::path(&self.dir, oldest.number)) {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
            // Segments are removed one at a time: if a crash undid the removal of only an earlier
            // segment, a segment would be missing between two others.
            let _directory = self.directory.lock();
            self.env.fs.sync_dir(&self.dir).map_err(|error| self.poison(error))?;
            self.shared.lock().segments.pop_front();
            freed += oldest.bytes;
        }
        drop(releasing);
        Ok(freed)
    }

    /// True if [`Wal::release_below`] would remove something.
    pub fn can_release_below(&self, seq: Seq) -> bool {
        self.shared.lock().releasable(seq).is_some()
    }

    /// Bytes of groups written since the log was opened.
    pub fn bytes_written(&self) -> u64 {
        self.shared.lock().written
    }

    /// The first number in the oldest segment.
    pub fn oldest_seq(&self) -> Seq {
        self.shared.lock().segments.front().map_or(0, |oldest| oldest.first_seq)
    }

    /// The length of all segments, preallocated space included, in bytes.
    pub fn bytes_on_disk(&self) -> u64 {
        self.shared.lock().segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The bytes of the segments up to the last written one: [`Wal::bytes_on_disk`] without the
    /// preallocated space.
    pub fn bytes_used(&self) -> u64 {
        let shared = self.shared.lock();
        let before = shared.segments.iter().rev().skip(1).map(|segment| segment.bytes).sum::<u64>();
        before + shared.end.offset
    }

    /// True if, for lack of space, a segment was refused or created smaller than usual, and no
    /// segment of the usual size was created since.
    pub fn is_short(&self) -> bool {
        self.short.load(Ordering::Relaxed)
    }

    /// The error that poisoned the log, if one did.
    pub fn poisoned(&self) -> Option<Error> {
        self.shared.lock().failed.clone()
    }

    /// Closes the log cleanly: makes everything durable, seals the last segment, so that a missing
    /// tail counts as damage later, and frees preallocated space. Every later append or sync fails.
    /// A log that was not closed is recovered as after a crash.
    ///
    /// After this has returned, with or without an error, the log writes and removes nothing any
    /// more.
    ///
    /// # Errors
    /// I/O errors, which poison the log.
    pub fn close(&self) -> Result<()> {
        let _releasing = self.releasing.lock();
        let appender = self.appender.lock();
        let sealed = self.seal(&appender);
        self.shared.lock().closed = true;
        self.changed.notify_all();
        sealed
    }

    fn seal(&self, appender: &Appender) -> Result<()> {
        self.sync()?;
        let end = End { offset: appender.offset, last_seq: appender.next_seq - 1 };
        let seal = layout::encode_seal(end, appender.seeds);
        appender
            .file
            .write_at(&seal, SEAL_AT)
            .and_then(|()| appender.file.set_len(end.offset))
            .and_then(|()| appender.file.sync())
            .map_err(|error| self.poison(error))?;
        if let Some(segment) = self.shared.lock().segments.back_mut() {
            segment.bytes = end.offset;
        }
        Ok(())
    }

    /// Returns the result of `f`, if the log can be used.
    fn check<T>(&self, f: impl FnOnce(&Shared) -> T) -> Result<T> {
        let shared = self.shared.lock();
        shared.usable(&self.dir)?;
        Ok(f(&shared))
    }

    /// Poisons the log with `error`, unless it is poisoned already, and returns the error that
    /// poisoned it.
    fn poison(&self, error: Error) -> Error {
        let mut shared: MutexGuard<'_, Shared> = self.shared.lock();
        shared.fail(error.clone());
        let first = shared.failed.clone();
        drop(shared);
        self.changed.notify_all();
        first.unwrap_or(error)
    }
}

impl Appender {
    fn new(file: Arc<dyn File>, header: &Header, capacity: u64, group: Vec<u8>) -> Self {
        let seeds = Seeds::new(header.database_id, header.number);
        let (number, next_seq) = (header.number, header.first_seq);
        Self { file, seeds, number, offset: GROUPS_AT, capacity, raw: 0, next_seq, group }
    }

    /// Writes the group in the buffer after the last group.
    fn write_group(&mut self, header: GroupHeader) -> Result<()> {
        layout::finish_group(&mut self.group, header, self.offset, self.seeds);
        self.file.write_at(&self.group, self.offset)?;
        self.offset += self.group.len() as u64;
        Ok(())
    }
}

impl Shared {
    fn usable(&self, dir: &Path) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.closed => Err(Error::io("use", dir, io::Error::other("the log is closed"))),
            None => Ok(()),
        }
    }

    fn fail(&mut self, error: Error) {
        if self.failed.is_none() {
            marks::LOG_POISONED.hit();
            self.failed = Some(error);
        }
    }

    /// The oldest segment, if it is closed and holds only numbers below `seq`.
    fn releasable(&self, seq: Seq) -> Option<Segment> {
        let oldest = self.segments.front().filter(|_| self.segments.len() > 1)?;
        let empty = oldest.last_seq < oldest.first_seq;
        (empty || oldest.last_seq < seq).then(|| oldest.clone())
    }
}

fn new_segment(header: &Header, bytes: u64) -> Segment {
    Segment { number: header.number, first_seq: header.first_seq, last_seq: header.first_seq - 1, bytes }
}

/// Returns an error if no segment can follow the segment with `number`.
fn check_number(dir: &Path, number: u64) -> Result<()> {
    match number < MAX_NUMBER {
        true => Ok(()),
        false => Err(Error::corrupt(dir, 0, "the log has reached the highest segment number")),
    }
}

fn is_not_found(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
