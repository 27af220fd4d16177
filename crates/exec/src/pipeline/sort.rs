//! `$sort` and `$sample`: documents in an order, in memory or in files.

use super::gather::{Files, FromFiles, Held};
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use alluvium_query::pipeline::{PipelineError, Record};
use alluvium_query::sort::{Sort, TopK};

/// `$sort`, with the limit of a `$limit` after it, or `$sample`.
pub(super) struct Sorting<H: Host> {
    input: Box<dyn Stream<H>>,
    order: Order,
    limit: Option<u64>,
    /// The position of the stage's report.
    at: Option<usize>,
    state: State<H>,
    held: Option<Held<H>>,
}

enum Order {
    Fields(Sort),
    /// Each document has a random number, so that the first ones are a random sample.
    Random,
}

impl Order {
    fn stage(&self) -> &'static str {
        match self {
            Self::Fields(_) => "$sort",
            Self::Random => "$sample",
        }
    }

    fn put_key<H: Host>(&self, run: &Run<H>, record: &Record, key: &mut Vec<u8>) -> Result<(), PipelineError> {
        match self {
            Self::Fields(sort) => record.put_sort_key(sort, key),
            Self::Random => {
                key.extend(run.host.env().rng.next_u64().to_be_bytes());
                Ok(())
            }
        }
    }
}

enum State<H: Host> {
    Waiting,
    Memory(std::vec::IntoIter<Record>),
    /// The documents, and the number of documents that remain to be returned.
    Files(FromFiles<H>, u64),
}

impl<H: Host> Sorting<H> {
    pub fn new(input: Box<dyn Stream<H>>, sort: Sort, limit: Option<u64>, at: Option<usize>) -> Self {
        Self { input, order: Order::Fields(sort), limit, at, state: State::Waiting, held: None }
    }

    /// `$sample` of `most` documents, in a random order.
    pub fn sample(input: Box<dyn Stream<H>>, most: u64, at: Option<usize>) -> Self {
        Self { input, order: Order::Random, limit: Some(most), at, state: State::Waiting, held: None }
    }

    fn gather(&mut self, run: &mut Run<H>) -> Result<State<H>, H::Error> {
        let first = self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let mut top: TopK<Record> = TopK::new(first, usize::MAX);
        let held = self.held.insert(Held::new(run, self.order.stage()));
        let mut key = Vec::new();
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            key.clear();
            self.order.put_key(run, &record, &mut key)?;
            let bytes = record.bytes();
            top.offer(&key, bytes, || record).map_err(PipelineError::from)?;
            if !held.fits(top.bytes()) {
                let memory = held.for_files()?;
                return self.spill(run, top, memory);
            }
        }
        let records: Vec<Record> = top.into_sorted().map(|(_, record)| record).collect();
        Ok(State::Memory(records.into_iter()))
    }

    /// Continues in files, with the documents that are in memory.
    fn spill(&mut self, run: &mut Run<H>, top: TopK<Record>, memory: usize) -> Result<State<H>, H::Error> {
        if let Some(at) = self.at {
            run.reports[at].spilled = true;
        }
        let limits = run.settings.limits.clone();
        let mut files = Files::new(&run.host, self.order.stage(), memory);
        for (key, record) in top.into_sorted() {
            files.add(&limits, &key, record)?;
        }
        let mut key = Vec::new();
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            key.clear();
            self.order.put_key(run, &record, &mut key)?;
            files.add(&limits, &key, record)?;
        }
        Ok(State::Files(files.finish(&limits)?, self.limit.unwrap_or(u64::MAX)))
    }
}

impl<H: Host> Stream<H> for Sorting<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if matches!(self.state, State::Waiting) {
            self.state = self.gather(run)?;
        }
        let next = match &mut self.state {
            State::Waiting => None,
            State::Memory(records) => records.next(),
            State::Files(_, 0) => None,
            State::Files(files, left) => {
                *left -= 1;
                files.next(&run.settings.limits)?
            }
        };
        if next.is_none() {
            self.state = State::Memory(Vec::new().into_iter());
            self.held = None;
        }
        Ok(next)
    }
}
