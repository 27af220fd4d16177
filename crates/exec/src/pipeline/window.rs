//! `$setWindowFields` and `$densify`: stages over sequences of documents.

use super::gather::{Files, FromFiles, Held, STEP};
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use crate::limits::Interrupted;
use crate::source::MemoryAccount;
use alluvium_query::pipeline::{Densify, PipelineError, Record, WindowFields};
use std::sync::Arc;

/// `$setWindowFields`: the documents are sorted, in memory or in files; those of one partition are in memory
/// together.
pub(super) struct Windows<H: Host> {
    input: Box<dyn Stream<H>>,
    stage: Arc<WindowFields>,
    /// Its report.
    at: Option<usize>,
    sorted: Option<Sorted<H>>,
    /// The first document of the next partition, with the partition's key.
    next: Option<(Vec<u8>, Record)>,
    made: std::vec::IntoIter<Record>,
    account: Option<H::Account>,
}

enum Sorted<H: Host> {
    Memory(std::vec::IntoIter<Record>),
    Files(FromFiles<H>),
}

impl<H: Host> Windows<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<WindowFields>, at: Option<usize>) -> Self {
        Self { input, stage, at, sorted: None, next: None, made: Vec::new().into_iter(), account: None }
    }

    fn sort(&mut self, run: &mut Run<H>) -> Result<Sorted<H>, H::Error> {
        let (bytes_max, limits) = (run.settings.stage_bytes_max, run.settings.limits.clone());
        let account = self.account.insert(run.host.account());
        let (mut records, mut bytes) = (Vec::new(), 0);
        let mut files: Option<Files<H>> = None;
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            let mut key = Vec::new();
            self.stage.put_key(&record, &mut key)?;
            if let Some(files) = &mut files {
                files.add(&limits, &key, record)?;
                continue;
            }
            bytes += record.bytes() + key.len();
            records.push((key, record));
            if bytes > account.bytes() {
                account.resize(bytes + STEP);
            }
            if bytes > bytes_max {
                if !run.settings.allow_disk_use {
                    return Err(PipelineError::too_much_memory("$setWindowFields", bytes_max).into());
                }
                if let Some(at) = self.at {
                    run.reports[at].spilled = true;
                }
                let mut new = Files::new(&run.host, "$setWindowFields", bytes_max);
                for (key, record) in records.drain(..) {
                    new.add(&limits, &key, record)?;
                }
                files = Some(new);
            }
        }
        match files {
            Some(files) => Ok(Sorted::Files(files.finish(&limits)?)),
            None => {
                records.sort_by(|(a, _), (b, _)| a.cmp(b));
                let records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
                Ok(Sorted::Memory(records.into_iter()))
            }
        }
    }

    /// The next document in order, with the key of its partition.
    fn read(&mut self, run: &mut Run<H>) -> Result<Option<(Vec<u8>, Record)>, H::Error> {
        let record = match &mut self.sorted {
            None => None,
            Some(Sorted::Memory(records)) => records.next(),
            Some(Sorted::Files(files)) => files.next(&run.settings.limits)?,
        };
        let Some(record) = record else { return Ok(None) };
        let mut key = Vec::new();
        let len = self.stage.put_key(&record, &mut key)?;
        key.truncate(len);
        Ok(Some((key, record)))
    }

    /// The documents of the next partition.
    fn partition(&mut self, run: &mut Run<H>) -> Result<Vec<Record>, H::Error> {
        let first = match self.next.take() {
            Some(first) => Some(first),
            None => self.read(run)?,
        };
        let Some((key, record)) = first else { return Ok(Vec::new()) };
        let (mut bytes, mut records) = (record.bytes(), vec![record]);
        while let Some((other, record)) = self.read(run)? {
            run.tick()?;
            if other != key {
                self.next = Some((other, record));
                break;
            }
            bytes += record.bytes();
            // What was in memory before fits; a partition from files may not.
            let bytes_max = run.settings.stage_bytes_max.max(PARTITION_BYTES_MIN);
            if matches!(self.sorted, Some(Sorted::Files(_))) && bytes > bytes_max {
                return Err(PipelineError::too_much_memory("a partition of $setWindowFields", bytes_max).into());
            }
            records.push(record);
        }
        Ok(records)
    }
}

/// A partition of this many bytes is always allowed.
const PARTITION_BYTES_MIN: usize = 1 << 20;

impl<H: Host> Stream<H> for Windows<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(run)?);
        }
        loop {
            if let Some(record) = self.made.next() {
                return Ok(Some(record));
            }
            let records = self.partition(run)?;
            if records.is_empty() {
                self.account = None;
                return Ok(None);
            }
            let (limits, env) = (&run.settings.limits, run.host.env());
            let made = self.stage.apply(records, &|| limits.check(env).is_err());
            self.made = finished::<H>(run, made)?.into_iter();
        }
    }
}

/// What a stage made; why it was stopped, if it was.
fn finished<H: Host>(run: &Run<H>, made: Result<Vec<Record>, PipelineError>) -> Result<Vec<Record>, H::Error> {
    if let Err(PipelineError::Stopped) = made {
        run.settings.limits.check(run.host.env())?;
        return Err(Interrupted::Stopped.into());
    }
    Ok(made?)
}

/// `$densify`.
pub(super) struct Densifying<H: Host> {
    input: Box<dyn Stream<H>>,
    stage: Arc<Densify>,
    made: Option<std::vec::IntoIter<Record>>,
    held: Option<Held<H>>,
}

impl<H: Host> Densifying<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<Densify>) -> Self {
        Self { input, stage, made: None, held: None }
    }
}

impl<H: Host> Stream<H> for Densifying<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.made.is_none() {
            let mut records = Vec::new();
            let held = self.held.insert(Held::new(run, "$densify"));
            while let Some(record) = self.input.next(run)? {
                run.tick()?;
                held.add(record.bytes())?;
                records.push(record);
            }
            let (limits, env) = (&run.settings.limits, run.host.env());
            let made = self.stage.apply(records, &|| limits.check(env).is_err());
            self.made = Some(finished::<H>(run, made)?.into_iter());
        }
        let next = self.made.as_mut().and_then(Iterator::next);
        if next.is_none() {
            self.held = None;
        }
        Ok(next)
    }
}
