//! `$facet`: one document, with the results of several pipelines over the same documents.

use super::gather::{Files, FromFiles, Held};
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use alluvium_document::{Map, Value, bson};
use alluvium_query::pipeline::{Pipeline, PipelineError, Record, Stage};
use std::sync::Arc;

/// `$facet`.
pub(super) struct Facets<H: Host> {
    input: Box<dyn Stream<H>>,
    facets: Vec<(Box<str>, Pipeline)>,
    /// The position of the stage's report.
    at: Option<usize>,
    begin: Begin<H>,
    done: bool,
}

/// Begins to execute stages over documents.
type Begin<H> = fn(Box<dyn Stream<H>>, Vec<Stage>) -> Box<dyn Stream<H>>;

/// Documents that several pipelines read.
enum Shared<H: Host> {
    Memory(Arc<Vec<Record>>),
    /// A copy for each pipeline, the last one first.
    Files(Vec<FromFiles<H>>),
}

/// The documents of one pipeline.
enum Copy<H: Host> {
    Memory(Arc<Vec<Record>>, usize),
    Files(FromFiles<H>),
}

impl<H: Host> Stream<H> for Copy<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        match self {
            Self::Memory(records, at) => {
                *at += 1;
                Ok(records.get(*at - 1).cloned())
            }
            Self::Files(files) => files.next(&run.settings.limits),
        }
    }
}

impl<H: Host + 'static> Facets<H> {
    pub fn new(
        input: Box<dyn Stream<H>>,
        facets: Vec<(Box<str>, Pipeline)>,
        at: Option<usize>,
        begin: Begin<H>,
    ) -> Self {
        Self { input, facets, at, begin, done: false }
    }

    fn gather(&mut self, run: &mut Run<H>) -> Result<(Shared<H>, Held<H>), H::Error> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        let mut held = Held::new(run, "$facet");
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            bytes += record.bytes();
            records.push(record);
            if !held.fits(bytes) {
                let memory = held.for_files()?;
                return Ok((self.spill(run, records, memory)?, held));
            }
        }
        Ok((Shared::Memory(Arc::new(records)), held))
    }

    fn spill(&mut self, run: &mut Run<H>, records: Vec<Record>, memory: usize) -> Result<Shared<H>, H::Error> {
        if let Some(at) = self.at {
            run.reports[at].spilled = true;
        }
        let limits = run.settings.limits.clone();
        let memory = memory / self.facets.len().max(1);
        let mut files: Vec<Files<H>> = self.facets.iter().map(|_| Files::new(&run.host, "$facet", memory)).collect();
        let mut number = 0u64;
        let mut add = |record: Record, files: &mut [Files<H>]| {
            number += 1;
            files.iter_mut().try_for_each(|files| files.add(&limits, &number.to_be_bytes(), record.clone()))
        };
        for record in records {
            add(record, &mut files)?;
        }
        while let Some(record) = self.input.next(run)? {
            add(record, &mut files)?;
        }
        let copies = files.into_iter().rev().map(|files| files.finish(&limits));
        Ok(Shared::Files(copies.collect::<Result<_, _>>()?))
    }
}

/// The most bytes of the document of a facet, which is MongoDB's limit between stages.
const BYTES_MAX: usize = 100 << 20;

impl<H: Host + 'static> Stream<H> for Facets<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let (mut shared, _held) = self.gather(run)?;
        let mut made = Held::in_memory(run, "$facet");
        let (mut map, mut bytes, mut memory) = (Map::new(), 0, 0);
        for (name, pipeline) in std::mem::take(&mut self.facets) {
            let copy = match &mut shared {
                Shared::Memory(records) => Some(Copy::Memory(records.clone(), 0)),
                Shared::Files(copies) => copies.pop().map(Copy::Files),
            };
            let Some(copy) = copy else { break };
            let mut last = (self.begin)(Box::new(copy), pipeline.into_stages());
            let mut results = Vec::new();
            while let Some(record) = last.next(run)? {
                run.tick()?;
                let value = Value::Map(record.into_map().map_err(PipelineError::from)?);
                bytes += bson::bson_size(&value);
                if bytes > BYTES_MAX {
                    return Err(PipelineError::too_large("$facet").into());
                }
                memory += value.memory();
                made.set(memory)?;
                results.push(value);
            }
            map.push(&*name, Value::Array(results));
        }
        Ok(Some(Record::Map(map)))
    }
}
