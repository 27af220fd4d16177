//! The documents that a `$graphLookup` reaches from one document.
//!
//! The search is breadth first: each step looks for the values that the documents of the previous step lead to and that
//! were not looked for yet. The search holds the values and the `_id`s that it has seen, and the values of the next
//! step. If these exceed memory, they move to files ([`Known`], [`Queue`]), and the search continues with a part of the
//! memory for each of them. A document is returned as soon as it is found.

use super::equality::equals_one;
use super::gather::{Files, FromFiles, Held};
use super::host::{Host, Records};
use super::known::Known;
use super::run::Run;
use crate::limits::Limits;
use alluvium_document::{Map, Value, key};
use alluvium_query::collation::Collation;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{GraphLookup, PipelineError, Record, Stage};
use std::collections::VecDeque;
use std::sync::Arc;

/// The name of the stage in errors.
pub(super) const NAME: &str = "$graphLookup";

/// A search that continues in files divides its memory into this many parts: seen values, seen `_id`s, values to be
/// checked, values of the next step in memory and in a sorter, values of this step in a sorter, values that are looked
/// up (as values and in a filter), and documents.
const PARTS: usize = 9;

/// The most bytes of values that are checked together.
const CHECKED_BYTES: usize = 256 << 10;

/// The most documents that are checked together if there are files.
const CHECKED_DOCUMENTS: usize = 1024;

/// The memory of a value in a queue, in addition to its own memory.
const VALUE_BYTES: usize = 64;

/// The result of one document, and documents that are looked up together, are counted separately above this number of
/// bytes.
const LARGE_BYTES: usize = 64 << 10;

/// A search under way.
pub(super) struct Search<H: Host> {
    lookup: Arc<GraphLookup>,
    /// The position of the stage's report.
    at: Option<usize>,
    /// The number of steps before this one.
    depth: u64,
    /// The values that were looked for, or are in the queue.
    values: Known<H>,
    ids: Known<H>,
    /// Values that may have been seen, with their keys; and the memory of both.
    unchecked: Vec<(Vec<u8>, Value)>,
    unchecked_bytes: usize,
    /// The values of the next step.
    next: Queue<H>,
    /// The values of this step that are left.
    left: Values<H>,
    /// The memory of the values that are looked up.
    looked_up_bytes: usize,
    documents: Option<Box<dyn Records<H::Error>>>,
    /// New documents that were not returned yet.
    found: VecDeque<Record>,
    held: Held<H>,
    /// The memory for each part; `None` if nothing is in files.
    part: Option<usize>,
    /// The memory of large values that are looked up.
    large: Option<Held<H>>,
}

impl<H: Host> Search<H> {
    /// Begins at a document. `at` is the position of the stage's report, if it has one.
    pub fn new(
        run: &mut Run<H>,
        lookup: &Arc<GraphLookup>,
        at: Option<usize>,
        from: &Record,
    ) -> Result<Self, H::Error> {
        let start = lookup.start.evaluate(&mut from.scope()).map_err(PipelineError::from)?;
        let start = match start {
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
            None => Vec::new(),
        };
        let mut search = Self {
            lookup: lookup.clone(),
            at,
            depth: 0,
            values: Known::new(NAME),
            ids: Known::new(NAME),
            unchecked: Vec::new(),
            unchecked_bytes: 0,
            next: Queue::default(),
            left: Values::default(),
            looked_up_bytes: 0,
            documents: None,
            found: VecDeque::new(),
            held: Held::new(run, NAME),
            part: None,
            large: None,
        };
        search.lead_to(run, start)?;
        search.end_step(run)?;
        Ok(search)
    }

    /// Returns the next document that is reached; each document is returned once.
    pub fn next(&mut self, run: &mut Run<H>) -> Result<Option<Value>, H::Error> {
        loop {
            if let Some(record) = self.found.pop_front() {
                let mut map: Map = record.into_map().map_err(PipelineError::from)?;
                if let Some(field) = &self.lookup.depth {
                    field.set_in(&mut map, Value::Int64(i64::try_from(self.depth).unwrap_or(i64::MAX)));
                }
                return Ok(Some(Value::Map(map)));
            }
            run.tick()?;
            if self.documents.is_some() {
                self.read(run)?;
            } else if !self.look_up(run)? {
                if self.is_last_step() {
                    return Ok(None);
                }
                self.end_step(run)?;
                if self.left.is_empty() {
                    return Ok(None);
                }
                self.depth += 1;
            }
        }
    }

    fn is_last_step(&self) -> bool {
        self.lookup.max_depth.is_some_and(|most| self.depth >= most)
    }

    /// Opens the documents that have one of the next values. Returns false if all values of this step were looked for.
    fn look_up(&mut self, run: &mut Run<H>) -> Result<bool, H::Error> {
        let lookup = self.lookup.clone();
        let most = self.part.unwrap_or(run.settings.stage_bytes_max / PARTS);
        let (mut values, mut bytes) = (Vec::new(), 0);
        while values.is_empty() || bytes < most {
            let Some(value) = self.left.next(&run.settings.limits)? else { break };
            bytes += value_bytes(&value);
            values.push(value);
        }
        if values.is_empty() {
            self.looked_up_bytes = 0;
            return Ok(false);
        }
        self.looked_up_bytes = 2 * bytes;
        self.count(run)?;
        // A single value may be larger than its part of the memory.
        self.large = self.large_values(run, self.part.map_or(0, |part| (2 * bytes).saturating_sub(2 * part)))?;
        // There is no filter if no document can be equal to one of the values.
        if let Some(filter) = equals_one(&lookup.connect_to, values, lookup.collation.as_ref())? {
            // Unlike in other look-ups, a missing value is not equal to null here.
            let exists = Filter::parse(&Map::from([(lookup.connect_to.as_str(), Map::from([("$exists", true)]))]));
            let exists = exists.map_err(PipelineError::from)?;
            let stages = vec![Stage::Match(filter.and(exists).and(lookup.restrict.clone()))];
            self.documents = Some(run.host.open(Some(&lookup.from), stages, &run.settings.limits)?);
        }
        Ok(true)
    }

    /// Reads the next document, or several documents if their `_id`s must be looked up in files.
    fn read(&mut self, run: &mut Run<H>) -> Result<(), H::Error> {
        let Some(documents) = &mut self.documents else { return Ok(()) };
        let (bytes_max, most) = self.part.map_or((1, 1), |part| (part, CHECKED_DOCUMENTS));
        let (mut read, mut bytes) = (Vec::new(), 0);
        while read.len() < most && (read.is_empty() || bytes < bytes_max) {
            let Some(record) = documents.next_record()? else {
                self.documents = None;
                break;
            };
            run.tick()?;
            let id = record.field("_id").map_err(PipelineError::from)?.unwrap_or_default();
            bytes += record.bytes();
            read.push((key_of(&id, None), (read.len(), record)));
        }
        let mut new = self.ids.add(run, read)?;
        new.sort_unstable_by_key(|(at, _)| *at);
        for (_, record) in new {
            if !self.is_last_step() {
                let values = record.values_at(&self.lookup.connect_from)?;
                self.lead_to(run, values)?;
            }
            self.found.push_back(record);
        }
        self.count(run)
    }

    /// Takes the values that will be looked for in the next step.
    fn lead_to(&mut self, run: &mut Run<H>, values: Vec<Value>) -> Result<(), H::Error> {
        let _held = self.large_values(run, values.iter().map(Value::memory).sum())?;
        let most = self.part.unwrap_or(run.settings.stage_bytes_max / PARTS).min(CHECKED_BYTES);
        for value in values {
            let key = key_of(&value, self.lookup.collation.as_ref());
            self.unchecked_bytes += key.len() + value_bytes(&value);
            self.unchecked.push((key, value));
            if self.unchecked_bytes > most {
                self.check(run)?;
                self.count(run)?;
            }
        }
        Ok(())
    }

    /// Moves the values that are not known to the queue.
    fn check(&mut self, run: &mut Run<H>) -> Result<(), H::Error> {
        self.unchecked_bytes = 0;
        for value in self.values.add(run, std::mem::take(&mut self.unchecked))? {
            self.next.push(value);
        }
        Ok(())
    }

    /// Ends a step: the queue then has the values of the next one.
    fn end_step(&mut self, run: &mut Run<H>) -> Result<(), H::Error> {
        self.check(run)?;
        self.count(run)?;
        self.left = std::mem::take(&mut self.next).read(&run.settings.limits)?;
        Ok(())
    }

    /// Counts the memory of the search, and moves the search to files if it takes too much.
    fn count(&mut self, run: &mut Run<H>) -> Result<(), H::Error> {
        let part = match self.part {
            Some(part) => part,
            None => {
                let seen = self.values.bytes() + self.ids.bytes() + self.unchecked_bytes;
                if self.held.fits(seen + self.next.bytes + self.left.bytes + self.looked_up_bytes) {
                    return Ok(());
                }
                if let Some(at) = self.at {
                    run.reports[at].spilled = true;
                }
                let part = *self.part.insert(self.held.for_files()? / PARTS);
                // No values of this step are in files yet.
                let mut left = std::mem::take(&mut self.left).into_queue();
                left.spill_above(run, part, self.lookup.collation.as_ref())?;
                self.left = left.read(&run.settings.limits)?;
                part
            }
        };
        self.values.spill_above(run, part)?;
        self.ids.spill_above(run, part)?;
        self.next.spill_above(run, part, self.lookup.collation.as_ref())
    }

    /// Charges values that belong to no part of the memory.
    fn large_values(&self, run: &Run<H>, bytes: usize) -> Result<Option<Held<H>>, H::Error> {
        if bytes <= LARGE_BYTES {
            return Ok(None);
        }
        let mut held = Held::in_memory(run, NAME);
        held.set(bytes)?;
        Ok(Some(held))
    }
}

/// The memory of a value in a queue.
fn value_bytes(value: &Value) -> usize {
    value.memory() + VALUE_BYTES
}

fn key_of(value: &Value, collation: Option<&Collation>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match collation {
        None => key::encode(value, &mut bytes),
        Some(collation) => collation.encode_key(value, &mut bytes),
    }
    bytes
}

/// Values of the next step, in memory or in files.
struct Queue<H: Host> {
    values: Vec<Value>,
    /// The memory of `values`.
    bytes: usize,
    files: Option<Files<H>>,
}

impl<H: Host> Default for Queue<H> {
    fn default() -> Self {
        Self { values: Vec::new(), bytes: 0, files: None }
    }
}

/// The name of the field that holds a value in a file.
const FIELD: &str = "v";

impl<H: Host> Queue<H> {
    fn push(&mut self, value: Value) {
        self.bytes += value_bytes(&value);
        self.values.push(value);
    }

    /// Moves the values in memory to files if they take more than this number of bytes. In files the values are in the
    /// order of their keys, so that values that are looked up together are near each other.
    fn spill_above(&mut self, run: &Run<H>, bytes_max: usize, collation: Option<&Collation>) -> Result<(), H::Error> {
        if self.bytes <= bytes_max {
            return Ok(());
        }
        let files = self.files.get_or_insert_with(|| Files::new(&run.host, NAME, bytes_max));
        for value in std::mem::take(&mut self.values) {
            let key = key_of(&value, collation);
            files.add(&run.settings.limits, &key, Record::Map(Map::from([(FIELD, value)])))?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// Returns the values for reading.
    fn read(self, limits: &Limits) -> Result<Values<H>, H::Error> {
        let files = self.files.map(|files| files.finish(limits)).transpose()?;
        Ok(Values { memory: self.values.into_iter(), bytes: self.bytes, files })
    }
}

/// Values that are read from a [`Queue`].
struct Values<H: Host> {
    memory: std::vec::IntoIter<Value>,
    /// The memory of the values in `memory`.
    bytes: usize,
    files: Option<FromFiles<H>>,
}

impl<H: Host> Default for Values<H> {
    fn default() -> Self {
        Self { memory: Vec::new().into_iter(), bytes: 0, files: None }
    }
}

impl<H: Host> Values<H> {
    /// Makes a queue of the values in memory; called only while no values are in files.
    fn into_queue(self) -> Queue<H> {
        Queue { values: self.memory.collect(), bytes: self.bytes, files: None }
    }

    /// True if there are no values.
    fn is_empty(&self) -> bool {
        self.memory.len() == 0 && self.files.is_none()
    }

    fn next(&mut self, limits: &Limits) -> Result<Option<Value>, H::Error> {
        if let Some(value) = self.memory.next() {
            self.bytes = self.bytes.saturating_sub(value_bytes(&value));
            return Ok(Some(value));
        }
        let Some(files) = &mut self.files else { return Ok(None) };
        match files.next(limits)? {
            Some(record) => match record.field(FIELD).map_err(PipelineError::from)? {
                Some(value) => Ok(Some(value)),
                None => Err(PipelineError::damaged_file().into()),
            },
            None => {
                self.files = None;
                Ok(None)
            }
        }
    }
}
