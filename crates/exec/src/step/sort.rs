//! Sorts documents in memory, or in files if they exceed the memory limit.

use super::Step;
use crate::item::{BATCH_BYTES, Demand, Item};
use crate::key::Key;
use crate::marks;
use crate::run::{Request, Run};
use crate::source::{MemoryAccount, Sorted, Sorter, Source, memory_of_sorter};
use alluvium_codec::varint;
use alluvium_document::row::{ID, RowError};
use alluvium_document::{Document, Map, Value, encoding};
use alluvium_query::sort::{SortError, TopK};

/// The longest buffer that is kept for the next document.
const KEPT_BYTES: usize = 256 << 10;
/// The bytes of a row below which it is kept whole.
const SHORT_BYTES: usize = 128;
/// The memory of a document beside its row, in bytes.
const OVERHEAD: usize = 160;

type SortedOf<S> = <<S as Source>::Sorter as Sorter>::Sorted;

/// Sorts the documents of the step below.
pub(super) struct Sorting<S: Source> {
    input: Step<S>,
    /// The number of documents that are needed; `None` for all.
    first: Option<usize>,
    state: State<S>,
    /// The account of the documents in memory.
    account: S::Account,
}

enum State<S: Source> {
    Waiting,
    Memory(std::vec::IntoIter<Item>),
    Files(Box<SortedOf<S>>),
}

/// Documents by their sort keys.
type Top = TopK<Item>;

impl<S: Source> Sorting<S> {
    pub fn new(run: &Run<S>, input: Step<S>, first: Option<u64>) -> Self {
        let first = first.map(|first| usize::try_from(first).unwrap_or(usize::MAX));
        Self { input, first, state: State::Waiting, account: run.source.account() }
    }

    pub fn input(&self) -> &Step<S> {
        &self.input
    }

    pub fn input_mut(&mut self) -> &mut Step<S> {
        &mut self.input
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        if matches!(self.state, State::Waiting) {
            self.state = self.gather(run)?;
        }
        let before = out.len();
        match &mut self.state {
            State::Waiting => {}
            State::Memory(items) => out.extend(items.by_ref().take(demand.most)),
            State::Files(sorted) => {
                let mut bytes = 0;
                while out.len() - before < demand.most && bytes < BATCH_BYTES {
                    let Some(value) = sorted.next_value(run.watch.limits())? else { break };
                    bytes += value.len();
                    out.push(decode(&run.source, value)?);
                }
            }
        }
        if out.len() == before {
            self.state = State::Memory(Vec::new().into_iter());
            self.account.shrink(0);
        }
        Ok(())
    }

    fn gather(&mut self, run: &mut Run<S>) -> Result<State<S>, S::Error> {
        let needed = Needed::of(&run.request);
        let mut top: Top = TopK::new(self.first, run.request.sort_bytes_max);
        let (mut key, mut batch) = (Vec::new(), Vec::new());
        loop {
            self.input.next(run, Demand::ALL, &mut batch)?;
            if batch.is_empty() {
                break;
            }
            let mut items = batch.drain(..);
            while let Some(item) = items.next() {
                empty(&mut key);
                let Some(document) = &item.document else { continue };
                run.request.sort.put_key(document, &mut key)?;
                let item = if top.would_keep(&key) { needed.trimmed(item)? } else { item };
                let bytes = item.row_len() + item.key.len() + OVERHEAD;
                let mut item = Some(item);
                let offered = top.offer(&key, bytes, || item.take().unwrap_or_default());
                let refused = match (offered, item) {
                    (Ok(_), _) if top.bytes() <= self.account.bytes() || self.account.grow(top.bytes()) => continue,
                    (Ok(_), _) if !run.request.allow_disk_use => return Err(SortError::Shortage.into()),
                    (Ok(_), _) => None,
                    (Err(SortError::Memory { .. }), Some(item)) if run.request.allow_disk_use => Some((&key[..], item)),
                    (Err(error), _) => return Err(error.into()),
                };
                return self.spill(run, &needed, top, refused, items.collect());
            }
        }
        let items: Vec<Item> = top.into_sorted().map(|(_, item)| item).collect();
        Ok(State::Memory(items.into_iter()))
    }

    /// Continues in files, with what is in memory, the pair that did not fit if there is one, and the rest of the batch.
    fn spill(
        &mut self,
        run: &mut Run<S>,
        needed: &Needed,
        top: Top,
        refused: Option<(&[u8], Item)>,
        mut batch: Vec<Item>,
    ) -> Result<State<S>, S::Error> {
        marks::SORT_SPILLED.hit();
        let bytes_max = memory_of_sorter(&mut self.account, run.request.sort_bytes_max).ok_or(SortError::Shortage)?;
        let mut sorter = run.source.sorter("the sort", bytes_max);
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        // Pairs with equal keys remain in the order in which they are added.
        for (key, item) in top.into_sorted() {
            encode(&item, &mut bytes)?;
            sorter.add(run.watch.limits(), &key, &bytes)?;
        }
        if let Some((key, item)) = refused {
            encode(&item, &mut bytes)?;
            sorter.add(run.watch.limits(), key, &bytes)?;
        }
        // The document that did not fit may have been the last one of its batch.
        loop {
            for item in batch.drain(..) {
                empty(&mut key);
                let Some(document) = &item.document else { continue };
                run.request.sort.put_key(document, &mut key)?;
                encode(&needed.trimmed(item)?, &mut bytes)?;
                sorter.add(run.watch.limits(), &key, &bytes)?;
            }
            self.input.next(run, Demand::ALL, &mut batch)?;
            if batch.is_empty() {
                break;
            }
        }
        Ok(State::Files(Box::new(sorter.finish(run.watch.limits())?)))
    }
}

/// The top-level fields with the values that the query needs.
struct Needed(Option<Vec<Box<str>>>);

impl Needed {
    fn of(request: &Request) -> Self {
        let Some(paths) = &request.needs else { return Self(None) };
        let mut names: Vec<Box<str>> = paths.iter().map(|path| path.first().into()).collect();
        names.sort();
        names.dedup();
        Self(Some(names))
    }

    /// A document with the needed fields alone, in its own order, so that it takes less memory while it is sorted.
    fn trimmed(&self, item: Item) -> Result<Item, RowError> {
        let (Some(names), Some(document), true) = (&self.0, &item.document, item.whole) else { return Ok(item) };
        if document.row_len() < SHORT_BYTES {
            return Ok(item);
        }
        let mut map = Map::with_capacity(names.len() + 1);
        map.push(ID, document.id().clone());
        for field in document.iter()? {
            let (name, value) = field?;
            let Some(name) = name.as_str() else { continue };
            if name != ID && names.binary_search_by(|needed| (**needed).cmp(name)).is_ok() {
                map.push(name, value.to_value()?);
            }
        }
        let trimmed = Document::from_map(&map)?;
        if trimmed.row_len() >= document.row_len() {
            return Ok(item);
        }
        Ok(Item { document: Some(trimmed), whole: false, key: item.key })
    }
}

/// Empties a buffer; one that a large document has used is given back.
fn empty(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
    buffer.clear();
}

/// A document as bytes: whether it is whole, its key, and then its row or its known values.
fn encode(item: &Item, out: &mut Vec<u8>) -> Result<(), RowError> {
    empty(out);
    out.push(u8::from(item.whole));
    varint::put_bytes(out, &item.key);
    match &item.document {
        Some(document) if item.whole => out.extend_from_slice(document.row()),
        Some(document) => encoding::encode(&document.to_value()?, out),
        None => {}
    }
    Ok(())
}

fn decode<S: Source>(source: &S, bytes: &[u8]) -> Result<Item, S::Error> {
    let damaged = || source.damaged_sort();
    let (whole, mut rest) = bytes.split_first().ok_or_else(damaged)?;
    let key: Key = varint::get_bytes(&mut rest).map_err(|_| damaged())?.into();
    let whole = *whole == 1;
    let document = if whole {
        source.document(&key, rest.to_vec())?
    } else {
        let Ok(Value::Map(map)) = encoding::decode(&mut rest) else { return Err(damaged()) };
        Document::from_map(&map)?
    };
    Ok(Item { key, document: Some(document), whole })
}

#[cfg(test)]
mod tests;
