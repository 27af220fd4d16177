//! `$lookup`: each document with an array of documents of another collection.

use super::gather::STEP;
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use crate::source::MemoryAccount;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value, bson};
use alluvium_query::collation::Collation;
use alluvium_query::expression::Variables;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{Lookup, PipelineError, Record, Stage};
use std::sync::Arc;

/// The most bytes of the array of a document: MongoDB's limit between stages.
const BYTES_MAX: usize = 100 << 20;

/// `$lookup`.
pub(super) struct Lookups<H: Host> {
    input: Box<dyn Stream<H>>,
    lookup: Arc<Lookup>,
    /// The array, if it is the same for every document.
    same: Option<Vec<Value>>,
    /// The memory of the last array.
    account: Option<H::Account>,
}

impl<H: Host> Lookups<H> {
    pub fn new(input: Box<dyn Stream<H>>, lookup: Arc<Lookup>) -> Self {
        Self { input, lookup, same: None, account: None }
    }

    /// The documents of the other collection for one document.
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
            // Documents of the pipeline's own come first.
            let at = usize::from(matches!(stages.first(), Some(Stage::Documents(_))));
            stages.insert(at, Stage::Match(filter));
        }
        let mut others = run.host.open(lookup.from.as_deref(), stages, &run.settings.limits)?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        let account = self.account.insert(run.host.account());
        while let Some(other) = others.next_record()? {
            run.tick()?;
            let value = Value::Map(other.into_map().map_err(PipelineError::from)?);
            bytes += bson::bson_size(&value);
            if bytes > BYTES_MAX {
                return Err(PipelineError::too_large("$lookup").into());
            }
            if bytes > account.bytes() + STEP {
                account.resize(bytes);
            }
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
        let Some(record) = self.input.next(run)? else {
            self.account = None;
            return Ok(None);
        };
        run.tick()?;
        let found = self.found(run, &record)?;
        let mut map = record.into_map().map_err(PipelineError::from)?;
        self.lookup.into.set_in(&mut map, Value::Array(found));
        Ok(Some(Record::Map(map)))
    }
}

/// The filter for the other documents: one of the values at `foreign` equals one at `local`. `None` if
/// nothing can.
fn equality(
    record: &Record,
    local: &FieldPath,
    foreign: &FieldPath,
    collation: Option<&Collation>,
) -> Result<Option<Filter>, PipelineError> {
    let mut values = record.values_at(local)?;
    if values.is_empty() {
        // As a missing field, which equals null.
        values.push(Value::Null);
    }
    equals_one(foreign, values, collation)
}

/// The filter for documents that have one of the values at a path, by the collation; `None` if there
/// are no values.
pub(super) fn equals_one(
    path: &FieldPath,
    values: Vec<Value>,
    collation: Option<&Collation>,
) -> Result<Option<Filter>, PipelineError> {
    let variables = Variables::NONE.collated(collation.cloned());
    let condition = |values: Vec<Value>| {
        let mut values = values;
        match values.len() {
            0 => None,
            1 => values.pop().map(|value| Map::from([("$eq", value)])),
            _ => Some(Map::from([("$in", Value::Array(values))])),
        }
    };
    // In a list, a regular expression would be a pattern, and undefined is refused.
    let is_plain = |value: &Value| !matches!(value, Value::Regex(_) | Value::Undefined);
    let (plain, others): (Vec<Value>, Vec<Value>) = values.into_iter().partition(is_plain);
    let mut branches: Vec<Value> = Vec::new();
    branches.extend(condition(plain).map(|one| Value::Map(Map::from([(path.as_str(), one)]))));
    for value in others.into_iter().filter(|value| *value != Value::Undefined) {
        branches.push(Value::Map(Map::from([(path.as_str(), Map::from([("$eq", value)]))])));
    }
    match (branches.len(), branches.pop()) {
        (1, Some(Value::Map(only))) => Ok(Some(Filter::parse_in(&only, &variables)?)),
        (_, Some(last)) => {
            branches.push(last);
            Ok(Some(Filter::parse_in(&Map::from([("$or", Value::Array(branches))]), &variables)?))
        }
        _ => Ok(None),
    }
}
