//! `$graphLookup`: each document with an array of those that are reached from it.

use super::equality::equals_one;
use super::gather::Held;
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use alluvium_document::{Map, Value, key};
use alluvium_query::collation::Collation;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{GraphLookup, PipelineError, Record, Stage};
use hashbrown::HashSet;
use std::sync::Arc;

/// `$graphLookup`, breadth first: each step looks for all values that the step before it found.
pub(super) struct Graph<H> {
    input: Box<dyn Stream<H>>,
    lookup: Arc<GraphLookup>,
}

impl<H: Host> Graph<H> {
    pub fn new(input: Box<dyn Stream<H>>, lookup: Arc<GraphLookup>) -> Self {
        Self { input, lookup }
    }

    fn reached(&self, run: &mut Run<H>, held: &mut Held<H>, record: &Record) -> Result<Vec<Value>, H::Error> {
        let lookup = &self.lookup;
        let start = lookup.start.evaluate(&mut record.scope()).map_err(PipelineError::from)?;
        let mut next: Vec<Value> = match start {
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
            None => return Ok(Vec::new()),
        };
        let (mut looked_for, mut seen) = (HashSet::new(), HashSet::new());
        let (mut reached, mut depth) = (Vec::new(), 0u64);
        let (mut bytes, mut step_bytes) = (0, 0);
        while lookup.max_depth.is_none_or(|most| depth <= most) {
            let collation = lookup.collation.as_ref();
            next.retain(|value| {
                let key = key_of(value, collation);
                let added = key.len() + KEY_BYTES;
                let is_new = looked_for.insert(key);
                bytes += if is_new { added } else { 0 };
                is_new
            });
            held.set(bytes + std::mem::take(&mut step_bytes))?;
            let found = std::mem::take(&mut next);
            let Some(filter) = equals_one(&lookup.connect_to, found, collation)? else { break };
            // A missing value is not null here.
            let exists = Filter::parse(&Map::from([(lookup.connect_to.as_str(), Map::from([("$exists", true)]))]));
            let exists = exists.map_err(PipelineError::from)?;
            let stages = vec![Stage::Match(filter.and(exists).and(lookup.restrict.clone()))];
            let mut found = run.host.open(Some(&lookup.from), stages, &run.settings.limits)?;
            while let Some(other) = found.next_record()? {
                run.tick()?;
                let id = other.field("_id").map_err(PipelineError::from)?.unwrap_or_default();
                let key = key_of(&id, None);
                bytes += key.len() + KEY_BYTES;
                if !seen.insert(key) {
                    continue;
                }
                let found_next = other.values_at(&lookup.connect_from)?;
                // As values, and in a filter.
                step_bytes += 2 * found_next.iter().map(Value::memory).sum::<usize>();
                next.extend(found_next);
                let mut map: Map = other.into_map().map_err(PipelineError::from)?;
                if let Some(field) = &lookup.depth {
                    field.set_in(&mut map, Value::Int64(i64::try_from(depth).unwrap_or(i64::MAX)));
                }
                let value = Value::Map(map);
                bytes += value.memory();
                held.set(bytes + step_bytes)?;
                reached.push(value);
            }
            depth += 1;
        }
        Ok(reached)
    }
}

/// The memory of a key in a set beside its bytes.
const KEY_BYTES: usize = 64;

fn key_of(value: &Value, collation: Option<&Collation>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match collation {
        None => key::encode(value, &mut bytes),
        Some(collation) => collation.encode_key(value, &mut bytes),
    }
    bytes
}

impl<H: Host> Stream<H> for Graph<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        let Some(record) = self.input.next(run)? else { return Ok(None) };
        run.tick()?;
        let mut held = Held::in_memory(run, "$graphLookup");
        let reached = self.reached(run, &mut held, &record)?;
        let mut map = record.into_map().map_err(PipelineError::from)?;
        self.lookup.into.set_in(&mut map, Value::Array(reached));
        Ok(Some(Record::Map(map)))
    }
}
