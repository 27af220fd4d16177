//! Stages under way, and the stages that hold no documents.

use super::gather::Held;
use super::host::{Host, Records, WritingStage};
use super::run::Run;
use alluvium_document::Map;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{Each, PipelineError, Record, RecordRef, UnionWith, Unwind, Unwound};
use std::sync::Arc;

/// A stage under way.
pub(super) trait Stream<H: Host>: Send {
    /// Returns the next document; `None` at the end and in every later call.
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error>;

    /// Reads to the end, and passes each document to `visit`.
    fn visit(&mut self, run: &mut Run<H>, visit: Visit<'_, H>) -> Result<(), H::Error> {
        while let Some(record) = self.next(run)? {
            visit(run, RecordRef::from(&record))?;
        }
        Ok(())
    }

    /// As [`Stream::visit`], but equal documents that follow each other may be passed once, with their number.
    fn visit_equals(&mut self, run: &mut Run<H>, visit: VisitEquals<'_, H>) -> Result<(), H::Error> {
        self.visit(run, &mut |run, record| visit(run, record, 1))
    }

    /// As [`Records::split`].
    fn split(&mut self) -> Result<Parts<H>, H::Error> {
        Ok(Vec::new())
    }
}

/// Documents for several threads.
pub(super) type Parts<H> = Vec<Box<dyn Records<<H as Host>::Error>>>;

/// Takes documents without keeping them.
pub(super) type Visit<'v, H> = &'v mut dyn FnMut(&mut Run<H>, RecordRef<'_>) -> Result<(), <H as Host>::Error>;

/// Takes documents, each with the number of documents that are equal to it.
pub(super) type VisitEquals<'v, H> =
    &'v mut dyn FnMut(&mut Run<H>, RecordRef<'_>, u64) -> Result<(), <H as Host>::Error>;

type Input<H> = Box<dyn Stream<H>>;

/// The documents of a source.
pub(super) struct Source<E>(pub Box<dyn Records<E>>);

impl<H: Host> Stream<H> for Source<H::Error> {
    fn next(&mut self, _: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        self.0.next_record()
    }

    fn visit(&mut self, run: &mut Run<H>, visit: Visit<'_, H>) -> Result<(), H::Error> {
        self.0.visit(&mut |record| visit(run, record))
    }

    fn visit_equals(&mut self, run: &mut Run<H>, visit: VisitEquals<'_, H>) -> Result<(), H::Error> {
        self.0.visit_equals(&mut |record, times| visit(run, record, times))
    }

    fn split(&mut self) -> Result<Parts<H>, H::Error> {
        self.0.split()
    }
}

/// Counts the documents of a stage, and measures its time.
pub(super) struct Counted<H> {
    inner: Input<H>,
    at: usize,
}

impl<H: Host> Counted<H> {
    pub fn new(inner: Input<H>, at: usize) -> Self {
        Self { inner, at }
    }
}

impl<H: Host> Stream<H> for Counted<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        let started = run.settings.timed.then(|| run.host.env().clock.now());
        let record = self.inner.next(run)?;
        let report = &mut run.reports[self.at];
        report.returned += u64::from(record.is_some());
        if let Some(started) = started {
            report.time += run.host.env().clock.now().saturating_sub(started);
        }
        Ok(record)
    }
}

/// `$match`.
pub(super) struct Filtering<H> {
    input: Input<H>,
    filter: Filter,
}

impl<H: Host> Filtering<H> {
    pub fn new(input: Input<H>, filter: Filter) -> Self {
        Self { input, filter }
    }
}

impl<H: Host> Stream<H> for Filtering<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            if record.matches(&self.filter)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

/// Stages that make at most one document from each document.
pub(super) struct Treating<H> {
    input: Input<H>,
    each: Each,
    made: Vec<Record>,
}

impl<H: Host> Treating<H> {
    pub fn new(input: Input<H>, each: Each) -> Self {
        Self { input, each, made: Vec::new() }
    }
}

impl<H: Host> Stream<H> for Treating<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        loop {
            let Some(record) = self.input.next(run)? else { return Ok(None) };
            run.tick()?;
            self.each.apply(record, &mut self.made)?;
            if let Some(record) = self.made.pop() {
                run.passes(self.each.name(), &record)?;
                return Ok(Some(record));
            }
        }
    }
}

/// `$unwind`.
pub(super) struct Unwinding<H: Host> {
    input: Input<H>,
    unwind: Unwind,
    /// The remaining records of one document.
    left: Option<Unwound>,
    /// The memory of that document.
    held: Option<Held<H>>,
}

impl<H: Host> Unwinding<H> {
    pub fn new(input: Input<H>, unwind: Unwind) -> Self {
        Self { input, unwind, left: None, held: None }
    }
}

impl<H: Host> Stream<H> for Unwinding<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        loop {
            run.tick()?;
            if let Some(record) = self.left.as_mut().and_then(Iterator::next) {
                return Ok(Some(record));
            }
            let Some(record) = self.input.next(run)? else {
                self.held = None;
                return Ok(None);
            };
            self.held = run.held_if_large("$unwind", &record)?;
            self.left = Some(self.unwind.apply(record)?);
        }
    }
}

/// `$skip`.
pub(super) struct Skipping<H> {
    input: Input<H>,
    left: u64,
}

impl<H: Host> Skipping<H> {
    pub fn new(input: Input<H>, left: u64) -> Self {
        Self { input, left }
    }
}

impl<H: Host> Stream<H> for Skipping<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        while self.left > 0 {
            self.left -= 1;
            if self.input.next(run)?.is_none() {
                return Ok(None);
            }
        }
        self.input.next(run)
    }
}

/// `$limit`.
pub(super) struct Limiting<H> {
    input: Input<H>,
    left: u64,
}

impl<H: Host> Limiting<H> {
    pub fn new(input: Input<H>, left: u64) -> Self {
        Self { input, left }
    }
}

impl<H: Host> Stream<H> for Limiting<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        match self.left.checked_sub(1) {
            None => Ok(None),
            Some(left) => {
                self.left = left;
                self.input.next(run)
            }
        }
    }
}

/// Documents that were given to the stage.
pub(super) struct Listed {
    documents: std::vec::IntoIter<Map>,
}

impl Listed {
    pub fn new(documents: Vec<Map>) -> Self {
        Self { documents: documents.into_iter() }
    }
}

impl<H: Host> Stream<H> for Listed {
    fn next(&mut self, _: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        Ok(self.documents.next().map(Record::Map))
    }
}

/// `$unionWith`.
pub(super) struct Union<H: Host> {
    input: Option<Input<H>>,
    stage: Arc<UnionWith>,
    other: Option<Box<dyn Records<H::Error>>>,
}

impl<H: Host> Union<H> {
    pub fn new(input: Input<H>, stage: Arc<UnionWith>) -> Self {
        Self { input: Some(input), stage, other: None }
    }
}

impl<H: Host> Stream<H> for Union<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if let Some(input) = &mut self.input {
            if let Some(record) = input.next(run)? {
                return Ok(Some(record));
            }
            self.input = None;
            let stages = self.stage.pipeline.stages().to_vec();
            self.other = Some(run.host.open(self.stage.collection.as_deref(), stages, &run.settings.limits)?);
        }
        let next = self.other.as_mut().map_or(Ok(None), |other| other.next_record())?;
        if next.is_none() {
            self.other = None;
        }
        Ok(next)
    }
}

/// A stage that the host has not replaced by documents, because it is not the first stage. It fails.
pub(super) struct Misplaced(pub &'static str);

impl<H: Host> Stream<H> for Misplaced {
    fn next(&mut self, _: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        Err(PipelineError::not_first(self.0).into())
    }
}

/// `$out` and `$merge`, which return no documents.
pub(super) struct Writing<H> {
    input: Input<H>,
    stage: Option<WritingStage>,
}

impl<H: Host> Writing<H> {
    pub fn new(input: Input<H>, stage: WritingStage) -> Self {
        Self { input, stage: Some(stage) }
    }
}

impl<H: Host> Stream<H> for Writing<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if let Some(stage) = self.stage.take() {
            let (host, input) = (run.host.clone(), &mut self.input);
            host.write(&stage, &mut || {
                run.tick()?;
                input.next(run)
            })?;
        }
        Ok(None)
    }
}
