//! `$setWindowFields` and `$densify`: stages over sequences of documents.

use super::gather::Held;
use super::host::Host;
use super::ordered::Ordered;
use super::partition::Partitioned;
use super::run::Run;
use super::stream::Stream;
use crate::limits::{Interrupted, Limits};
use alluvium_env::Env;
use alluvium_query::pipeline::{Caller, Densify, Partition, PipelineError, Record, Sequence, WindowFields};
use std::sync::Arc;

/// `$setWindowFields`: the documents are sorted, in memory or in files. The documents of one partition at a time are
/// then in memory or in a file, where the functions read them by their positions.
pub(super) struct Windows<H: Host> {
    input: Box<dyn Stream<H>>,
    stage: Arc<WindowFields>,
    /// The position of the stage's report.
    at: Option<usize>,
    sorted: Option<Ordered<H>>,
    /// The first document of the next partition, with the partition's key.
    next: Option<(Vec<u8>, Record)>,
    /// The partition whose documents are returned.
    current: Option<Current<H>>,
}

/// A partition whose documents are returned.
struct Current<H: Host> {
    partition: Partition,
    documents: Partitioned<H>,
    /// The memory of all functions together.
    held: Held<H>,
}

/// Gives the functions of windows access to documents and memory.
struct Calling<'c, H: Host> {
    limits: &'c Limits,
    env: &'c Env,
    documents: &'c mut Partitioned<H>,
    held: &'c mut Held<H>,
    /// The error with which the read of a document failed.
    failure: Option<H::Error>,
}

impl<H: Host> Caller for Calling<'_, H> {
    fn document(&mut self, at: usize) -> Result<&Record, PipelineError> {
        let failure = &mut self.failure;
        self.documents.document(self.limits, at).map_err(|error| {
            *failure = Some(error);
            PipelineError::Stopped
        })
    }

    fn check(&mut self) -> Result<(), PipelineError> {
        self.limits.check(self.env).map_err(|_| PipelineError::Stopped)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), PipelineError> {
        self.held.set(bytes)
    }
}

const NAME: &str = "$setWindowFields";

impl<H: Host> Windows<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<WindowFields>, at: Option<usize>) -> Self {
        Self { input, stage, at, sorted: None, next: None, current: None }
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

    /// Returns the documents of the next partition; none at the end.
    fn partition(&mut self, run: &mut Run<H>) -> Result<Partitioned<H>, H::Error> {
        // Documents that were in memory before are counted by `sorted`.
        let counted = self.sorted.as_ref().is_some_and(Ordered::is_in_memory);
        let mut documents = Partitioned::new(run, counted);
        let first = match self.next.take() {
            Some(first) => Some(first),
            None => self.read(run)?,
        };
        let Some((key, record)) = first else { return Ok(documents) };
        let mut bytes = record.bytes();
        documents.push(run, record, bytes)?;
        while let Some((other, record)) = self.read(run)? {
            run.tick()?;
            if other != key {
                self.next = Some((other, record));
                break;
            }
            bytes += record.bytes();
            documents.push(run, record, bytes)?;
        }
        documents.finish(&run.settings.limits)?;
        Ok(documents)
    }

    /// Returns the next document of a partition, with its new fields.
    fn made(run: &Run<H>, current: &mut Current<H>) -> Result<Option<Record>, H::Error> {
        let Current { partition, documents, held } = current;
        let mut calling = Calling { limits: &run.settings.limits, env: run.host.env(), documents, held, failure: None };
        let made = partition.next(&mut calling);
        match calling.failure {
            Some(failure) => Err(failure),
            None => finished(run, made),
        }
    }
}

impl<H: Host> Stream<H> for Windows<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.sorted.is_none() {
            let stage = &self.stage;
            let key = &mut |record: &mut Record, key: &mut Vec<u8>| stage.put_key(record, key).map(drop);
            self.sorted = Some(Ordered::of(run, &mut *self.input, NAME, self.at, key)?);
        }
        loop {
            run.tick()?;
            if let Some(current) = &mut self.current
                && let Some(record) = Self::made(run, current)?
            {
                return Ok(Some(record));
            }
            self.current = None;
            let documents = self.partition(run)?;
            if documents.len() == 0 {
                return Ok(None);
            }
            let partition = Partition::new(self.stage.clone(), documents.len())?;
            self.current = Some(Current { partition, documents, held: Held::in_memory(run, NAME) });
        }
    }
}

/// Returns the result of a stage. If the stage was stopped, the error gives the reason.
fn finished<H: Host, T>(run: &Run<H>, made: Result<T, PipelineError>) -> Result<T, H::Error> {
    if let Err(PipelineError::Stopped) = made {
        run.settings.limits.check(run.host.env())?;
        return Err(Interrupted::Stopped.into());
    }
    Ok(made?)
}

/// `$densify`: the documents are sorted, in memory or in files.
pub(super) struct Densifying<H: Host> {
    input: Box<dyn Stream<H>>,
    /// The position of the stage's report.
    at: Option<usize>,
    sequence: Sequence,
    sorted: Option<Ordered<H>>,
    is_finished: bool,
}

impl<H: Host> Densifying<H> {
    pub fn new(input: Box<dyn Stream<H>>, stage: Arc<Densify>, at: Option<usize>) -> Self {
        Self { input, at, sequence: Sequence::new(stage), sorted: None, is_finished: false }
    }
}

impl<H: Host> Stream<H> for Densifying<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.sorted.is_none() {
            let sequence = &mut self.sequence;
            let key = &mut |record: &mut Record, key: &mut Vec<u8>| sequence.see(record, key);
            self.sorted = Some(Ordered::of(run, &mut *self.input, "$densify", self.at, key)?);
        }
        loop {
            let (limits, env) = (&run.settings.limits, run.host.env());
            let next = self.sequence.next(&|| limits.check(env).is_err());
            if let Some(record) = finished(run, next)? {
                return Ok(Some(record));
            }
            if self.is_finished {
                return Ok(None);
            }
            let next = match &mut self.sorted {
                Some(sorted) => sorted.next(&run.settings.limits)?,
                None => None,
            };
            match next {
                Some(record) => self.sequence.push(record)?,
                None => {
                    self.is_finished = true;
                    self.sequence.finish();
                }
            }
        }
    }
}
