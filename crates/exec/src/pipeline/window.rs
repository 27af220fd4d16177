//! `$setWindowFields` and `$densify`: stages over sequences of documents.

use super::host::Host;
use super::ordered::Ordered;
use super::run::Run;
use super::stream::Stream;
use crate::limits::Interrupted;
use alluvium_query::pipeline::{Densify, PipelineError, Record, Sequence, WindowFields};
use std::sync::Arc;

/// `$setWindowFields`: the documents are sorted, in memory or in files; those of one partition are in memory
/// together.
pub(super) struct Windows<H: Host> {
    input: Box<dyn Stream<H>>,
    stage: Arc<WindowFields>,
    /// Its report.
    at: Option<usize>,
    sorted: Option<Ordered<H>>,
    /// The first document of the next partition, with the partition's key.
    next: Option<(Vec<u8>, Record)>,
    made: std::vec::IntoIter<Record>,
    account: Option<H::Account>,
}

impl<H: Host> Windows<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<WindowFields>, at: Option<usize>) -> Self {
        Self { input, stage, at, sorted: None, next: None, made: Vec::new().into_iter(), account: None }
    }

    fn sort(&mut self, run: &mut Run<H>) -> Result<Ordered<H>, H::Error> {
        let account = self.account.insert(run.host.account());
        let stage = &self.stage;
        let key = &mut |record: &Record, key: &mut Vec<u8>| stage.put_key(record, key).map(drop);
        Ordered::of(run, &mut *self.input, "$setWindowFields", self.at, account, key)
    }

    /// The next document in order, with the key of its partition.
    fn read(&mut self, run: &mut Run<H>) -> Result<Option<(Vec<u8>, Record)>, H::Error> {
        let Some(sorted) = &mut self.sorted else { return Ok(None) };
        let Some(record) = sorted.next(&run.settings.limits)? else { return Ok(None) };
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
            if matches!(self.sorted, Some(Ordered::Files(_))) && bytes > bytes_max {
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

/// `$densify`: the documents are sorted, in memory or in files.
pub(super) struct Densifying<H: Host> {
    input: Box<dyn Stream<H>>,
    /// Its report.
    at: Option<usize>,
    sequence: Sequence,
    sorted: Option<Ordered<H>>,
    /// What is returned next.
    made: std::vec::IntoIter<Record>,
    account: Option<H::Account>,
    is_finished: bool,
}

impl<H: Host> Densifying<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<Densify>, at: Option<usize>) -> Self {
        let (sequence, made) = (Sequence::new(stage), Vec::new().into_iter());
        Self { input, at, sequence, sorted: None, made, account: None, is_finished: false }
    }
}

impl<H: Host> Stream<H> for Densifying<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.sorted.is_none() {
            let account = self.account.insert(run.host.account());
            let sequence = &mut self.sequence;
            let key = &mut |record: &Record, key: &mut Vec<u8>| sequence.see(record, key);
            self.sorted = Some(Ordered::of(run, &mut *self.input, "$densify", self.at, account, key)?);
        }
        loop {
            if let Some(record) = self.made.next() {
                return Ok(Some(record));
            }
            if self.is_finished {
                return Ok(None);
            }
            let next = match &mut self.sorted {
                Some(sorted) => sorted.next(&run.settings.limits)?,
                None => None,
            };
            let (mut made, limits, env) = (Vec::new(), &run.settings.limits, run.host.env());
            let stop = &|| limits.check(env).is_err();
            let pushed = match next {
                Some(record) => self.sequence.push(record, stop, &mut made),
                None => {
                    (self.is_finished, self.account) = (true, None);
                    self.sequence.finish(stop, &mut made)
                }
            };
            self.made = finished::<H>(run, pushed.map(|()| made))?.into_iter();
        }
    }
}
