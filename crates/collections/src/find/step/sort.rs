//! Documents in order: the first few in memory, more than fit there in files.

use super::{Item, Step};
use crate::error::{Error, Result};
use crate::find::run::Run;
use crate::marks;
use crate::spill::Spill;
use alluvium_codec::varint;
use alluvium_document::{Document, Value, encoding};
use alluvium_query::sort::{SortError, TopK};
use alluvium_readonly::sorter::Sorted;
use alluvium_store::Charge;

/// The most bytes of memory that a sort takes: MongoDB's limit.
const BYTES_MAX: usize = 100 << 20;
/// The charge follows in steps of this many bytes.
const STEP: usize = 256 << 10;
/// What a document takes in memory beside its row.
const OVERHEAD: usize = 160;

/// Sorts what the step below finds.
pub(crate) struct Sorting {
    input: Step,
    /// Only so many are wanted.
    first: Option<usize>,
    bytes_max: usize,
    state: State,
    /// Follows what is held.
    charge: Charge,
}

enum State {
    Waiting,
    Few(std::vec::IntoIter<Item>),
    Many(Box<Sorted>),
}

impl Sorting {
    pub fn new(run: &Run, input: Step, first: Option<u64>) -> Self {
        let store = run.view.store();
        let options = store.options();
        let bytes_max = options.tuning.gather_bytes.unwrap_or(BYTES_MAX.min(options.memory_bytes / 8));
        let first = first.map(|first| usize::try_from(first).unwrap_or(usize::MAX));
        Self { input, first, bytes_max, state: State::Waiting, charge: store.charge(0) }
    }

    pub fn input(&self) -> &Step {
        &self.input
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        if matches!(self.state, State::Waiting) {
            self.state = self.gather(run)?;
        }
        let item = match &mut self.state {
            State::Waiting => None,
            State::Few(items) => items.next(),
            State::Many(sorted) => match sorted.next()? {
                Some((_, bytes)) => Some(decode(run, bytes)?),
                None => None,
            },
        };
        if item.is_none() {
            self.charge.resize(0);
        }
        Ok(item)
    }

    fn gather(&mut self, run: &mut Run) -> Result<State> {
        let mut top: TopK<(Vec<u8>, Item)> = TopK::new(self.first, self.bytes_max);
        let mut key = Vec::new();
        while let Some(item) = self.input.next(run)? {
            key.clear();
            let Some(document) = &item.document else { continue };
            run.query.sort.put_key(document, &mut key)?;
            let bytes = document.row_len() + item.key.len() + key.len() + OVERHEAD;
            let mut item = Some(item);
            let offered = top.offer(&key, bytes, || (key.clone(), item.take().unwrap_or_else(Item::none)));
            match (offered, item) {
                (Ok(_), _) if top.bytes() > self.charge.bytes() => self.charge.resize(top.bytes() + STEP),
                (Ok(_), _) => {}
                (Err(SortError::Memory { .. }), Some(item)) if run.query.allow_disk_use => {
                    return self.spill(run, top, (&key, item));
                }
                (Err(error), _) => return Err(error.into()),
            }
        }
        let items: Vec<Item> = top.into_sorted().map(|(_, item)| item).collect();
        Ok(State::Few(items.into_iter()))
    }

    /// Goes on in files.
    fn spill(&mut self, run: &mut Run, top: TopK<(Vec<u8>, Item)>, next: (&[u8], Item)) -> Result<State> {
        marks::SORT_SPILLED.hit();
        self.charge.resize(self.bytes_max);
        let mut bytes = Vec::new();
        let mut spill = Spill::new(&run.view.engine, "the sort", self.bytes_max);
        // What is taken first stays first among equals.
        for (key, item) in top.into_sorted() {
            encode(&item, &mut bytes)?;
            spill.add(&run.query.limits, &key, &bytes)?;
        }
        encode(&next.1, &mut bytes)?;
        spill.add(&run.query.limits, next.0, &bytes)?;
        let mut key = Vec::new();
        while let Some(item) = self.input.next(run)? {
            key.clear();
            let Some(document) = &item.document else { continue };
            run.query.sort.put_key(document, &mut key)?;
            encode(&item, &mut bytes)?;
            spill.add(&run.query.limits, &key, &bytes)?;
        }
        Ok(State::Many(Box::new(spill.finish(&run.query.limits)?)))
    }
}

impl Item {
    fn none() -> Self {
        Self { key: Vec::new(), document: None, whole: false }
    }
}

/// A document as bytes: whether it is whole, its key, and then its row; or the values that are known of it.
fn encode(item: &Item, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    out.push(u8::from(item.whole));
    varint::put_bytes(out, &item.key);
    match &item.document {
        Some(document) if item.whole => out.extend_from_slice(document.row()),
        Some(document) => encoding::encode(&document.to_value()?, out),
        None => {}
    }
    Ok(())
}

fn decode(run: &Run, bytes: &[u8]) -> Result<Item> {
    let damaged = || Error::DamagedDocument {
        collection: run.view.name.to_string(),
        id: "(sorted)".to_owned(),
        reason: "a file of a sort has changed".to_owned(),
    };
    let (whole, mut rest) = bytes.split_first().ok_or_else(damaged)?;
    let key = varint::get_bytes(&mut rest).map_err(|_| damaged())?.to_vec();
    let whole = *whole == 1;
    let document = if whole {
        crate::read::decode(&run.view.state.shapes, &run.view.name, &key, rest.to_vec())?
    } else {
        let Ok(Value::Map(map)) = encoding::decode(&mut rest) else { return Err(damaged()) };
        Document::from_map(&map)?
    };
    Ok(Item { key, document: Some(document), whole })
}
