//! Sorts documents in memory, or in files if they exceed the memory limit.
//!
//! If only the first documents are needed, they are kept one by one ([`TopK`]). If all documents are needed, they are
//! kept as bytes in [`Packed`] memory, with only the fields that the query needs.

use super::Step;
use crate::item::{BATCH_BYTES, Demand, Fields, Item};
use crate::key::Key;
use crate::limits::Limits;
use crate::marks;
use crate::packed::Packed;
use crate::run::Run;
use crate::source::{MemoryAccount, Sorted, Sorter, Source, memory_of_sorter};
use alluvium_codec::varint;
use alluvium_document::Document;
use alluvium_document::row::{FieldPicker, ID, MapRef, RowError};
use alluvium_query::pipeline::RecordRef;
use alluvium_query::sort::{Sort, SortError, TopK};

/// The longest buffer that is kept for the next document.
const KEPT_BYTES: usize = 256 << 10;
/// Among the first documents, a row shorter than this is kept whole.
const SHORT_BYTES: usize = 128;
/// The memory of a document in addition to its row, in bytes.
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
    Packed(Packed),
    Files(Box<SortedOf<S>>),
}

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
        let (before, mut bytes) = (out.len(), 0);
        while out.len() - before < demand.most && bytes < BATCH_BYTES {
            let value = match &mut self.state {
                State::Waiting => None,
                State::Memory(items) => {
                    out.extend(items.by_ref().take(demand.most));
                    break;
                }
                State::Packed(packed) => packed.next_value(),
                State::Files(sorted) => sorted.next_value(run.watch.limits())?,
            };
            let Some(value) = value else { break };
            bytes += value.len();
            out.push(decode(&run.source, value)?);
        }
        if out.len() == before {
            self.state = State::Memory(Vec::new().into_iter());
            self.account.shrink(0);
        }
        Ok(())
    }

    /// Reads all documents.
    fn gather(&mut self, run: &mut Run<S>) -> Result<State<S>, S::Error> {
        let mut gathering = Gathering::new(run, self.first, &mut self.account);
        if self.input.visit(run, &mut |record| gathering.add_record(record))? {
            return gathering.finish();
        }
        let mut batch = Vec::new();
        loop {
            self.input.next(run, Demand::ALL, &mut batch)?;
            if batch.is_empty() {
                return gathering.finish();
            }
            batch.drain(..).try_for_each(|item| gathering.add_item(item))?;
        }
    }
}

/// The documents that were read so far.
struct Gathering<'a, S: Source> {
    source: S,
    sort: Sort,
    limits: Limits,
    bytes_max: usize,
    may_use_files: bool,
    /// Picks the fields that the query needs; `None` for whole documents.
    picker: Option<FieldPicker>,
    /// The first byte of the picked bytes.
    picked: u8,
    account: &'a mut S::Account,
    kept: Kept<S::Sorter>,
    /// The sort key of the current document, and its bytes.
    key: Vec<u8>,
    bytes: Vec<u8>,
}

enum Kept<F> {
    /// The first documents.
    First(TopK<Item>),
    /// All documents, as pairs of their sort keys and their bytes.
    All(Packed),
    /// All documents, in files.
    Files(F),
}

impl<'a, S: Source> Gathering<'a, S> {
    fn new(run: &Run<S>, first: Option<usize>, account: &'a mut S::Account) -> Self {
        let request = &run.request;
        let names = request.needs.as_deref().map(|paths| paths.iter().map(|path| path.first()));
        let picked = match names.clone().is_some_and(|mut names| names.any(|name| name == ID)) {
            true => NEEDED,
            false => PICKED,
        };
        let kept = match first {
            Some(first) => Kept::First(TopK::new(Some(first), request.sort_bytes_max)),
            None => Kept::All(Packed::new()),
        };
        Self {
            source: run.source.clone(),
            sort: request.sort.clone(),
            limits: run.watch.limits().clone(),
            bytes_max: request.sort_bytes_max,
            may_use_files: request.allow_disk_use,
            picker: names.map(|names| FieldPicker::new(names.chain([ID]))),
            picked,
            account,
            kept,
            key: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn add_item(&mut self, item: Item) -> Result<(), S::Error> {
        let Some(document) = &item.document else { return Ok(()) };
        let row = document.map()?;
        self.put_key(row)?;
        if !matches!(self.kept, Kept::First(_)) {
            self.put_bytes(row, &item.key)?;
            return self.add_bytes();
        }
        if !self.would_keep() {
            return Ok(());
        }
        match item.is_whole() && document.row_len() >= SHORT_BYTES && self.picker.is_some() {
            false => self.add_first(item),
            true => {
                let picked = self.item_of(row, item.key.clone())?;
                self.add_first(picked)
            }
        }
    }

    fn add_record(&mut self, record: RecordRef<'_>) -> Result<(), S::Error> {
        let owned;
        let row = match record {
            RecordRef::View(row) => row,
            RecordRef::Row(document) => document.map()?,
            RecordRef::Map(map) => {
                owned = Document::from_map(map)?;
                owned.map()?
            }
        };
        self.put_key(row)?;
        if !self.would_keep() {
            return Ok(());
        }
        // With picked fields, the key is made from the `_id` when it is requested.
        let key = match &self.picker {
            Some(_) => None,
            None => row.get(ID)?.map(|id| id.to_value()).transpose()?.and_then(|id| self.source.key_of(&id)),
        };
        let key = key.unwrap_or_default();
        if matches!(self.kept, Kept::First(_)) {
            let item = self.item_of(row, key)?;
            return self.add_first(item);
        }
        self.put_bytes(row, &key)?;
        self.add_bytes()
    }

    fn put_key(&mut self, row: MapRef<'_>) -> Result<(), SortError> {
        empty(&mut self.key);
        self.sort.put_key_of(row, &mut self.key)
    }

    /// False if only the first documents are kept, and the document with the current key is not among them.
    fn would_keep(&self) -> bool {
        match &self.kept {
            Kept::First(top) => top.would_keep(&self.key),
            Kept::All(_) | Kept::Files(_) => true,
        }
    }

    /// Makes an item with the needed fields of a document, or with the whole document.
    fn item_of(&mut self, row: MapRef<'_>, key: Key) -> Result<Item, S::Error> {
        self.put_bytes(row, &key)?;
        decode(&self.source, &self.bytes)
    }

    /// Sets the bytes of a document: a byte for their kind, then the key and the row of the document.
    fn put_bytes(&mut self, row: MapRef<'_>, key: &[u8]) -> Result<(), RowError> {
        empty(&mut self.bytes);
        self.bytes.push(match (&self.picker, row.shape()) {
            (Some(_), _) => self.picked,
            (None, Some(_)) => SHAPED,
            (None, None) => PLAIN,
        });
        varint::put_bytes(&mut self.bytes, key);
        match &mut self.picker {
            Some(picker) => picker.put_row(row, &mut self.bytes)?,
            None => row.put_row(&mut self.bytes),
        }
        Ok(())
    }

    /// Adds a document with the current key to the first documents.
    fn add_first(&mut self, item: Item) -> Result<(), S::Error> {
        let Kept::First(top) = &mut self.kept else { return Ok(()) };
        let bytes = item.row_len() + item.key.len() + OVERHEAD;
        let mut item = Some(item);
        let refused = match top.offer(&self.key, bytes, || item.take().unwrap_or_default()) {
            Ok(_) if top.bytes() <= self.account.bytes() || self.account.grow(top.bytes()) => return Ok(()),
            Ok(_) if self.may_use_files => None,
            Ok(_) => return Err(SortError::Shortage.into()),
            Err(SortError::Memory { .. }) if self.may_use_files => item,
            Err(error) => return Err(error.into()),
        };
        let key = std::mem::take(&mut self.key);
        let files = Kept::Files(self.begin_files()?);
        // Pairs with equal keys remain in the order in which they are added.
        let Kept::First(top) = std::mem::replace(&mut self.kept, files) else { return Ok(()) };
        for (key, item) in top.into_sorted().chain(refused.map(|item| (key.into(), item))) {
            let Some(document) = &item.document else { continue };
            self.put_bytes(document.map()?, &item.key)?;
            empty(&mut self.key);
            self.key.extend_from_slice(&key);
            self.add_bytes()?;
        }
        Ok(())
    }

    /// Adds the current key and bytes.
    fn add_bytes(&mut self) -> Result<(), S::Error> {
        let packed = match &mut self.kept {
            Kept::First(_) => return Ok(()),
            Kept::Files(files) => return files.add(&self.limits, &self.key, &self.bytes),
            Kept::All(packed) => packed,
        };
        // A long pair is not copied until there is memory for it.
        let long = packed.bytes_of_long(&self.key, &self.bytes);
        if long == 0 {
            packed.push(&self.key, &self.bytes);
        }
        let needed = packed.bytes() + long;
        // With the current key and bytes, and their copies on the way to a file.
        let held = needed + 2 * long;
        if held <= self.account.bytes() || (needed <= self.bytes_max && self.account.grow(held)) {
            if long > 0 {
                packed.push(&self.key, &self.bytes);
            }
            return Ok(());
        }
        if !self.may_use_files {
            let limit = self.bytes_max;
            return Err(if needed > limit { SortError::Memory { limit } } else { SortError::Shortage }.into());
        }
        let mut files = self.begin_files()?;
        if let Kept::All(packed) = std::mem::replace(&mut self.kept, Kept::All(Packed::new())) {
            packed.drain(|key, bytes| files.add(&self.limits, key, bytes))?;
        }
        if long > 0 {
            files.add(&self.limits, &self.key, &self.bytes)?;
        }
        self.kept = Kept::Files(files);
        Ok(())
    }

    /// Files for all pairs.
    fn begin_files(&mut self) -> Result<S::Sorter, S::Error> {
        marks::SORT_SPILLED.hit();
        let bytes_max = memory_of_sorter(self.account, self.bytes_max).ok_or(SortError::Shortage)?;
        Ok(self.source.sorter("the sort", bytes_max))
    }

    fn finish(self) -> Result<State<S>, S::Error> {
        Ok(match self.kept {
            Kept::First(top) => {
                let items: Vec<Item> = top.into_sorted().map(|(_, item)| item).collect();
                State::Memory(items.into_iter())
            }
            Kept::All(mut packed) => {
                packed.sort();
                State::Packed(packed)
            }
            Kept::Files(files) => State::Files(Box::new(files.finish(&self.limits)?)),
        })
    }
}

/// Empties a buffer. Releases its memory if a large document has used it.
fn empty(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
    buffer.clear();
}

/// The first byte of a document's bytes. With this value, a whole row under a shape follows, which is read together
/// with its key.
const SHAPED: u8 = 1;
/// A whole row without a shape follows.
const PLAIN: u8 = 2;
/// A row with the needed fields follows.
const NEEDED: u8 = 3;
/// A row with the needed fields and the `_id`, from which the key is made, follows.
const PICKED: u8 = 4;

fn decode<S: Source>(source: &S, bytes: &[u8]) -> Result<Item, S::Error> {
    let damaged = || source.damaged_sort();
    let (what, mut rest) = bytes.split_first().ok_or_else(damaged)?;
    let key: Key = varint::get_bytes(&mut rest).map_err(|_| damaged())?.into();
    let document = match *what {
        SHAPED => source.document(&key, rest.to_vec())?,
        PLAIN | NEEDED | PICKED => source.picked(rest.to_vec())?,
        _ => return Err(damaged()),
    };
    let fields = match *what {
        NEEDED => Fields::Needed,
        PICKED => Fields::Some,
        _ => Fields::Whole,
    };
    Ok(Item { key, document: Some(document), fields })
}

#[cfg(test)]
mod tests;
