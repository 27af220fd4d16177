//! `$graphLookup`: returns each document with an array of the documents that are reached from it. With a following
//! `$unwind`, returns the document once for each of them.

use super::equality::BYTES_MAX;
use super::gather::Held;
use super::host::Host;
use super::run::Run;
use super::search::{NAME, Search};
use super::stream::Stream;
use alluvium_document::{Map, Value, bson};
use alluvium_query::pipeline::{GraphLookup, PipelineError, Record, Unwind, Unwound};
use std::sync::Arc;

/// `$graphLookup`.
pub(super) struct Graph<H: Host> {
    input: Box<dyn Stream<H>>,
    lookup: Arc<GraphLookup>,
    /// The position of the stage's report.
    at: Option<usize>,
    /// The document whose array is unwound.
    unwinding: Option<Unwinding<H>>,
    /// The memory of the last array.
    held: Option<Held<H>>,
}

/// A document that is returned once for each document that is reached from it, so that there is no array.
struct Unwinding<H: Host> {
    search: Search<H>,
    /// The document, with null instead of the array.
    map: Map,
    /// The number of documents that were returned for it.
    count: u64,
    /// The memory of the document.
    _held: Option<Held<H>>,
}

impl<H: Host> Graph<H> {
    /// `at` is the position of the stage's report, if it has one.
    pub fn new(input: Box<dyn Stream<H>>, lookup: Arc<GraphLookup>, at: Option<usize>) -> Self {
        Self { input, lookup, at, unwinding: None, held: None }
    }

    /// Returns all documents that are reached from one document.
    fn reached(&mut self, run: &mut Run<H>, record: &Record) -> Result<Vec<Value>, H::Error> {
        let mut search = Search::new(run, &self.lookup, self.at, record)?;
        let held = self.held.insert(Held::in_memory(run, NAME));
        let (mut reached, mut bytes, mut memory) = (Vec::new(), 0, 0);
        while let Some(value) = search.next(run)? {
            bytes += bson::bson_size(&value);
            if bytes > BYTES_MAX {
                return Err(PipelineError::too_large(NAME).into());
            }
            memory += value.memory();
            held.set(memory)?;
            reached.push(value);
        }
        Ok(reached)
    }

    /// Returns the next document, if the stage unwinds the array.
    fn next_unwound(&mut self, run: &mut Run<H>, unwind: &Unwind) -> Result<Option<Record>, H::Error> {
        loop {
            run.tick()?;
            if let Some(Unwinding { search, map, count, .. }) = &mut self.unwinding {
                if let Some(value) = search.next(run)? {
                    let record = Record::Map(unwind.with_element(map, &value, *count));
                    *count += 1;
                    return Ok(Some(record));
                }
                let nothing_reached = (*count == 0).then(|| std::mem::take(map));
                self.unwinding = None;
                let alone = nothing_reached.map(|map| self.empty(unwind, map)).transpose()?;
                if let Some(record) = alone.and_then(|mut unwound| unwound.next()) {
                    return Ok(Some(record));
                }
            }
            let Some(record) = self.input.next(run)? else { return Ok(None) };
            let held = run.held_if_large(NAME, &record)?;
            let search = Search::new(run, &self.lookup, self.at, &record)?;
            let mut map = record.into_map().map_err(PipelineError::from)?;
            self.lookup.into.set_in(&mut map, Value::Null);
            self.unwinding = Some(Unwinding { search, map, count: 0, _held: held });
        }
    }

    /// The result for a document from which nothing is reached.
    fn empty(&self, unwind: &Unwind, mut map: Map) -> Result<Unwound, PipelineError> {
        self.lookup.into.set_in(&mut map, Value::Array(Vec::new()));
        unwind.apply(Record::Map(map))
    }
}

impl<H: Host> Stream<H> for Graph<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        let lookup = self.lookup.clone();
        if let Some(unwind) = &lookup.unwind {
            return self.next_unwound(run, unwind);
        }
        let Some(record) = self.input.next(run)? else {
            self.held = None;
            return Ok(None);
        };
        run.tick()?;
        let reached = self.reached(run, &record)?;
        let mut map = record.into_map().map_err(PipelineError::from)?;
        lookup.into.set_in(&mut map, Value::Array(reached));
        Ok(Some(Record::Map(map)))
    }
}
