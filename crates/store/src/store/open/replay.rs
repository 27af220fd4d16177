//! Replay applies the records of the log to the memtables. Before anything is changed, the log, its notes and the
//! manifests are compared.

use crate::batch::{LogRecord, decode_record};
use crate::error::Result;
use crate::files::superblock::Superblock;
use crate::files::{LOG_DIR, partition_dir};
use crate::keys::tree_of;
use crate::marks;
use crate::options::Options;
use crate::partitions::Partitions;
use crate::reading;
use crate::report::{CutTail, LostNumbers, OpenReport};
use alluvium_codec::entry::{Kind, MAX_SEQ, Seq};
use alluvium_env::Env;
use alluvium_lsm::Partition;
use alluvium_wal::{OnDamage, Record, Recovered, Recovery, Wal};
use std::path::Path;
use std::sync::Arc;

/// The result of a replay.
pub(super) struct Replayed {
    /// The log, without a segment to write to yet.
    pub log: Recovered,
    pub report: OpenReport,
    /// The last number found in the log and the files.
    pub last: Seq,
    /// The highest id of a tree in an operation or in files. This includes a tree whose creation was lost to damage.
    pub highest_tree: u32,
    /// True if there was damage, and it was accepted.
    pub damaged: bool,
}

/// The replay of a log into the partitions.
pub(super) struct Replay<'a> {
    pub env: &'a Env,
    pub path: &'a Path,
    pub options: &'a Options,
    pub superblock: Superblock,
    pub partitions: &'a Partitions,
    /// True if the database is being created.
    pub created: bool,
}

impl Replay<'_> {
    /// Replays the log.
    pub fn run(&self) -> Result<Replayed> {
        let Self { env, options, partitions, .. } = *self;
        let dir = &self.path.join(LOG_DIR);
        env.fs.create_dir_all(dir)?;
        env.fs.sync_dir(self.path)?;
        let flushed: Vec<Seq> = partitions.iter().map(|p| p.flushed_seq()).collect();
        // The files of a built index may have numbers above the flushed ones. No number may be given out twice.
        let highest_seq = || partitions.iter().map(|p| p.highest_seq()).max().unwrap_or(0);
        let highest = highest_seq();
        let wal_options = &alluvium_wal::Options {
            segment_bytes: if options.read_only { reading::SEGMENT_BYTES } else { options.log_segment_bytes() },
            database_id: self.superblock.database_id,
            on_damage: if options.accept_log_damage { OnDamage::Skip } else { OnDamage::Refuse },
            next_seq: highest + 1,
            must_exist: !self.created,
            reserve_bytes: options.disk_reserve(),
        };
        let highest_tree = partitions.iter().map(|p| p.highest_tree()).max().unwrap_or(0);
        let mut reading = Reading { replay: self, dir, wal_options, flushed, highest, highest_tree, needed: 0 };
        let log = Wal::read(env, dir, wal_options.clone(), &mut |record| reading.record(record))?;
        let found = log.recovery();
        let lost = reading.lost(found)?;
        let report = OpenReport {
            clean: found.clean,
            replayed_records: found.records,
            replayed_bytes: found.bytes,
            dropped: found.dropped.as_ref().map(|d| CutTail { path: d.path.clone(), offset: d.offset, bytes: d.bytes }),
            lost: found.lost.iter().map(|l| numbers(l.first, l.last)).chain(lost.iter().copied()).collect(),
            ..OpenReport::default()
        };
        let damaged = found.damaged || !lost.is_empty();
        let last = highest_seq().max(found.next_seq() - 1);
        Ok(Replayed { report, last, highest_tree: reading.highest_tree, damaged, log })
    }
}

fn numbers(first: Seq, last: Seq) -> LostNumbers {
    LostNumbers { first, last }
}

struct Reading<'a> {
    replay: &'a Replay<'a>,
    /// The directory of the log.
    dir: &'a Path,
    wal_options: &'a alluvium_wal::Options,
    /// For each partition, the number up to which it was flushed when it was opened.
    flushed: Vec<Seq>,
    /// The highest number in files when they were opened. Includes files that no flush wrote.
    highest: Seq,
    highest_tree: u32,
    /// According to the newest note, the log below this number was released.
    needed: Seq,
}

impl Reading<'_> {
    fn bad(&self, record: &Record<'_>, what: String) -> alluvium_env::Error {
        alluvium_env::Error::corrupt(self.dir, 0, format!("number {}: {what}", record.first_seq))
    }

    fn decode<'r>(&self, record: &Record<'r>) -> alluvium_env::Result<LogRecord<'r>> {
        decode_record(record).map_err(|error| self.bad(record, error.to_string()))
    }

    /// Checks a note of the numbers up to which partitions are flushed, and of the number from which the log is needed.
    fn note(&mut self, needed: Seq, flushed: &[(u32, Seq)]) -> alluvium_env::Result<()> {
        self.needed = self.needed.max(needed);
        match flushed.iter().find(|(p, seq)| self.flushed.get(*p as usize).is_none_or(|f| f < seq)) {
            None => Ok(()),
            Some((at, seq)) => {
                let what = format!("the manifest of partition {at} lost a flush: it is written up to {seq}");
                Err(alluvium_env::Error::corrupt(&self.replay.path.join(partition_dir(*at)), 0, what))
            }
        }
    }

    fn record(&mut self, record: Record<'_>) -> alluvium_env::Result<()> {
        match self.decode(&record)? {
            LogRecord::Batch(ops) => {
                for (partition, entry) in ops {
                    let at = partition as usize;
                    let found = self
                        .replay
                        .partitions
                        .get(at)
                        .ok_or_else(|| self.bad(&record, format!("no partition {at}")))?;
                    self.highest_tree = self.highest_tree.max(tree_of(entry.key));
                    if entry.seq > self.flushed[at] {
                        match entry.kind {
                            // There are no snapshots yet, so only the newest version is read.
                            Kind::RangeDelete => {
                                found.active().delete_range(entry.key, entry.value, entry.seq, &[MAX_SEQ]);
                            }
                            _ => found.active().apply(std::iter::once(entry)),
                        }
                    }
                }
            }
            LogRecord::Flushed { needed, flushed } => self.note(needed, &flushed)?,
        }
        self.flush_if_large(record.last_seq)
    }

    /// Keeps recovery within the budget, even if the budget was larger when the log was written.
    fn flush_if_large(&self, last: Seq) -> alluvium_env::Result<()> {
        let charged = |p: &Arc<Partition>| p.active().charged_bytes();
        let raw = |p: &Arc<Partition>| p.active().raw_bytes();
        let many = |limit: u64| self.replay.partitions.iter().map(raw).sum::<u64>() > limit.saturating_mul(4);
        let large = self.replay.partitions.iter().map(charged).sum::<usize>() > self.replay.options.memtable_bytes();
        let full = self.replay.partitions.iter().any(|partition| charged(partition) > alluvium_memtable::FULL_BYTES);
        if !large && !full && !self.replay.options.tuning.memtable_bytes.is_some_and(many) {
            return Ok(());
        }
        marks::FLUSH_DURING_REPLAY.hit();
        let flush = || {
            for partition in &**self.replay.partitions {
                partition.rotate(last + 1);
                while partition.flush_oldest()? {}
            }
            Ok(())
        };
        match flush() {
            // Files that a crash has left over may fill the disk.
            Err(error) if alluvium_env::Error::is_no_space(&error) => {
                self.check_log()?;
                self.replay.partitions.iter().try_for_each(|p| p.remove_left_overs())?;
                flush()
            }
            done => done,
        }
    }

    /// Returns an error if files that seem left over may still be needed. This is the case if the part of the log that
    /// was not read yet is damaged, or has a note that shows that a manifest has lost a flush.
    fn check_log(&self) -> alluvium_env::Result<()> {
        let mut ahead = Reading { flushed: self.flushed.clone(), needed: 0, ..*self };
        let log = Wal::read(self.replay.env, self.dir, self.wal_options.clone(), &mut |record| match ahead
            .decode(&record)?
        {
            LogRecord::Flushed { needed, flushed } => ahead.note(needed, &flushed),
            LogRecord::Batch(_) => Ok(()),
        })?;
        ahead.lost(log.recovery()).map(drop)
    }

    /// The numbers that the log has lost at its beginning or end, or an error that describes the loss.
    fn lost(&self, found: &Recovery) -> alluvium_env::Result<Vec<LostNumbers>> {
        let highest_flushed = self.flushed.iter().max().copied().unwrap_or(0);
        let mut lost = Vec::new();
        // A note is durable before the segments that it releases are removed.
        if found.released > 0 && found.released >= self.needed {
            self.refuse(format!("its oldest segment is missing: it begins after number {}", found.released))?;
            lost.push(numbers(self.needed.max(1), found.released));
        }
        // Before a sorted file is written, the log is synced up to all of its numbers.
        let (ends, files) = (found.last_seq, self.highest);
        if ends < highest_flushed {
            self.refuse(format!("its end is missing: it ends at number {ends}, and files reach to {files}"))?;
        }
        // For files that no flush wrote, this loss is reported and not refused: a database of an older build whose
        // damage was accepted looks the same.
        if ends < files {
            lost.push(numbers(ends + 1, files));
        }
        // An earlier open skipped these numbers because it accepted the damage. It may have ended before it wrote the
        // consequences.
        lost.extend(found.passed_over.iter().map(|gap| numbers(gap.first, gap.last)));
        if found.end_missing && lost.is_empty() {
            lost.push(numbers(ends + 1, files.max(ends + 1)));
        }
        // If there is no segment, the last number is not known.
        if found.damaged && found.records == 0 && found.lost.is_empty() && lost.is_empty() {
            let lowest = self.flushed.iter().min().copied().unwrap_or(0);
            lost.push(numbers(lowest + 1, files + 1));
        }
        Ok(lost)
    }

    fn refuse(&self, what: String) -> alluvium_env::Result<()> {
        match self.replay.options.accept_log_damage {
            true => Ok(()),
            false => Err(alluvium_env::Error::corrupt(self.dir, 0, what)),
        }
    }
}
