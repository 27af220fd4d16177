//! `$lookup`: returns each document with an array of documents of another collection.

use super::batches::{Batches, Joined};
use super::equality::{BYTES_MAX, equals_one};
use super::gather::Held;
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use alluvium_document::path::FieldPath;
use alluvium_document::{Value, bson};
use alluvium_query::collation::Collation;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{Lookup, PipelineError, Record, Stage};
use std::sync::Arc;

/// `$lookup`.
pub(super) struct Lookups<H: Host> {
    input: Box<dyn Stream<H>>,
    lookup: Arc<Lookup>,
    /// Documents in batches; `None` if each is looked up alone.
    batches: Option<Batches<H>>,
    /// The position of the stage's report.
    at: Option<usize>,
    /// The array, if it is the same for every document.
    same: Option<Vec<Value>>,
    /// The memory of the last array.
    held: Option<Held<H>>,
}

impl<H: Host> Lookups<H> {
    /// `at` is the position of the stage's report, if it has one.
    pub fn new(input: Box<dyn Stream<H>>, lookup: Arc<Lookup>, at: Option<usize>) -> Self {
        Self { batches: Batches::new(&lookup), input, lookup, at, same: None, held: None }
    }

    /// The next document, with the documents that a batch found for it.
    fn next_found(&mut self, run: &mut Run<H>) -> Result<Option<Joined>, H::Error> {
        match &mut self.batches {
            Some(batches) => batches.next(&mut *self.input, run, self.at),
            None => Ok(self.input.next(run)?.map(|record| Joined { record, found: None })),
        }
    }

    /// The documents of the other collection for one document, looked up alone.
    fn found(&mut self, run: &mut Run<H>, record: &Record) -> Result<Vec<Value>, H::Error> {
        let lookup = self.lookup.clone();
        let is_same = lookup.equality.is_none() && lookup.variables.is_empty();
        if let Some(same) = self.same.as_ref().filter(|_| is_same) {
            return Ok(same.clone());
        }
        let mut stages = Vec::new();
        if lookup.has_stages() {
            stages.extend(lookup.stages_for(record)?);
        }
        if let Some((local, foreign)) = &lookup.equality {
            let collation = lookup.around.collation();
            let Some(filter) = equality(record, local, foreign, collation)? else { return Ok(Vec::new()) };
            // If the pipeline of the stage has documents of its own, these are its first stage.
            let at = usize::from(matches!(stages.first(), Some(Stage::Documents(_))));
            stages.insert(at, Stage::Match(filter));
        }
        let mut others = run.host.open(lookup.from.as_deref(), stages, &run.settings.limits)?;
        let (mut found, mut bytes, mut memory) = (Vec::new(), 0, 0);
        let held = self.held.insert(Held::in_memory(run, "$lookup"));
        // If the array is the same for all documents, a copy of it is kept, too.
        let copies = if is_same { 2 } else { 1 };
        while let Some(other) = others.next_record()? {
            run.tick()?;
            let value = Value::Map(other.into_map().map_err(PipelineError::from)?);
            bytes += bson::bson_size(&value);
            if bytes > BYTES_MAX {
                return Err(PipelineError::too_large("$lookup").into());
            }
            memory += copies * value.memory();
            held.set(memory)?;
            found.push(value);
        }
        if is_same {
            self.same = Some(found.clone());
        }
        Ok(found)
    }
}

impl<H: Host> Stream<H> for Lookups<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        let Some(Joined { record, found }) = self.next_found(run)? else {
            self.held = None;
            return Ok(None);
        };
        run.tick()?;
        let found = match found {
            Some(found) => found,
            None => {
                if let Some(at) = self.at.filter(|_| self.batches.is_some()) {
                    run.reports[at].lookups.get_or_insert_default().alone += 1;
                }
                self.found(run, &record)?
            }
        };
        let mut map = record.into_map().map_err(PipelineError::from)?;
        self.lookup.into.set_in(&mut map, Value::Array(found));
        Ok(Some(Record::Map(map)))
    }
}

/// The filter for the other documents: one of the values at `foreign` equals one of the values at `local`. `None` if no
/// document can match.
fn equality(
    record: &Record,
    local: &FieldPath,
    foreign: &FieldPath,
    collation: Option<&Collation>,
) -> Result<Option<Filter>, PipelineError> {
    let mut values = record.values_at(local)?;
    if values.is_empty() {
        // The values are empty like a missing field, which equals null.
        values.push(Value::Null);
    }
    equals_one(foreign, values, collation)
}
