//! Batches of a `$lookup`: the values of many documents are looked up by an index in one pass.
//!
//! Documents are gathered: first one, then twice as many each time, up to limits of their number, their values and
//! their bytes. Their distinct values are sorted and looked up together, so each value is read once, and neighbouring
//! values share blocks. Then the documents are returned in their order, each with the documents found for its values.
//!
//! Other documents are left to the stage, which opens the other collection for each of them. These are documents with
//! values that an index alone cannot decide, such as arrays in arrays, and all documents if no index can be used. The
//! stage also gets the documents whose values were not looked up because the results of the batch took too many bytes,
//! or because an error occurred before. Therefore an error belongs to its document, and is returned after all earlier
//! documents.

use super::equality::{BYTES_MAX, equals_one};
use super::host::{BoxedFinder, Host};
use super::run::Run;
use super::stream::Stream;
use crate::source::MemoryAccount;
use alluvium_document::{Document, Value, bson, key};
use alluvium_query::collation::Collation;
use alluvium_query::pipeline::{Lookup, PipelineError, Record};
use hashbrown::HashSet;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The most documents of a batch.
const DOCUMENTS_MAX: usize = 256;

/// The most distinct values of a batch. A document with more distinct values is looked up alone.
const VALUES_MAX: usize = 1024;

/// The most bytes of the key of a value. A document with a longer key is looked up alone.
const VALUE_BYTES_MAX: usize = 1024;

/// The most bytes of the documents of a batch, and of the documents that are found for them.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// The memory that a document takes in addition to its row.
const DOCUMENT_BYTES: usize = 160;

/// The documents of a `$lookup`, in batches.
pub(super) struct Batches<H: Host> {
    lookup: Arc<Lookup>,
    finder: Finding<H::Error>,
    /// The documents of the batch that are left, the next one first.
    left: VecDeque<(Record, Values)>,
    /// The result for each distinct value of the batch, and the result for null at the end.
    found: Vec<Found>,
    /// The error that follows the documents that are left.
    failed: Option<H::Error>,
    /// The most documents of the next batch.
    most: usize,
    held: Held<H>,
}

/// The way in which documents of the other collection are found.
enum Finding<E> {
    Unknown,
    By(BoxedFinder<E>),
    /// Each document is looked up alone.
    Alone,
}

/// A document of the stage.
pub(super) struct Joined {
    pub record: Record,
    /// The result of the batch; `None` if the value has to be looked up alone.
    pub found: Option<Vec<Value>>,
}

/// The values of a document.
enum Values {
    /// The positions of the document's values among the distinct values of the batch, ascending.
    Distinct(Vec<usize>),
    /// Null, or no value at the path.
    Null,
    /// The document is looked up alone.
    Alone,
}

/// The distinct values of a batch by their keys, each with the positions of the documents that have it.
type Distinct = BTreeMap<Vec<u8>, (Value, Vec<usize>)>;

/// The result for a value.
#[derive(Default)]
struct Found {
    /// True if all documents of the value were found.
    is_whole: bool,
    /// The position of the value in the order of the index, among the values with documents.
    place: usize,
    documents: Vec<Document>,
}

/// The memory of a batch.
struct Held<H: Host> {
    bytes: usize,
    bytes_max: usize,
    /// `None` if nothing is held.
    account: Option<H::Account>,
}

impl<H: Host> Held<H> {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        if let Some(account) = self.account.as_mut()
            && self.bytes > account.bytes()
            && !account.grow(self.bytes)
        {
            // The limit is lowered, so that the batch ends here.
            self.bytes_max = self.bytes;
        }
    }

    fn is_full(&self) -> bool {
        self.bytes >= self.bytes_max
    }
}

impl<H: Host> Batches<H> {
    /// The batches of a stage; `None` if it looks up each document alone.
    pub fn new(lookup: &Arc<Lookup>) -> Option<Self> {
        let is_plain = lookup.equality.is_some() && lookup.from.is_some() && !lookup.has_stages();
        is_plain.then(|| Self {
            lookup: lookup.clone(),
            finder: Finding::Unknown,
            left: VecDeque::new(),
            found: Vec::new(),
            failed: None,
            most: 1,
            held: Held { bytes: 0, bytes_max: 0, account: None },
        })
    }

    /// Returns the next document with the documents that were found for it, or without them if it has to be looked up
    /// alone.
    pub fn next(
        &mut self,
        input: &mut dyn Stream<H>,
        run: &mut Run<H>,
        at: Option<usize>,
    ) -> Result<Option<Joined>, H::Error> {
        if self.left.is_empty() && self.failed.is_none() {
            let distinct = self.gather(input, run);
            self.look_up(run, distinct, at);
        }
        let Some((record, values)) = self.left.pop_front() else {
            self.held.account = None;
            return self.failed.take().map_or(Ok(None), Err);
        };
        let found = self.found_for(run, values)?;
        Ok(Some(Joined { record, found }))
    }

    /// Reads the documents of the next batch. Returns their distinct values.
    fn gather(&mut self, input: &mut dyn Stream<H>, run: &mut Run<H>) -> Distinct {
        let mut distinct = Distinct::new();
        let bytes_max = BATCH_BYTES_MAX.min(run.settings.stage_bytes_max);
        self.held = Held { bytes: 0, bytes_max, account: Some(run.host.account()) };
        let most = if matches!(self.finder, Finding::Alone) { 1 } else { self.most };
        while self.left.len() < most && distinct.len() < VALUES_MAX && !self.held.is_full() {
            match input.next(run) {
                Ok(Some(record)) => {
                    self.held.add(record.bytes());
                    let values = self.values_of(&record, &mut distinct);
                    self.left.push_back((record, values));
                }
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        distinct
    }

    /// Returns the values of the document that is gathered next, and adds them to the distinct values.
    fn values_of(&self, record: &Record, distinct: &mut Distinct) -> Values {
        let Some((local, _)) = &self.lookup.equality else { return Values::Alone };
        // Damage is reported later, when the document is looked up alone.
        let Ok(values) = record.values_at(local) else { return Values::Alone };
        if matches!(values[..], [] | [Value::Null]) {
            return Values::Null;
        }
        let collation = self.lookup.around.collation();
        let keys: Option<Vec<Vec<u8>>> = values.iter().map(|value| key_of(value, collation)).collect();
        let Some(keys) = keys.filter(|keys| keys.len() <= VALUES_MAX) else { return Values::Alone };
        let document = self.left.len();
        for (key, value) in keys.into_iter().zip(values) {
            let (_, documents) = distinct.entry(key).or_insert_with(|| (value, Vec::new()));
            if documents.last() != Some(&document) {
                documents.push(document);
            }
        }
        Values::Distinct(Vec::new())
    }

    /// Looks up the values of the batch.
    fn look_up(&mut self, run: &mut Run<H>, distinct: Distinct, at: Option<usize>) {
        let mut values = Vec::with_capacity(distinct.len());
        for (value, documents) in distinct.into_values() {
            for document in documents {
                if let Some((_, Values::Distinct(positions))) = self.left.get_mut(document) {
                    positions.push(values.len());
                }
            }
            values.push(value);
        }
        self.found.clear();
        self.found.resize_with(values.len() + 1, Found::default);
        let has_null = self.left.iter().any(|(_, values)| matches!(values, Values::Null));
        let mut keys = 0;
        // If there is no memory for the results, each document is looked up alone.
        let has_memory = !self.held.is_full();
        if has_memory && !values.is_empty() {
            match self.pass(run, &values, 0) {
                true => keys += values.len(),
                false => self.finder = Finding::Alone,
            }
        }
        // An index that has no entries for some documents may serve all values except null.
        if has_memory && has_null && self.pass(run, &[Value::Null], values.len()) {
            keys += 1;
        }
        self.most = if self.held.is_full() { (self.most / 2).max(1) } else { (self.most * 2).min(DOCUMENTS_MAX) };
        if let Some(at) = at
            && let Finding::By(finder) = &self.finder
            && keys > 0
        {
            let report = run.reports[at].lookups.get_or_insert_default();
            finder.index().clone_into(&mut report.index);
            report.batches += 1;
            report.keys += keys as u64;
        }
    }

    /// Looks up values in one pass. The result for the first value is stored at position `first` of the results.
    /// Returns false if no index can be used.
    fn pass(&mut self, run: &Run<H>, values: &[Value], first: usize) -> bool {
        let Self { lookup, found, held, .. } = self;
        let (Some(from), Some((_, foreign))) = (&lookup.from, &lookup.equality) else { return false };
        if matches!(self.finder, Finding::Unknown) {
            // An error is returned for the first document, when it is looked up alone.
            let finder = run.host.finder(from, foreign).unwrap_or_default();
            self.finder = finder.map_or(Finding::Alone, Finding::By);
        }
        let Finding::By(finder) = &mut self.finder else { return false };
        let filter = equals_one(foreign, values.to_vec(), lookup.around.collation());
        let Ok(Some(filter)) = filter else { return false };
        let (mut places, mut last) = (0, None);
        let served = finder.find(values, &filter, &mut |position, document| {
            let of_value = &mut found[first + position];
            if last != Some(position) {
                of_value.place = places;
                places += 1;
                // The previous value has no more documents.
                if let Some(last) = last.replace(position) {
                    found[first + last].is_whole = true;
                }
            }
            held.add(document.row_len() + DOCUMENT_BYTES);
            found[first + position].documents.push(document);
            !held.is_full()
        });
        match served {
            Ok(true) => {
                if !held.is_full() {
                    found[first..first + values.len()].iter_mut().for_each(|one| one.is_whole = true);
                }
                true
            }
            Ok(false) => false,
            // The documents whose values were not reached are looked up alone. One of them gets the error.
            Err(_) => true,
        }
    }

    /// The documents that were found for values; `None` if a value was not looked up.
    fn found_for(&mut self, run: &mut Run<H>, values: Values) -> Result<Option<Vec<Value>>, H::Error> {
        let mut positions = match values {
            Values::Distinct(positions) => positions,
            Values::Null => vec![self.found.len() - 1],
            Values::Alone => return Ok(None),
        };
        if !positions.iter().all(|position| self.found[*position].is_whole) {
            return Ok(None);
        }
        positions.sort_by_key(|position| self.found[*position].place);
        let (mut given, several) = (HashSet::new(), positions.len() > 1);
        let (mut all, mut bytes, mut memory) = (Vec::new(), 0, self.held.bytes);
        for document in positions.into_iter().flat_map(|position| &self.found[position].documents) {
            run.tick()?;
            if several && !given.insert(id_of(document)) {
                continue;
            }
            let value = Value::Map(document.to_map().map_err(PipelineError::from)?);
            bytes += bson::bson_size(&value);
            if bytes > BYTES_MAX {
                return Err(PipelineError::too_large("$lookup").into());
            }
            memory += value.memory();
            if let Some(account) = &mut self.held.account
                && memory > account.bytes()
                && !account.grow(memory)
            {
                return Ok(None);
            }
            all.push(value);
        }
        Ok(Some(all))
    }
}

/// The key of a value that equal values share; `None` if the value has to be looked up alone.
fn key_of(value: &Value, collation: Option<&Collation>) -> Option<Vec<u8>> {
    use Value::{Binary, Bool, DateTime, Decimal, Double, Int32, Int64, ObjectId, String, Timestamp};
    let is_single = matches!(
        value,
        Binary(_)
            | Bool(_)
            | DateTime(_)
            | Decimal(_)
            | Double(_)
            | Int32(_)
            | Int64(_)
            | ObjectId(_)
            | String(_)
            | Timestamp(_)
    );
    let mut bytes = Vec::new();
    match collation.filter(|_| is_single) {
        None if !is_single => return None,
        None => key::encode(value, &mut bytes),
        Some(collation) => collation.encode_key(value, &mut bytes),
    }
    (bytes.len() <= VALUE_BYTES_MAX).then_some(bytes)
}

fn id_of(document: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode(document.id(), &mut bytes);
    bytes
}
