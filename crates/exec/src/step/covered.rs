//! Answers from the entries of an index alone.

use super::reader::{EntryReader, Proved};
use crate::counts::Counts;
use crate::entries::EntryRef;
use crate::item::{BATCH_MAX, Demand, Fields, Item};
use crate::key::Key;
use crate::run::{EqualsVisitor, Run};
use crate::source::{Proof, Source};
use alluvium_document::path::FieldPath;
use alluvium_document::{Document, Map, Value};
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::RecordRef;
use alluvium_query::plan::IndexScan;

/// A query that the entries of an index answer without documents.
pub(super) struct Covered<S: Source> {
    entries: EntryReader<S>,
    filter: Filter,
    /// True if the query or its order needs values.
    wants_values: bool,
    /// True if the query needs the `_id` exactly as it is stored.
    wants_id: bool,
    /// True if the order needs the `_id`.
    sorts_id: bool,
    /// Set if only entries are needed that differ in their values up to this part.
    distinct: Option<usize>,
}

impl<S: Source> Covered<S> {
    pub fn new(run: &Run<S>, scan: &IndexScan) -> Result<Self, S::Error> {
        let request = &run.request;
        let needs = request.needs.as_deref().unwrap_or_default();
        let sorts_id = request.sort.parts().iter().any(|part| part.path.as_str() == "_id");
        Ok(Self {
            entries: EntryReader::new(run, scan)?,
            filter: scan.covered.clone().unwrap_or_default(),
            wants_values: !needs.is_empty() || !request.sort.is_empty(),
            wants_id: needs.iter().any(|path| path.as_str() == "_id"),
            sorts_id,
            distinct: request.distinct().and_then(|path| scan.bounds.iter().position(|part| part.part.path == *path)),
        })
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        // With `distinct`, an entry decides whether the following ones are skipped.
        let most = if self.distinct.is_some() { 1 } else { demand.most };
        let before = out.len();
        while out.len() == before {
            self.entries.fill(run, most)?;
            if self.entries.batch.is_empty() {
                return Ok(());
            }
            let mut at = 0;
            while at < self.entries.batch.len() {
                let Proved { part, failed } = self.entries.prove(run, at, usize::MAX, Proof::Entries)?;
                at = part.end;
                for at in part {
                    if self.entries.batch.is_proved(at) {
                        self.add(run, at, out)?;
                    }
                }
                failed.map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    /// Appends the values of a proved entry, if it matches and its document was not returned
    /// before.
    fn add(&mut self, run: &mut Run<S>, at: usize, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let (mut values, mut equals) = (Map::new(), None);
        if self.wants_values || !self.filter.is_empty() {
            let found = self.entries.values(run, at)?;
            // In the index a missing value looks like null, but for `distinct` only null is a
            // value.
            equals = self.distinct.filter(|part| found.get(*part).is_some_and(Option::is_some));
            values = self.entries.plan().document(&found);
            if !self.filter.matches_map(&values)? {
                return Ok(());
            }
        }
        if !self.entries.note(at) && !self.is_first(run, at)? {
            return Ok(());
        }
        if let Some(part) = equals {
            self.entries.pass_over_equals(at, part);
        }
        let key = Key::from(self.entries.batch.id(at));
        let item = self.item(run, key, values)?;
        out.push(item);
        Ok(())
    }

    /// True if documents that follow each other may be equal in what the query needs, and are passed once by
    /// [`Covered::visit_equals`].
    pub fn has_equals(&self) -> bool {
        let needs_id = self.wants_id || self.sorts_id;
        !needs_id && !self.entries.plan().multikey
    }

    /// Passes the values of the remaining entries: those of equal entries once, with their number, which is also added
    /// to `returned`. Entries are equal if the keys of the parts that the query needs are, and their values. If one of
    /// equal documents suffices, null counts as equal to a missing value, and most of many equal entries are skipped.
    pub fn visit_equals(
        &mut self,
        run: &mut Run<S>,
        returned: &mut u64,
        visit: &mut EqualsVisitor<'_, S::Error>,
    ) -> Result<(), S::Error> {
        let parts = self.compared_parts(run);
        let mut equals = Equals::default();
        loop {
            self.entries.fill(run, BATCH_MAX)?;
            if self.entries.batch.is_empty() {
                return equals.pass(returned, visit);
            }
            let mut at = 0;
            while at < self.entries.batch.len() {
                let Proved { part, failed } = self.entries.prove(run, at, usize::MAX, Proof::Entries)?;
                at = part.end;
                for at in part {
                    if !self.entries.batch.is_proved(at) || equals.has(&self.entries.batch.entry(at), parts) {
                        continue;
                    }
                    equals.pass(returned, visit)?;
                    equals.document = self.document(run, at)?;
                    let entry = self.entries.batch.entry(at);
                    equals.begin(&entry, self.entries.plan().first_parts_of(entry.key(), parts));
                }
                failed.map_or(Ok(()), Err)?;
            }
            let last = self.entries.batch.len() - 1;
            let is_among_many = equals.count >= BATCH_MAX as u64 && equals.document.is_some();
            if let Some(part) = self.distinct.filter(|_| is_among_many && self.entries.batch.is_proved(last)) {
                self.entries.pass_over_equals(last, part);
            }
        }
    }

    /// The number of leading parts that decide whether entries are equal.
    fn compared_parts(&self, run: &Run<S>) -> usize {
        let bounds = &self.entries.plan().bounds;
        let part_of = |path: &FieldPath| bounds.iter().position(|part| part.part.path == *path);
        let needs = run.request.needs.iter().flatten();
        let needed = needs.map(|path| part_of(path).map_or(bounds.len(), |at| at + 1)).max().unwrap_or(0);
        // The filter may read any part.
        if self.filter.is_empty() { needed } else { bounds.len() }
    }

    /// The values of an entry; `None` if they do not match.
    fn document(&self, run: &Run<S>, at: usize) -> Result<Option<Document>, S::Error> {
        if !self.wants_values && self.filter.is_empty() {
            return Ok(Some(Document::default()));
        }
        let values = self.entries.plan().document(&self.entries.values(run, at)?);
        Ok(if self.filter.matches_map(&values)? { Some(Document::from_map(&values)?) } else { None })
    }

    fn is_first(&mut self, run: &mut Run<S>, at: usize) -> Result<bool, S::Error> {
        let document = read(run, self.entries.batch.id(at).into())?.document;
        document.map_or(Ok(false), |document| self.entries.is_first(run, at, &document))
    }

    fn item(&mut self, run: &mut Run<S>, key: Key, mut values: Map) -> Result<Item, S::Error> {
        if !self.wants_values {
            return Ok(Item { key, document: None, fields: Fields::Some });
        }
        if self.wants_id || self.sorts_id {
            match exact_id(&key) {
                Some((id, exact)) if exact || !self.wants_id => {
                    // The `_id` may also be a part of the index.
                    values.entries.retain(|(name, _)| name.as_str() != Some("_id"));
                    values.entries.insert(0, (Value::from("_id"), id));
                }
                // Only the document has the exact value of its `_id`.
                _ => {
                    let item = read(run, key)?;
                    if item.document.is_some() {
                        return Ok(item);
                    }
                    return Ok(Item { document: Some(Document::from_map(&values)?), ..item });
                }
            }
        }
        Ok(Item { key, document: Some(Document::from_map(&values)?), fields: Fields::Some })
    }

    pub fn pause(&mut self, source: &S) {
        self.entries.pause(source);
    }

    pub fn counts(&self, source: &S) -> Counts {
        self.entries.counts(source)
    }
}

/// Equal entries that follow each other.
#[derive(Default)]
struct Equals {
    /// The keys of the compared parts.
    key: Vec<u8>,
    value: Vec<u8>,
    /// The values; `None` if they do not match.
    document: Option<Document>,
    count: u64,
}

impl Equals {
    /// Counts an entry that is equal to the last one. Returns false for another entry.
    #[inline]
    fn has(&mut self, entry: &EntryRef<'_>, parts: usize) -> bool {
        // Most values are empty. A comparison of no bytes would read, and discard, bytes at an address without memory,
        // for which processors take longer than for all other work on an entry.
        let has_value = |value: &[u8]| entry.value.len() == value.len() && (value.is_empty() || entry.value == value);
        let has_key = |key: &[u8]| key.is_empty() || entry.key().starts_with(key);
        let is_equal = self.count > 0 && has_key(&self.key) && (parts == 0 || has_value(&self.value));
        self.count += u64::from(is_equal);
        is_equal
    }

    /// Begins with an entry, whose compared parts have this key.
    fn begin(&mut self, entry: &EntryRef<'_>, key: Option<&[u8]>) {
        // A malformed key has no parts. It is compared as a whole.
        (self.key, self.value, self.count) = (key.unwrap_or(entry.key()).to_vec(), entry.value.to_vec(), 1);
    }

    /// Passes the values, if they match.
    fn pass<E>(&mut self, returned: &mut u64, visit: &mut EqualsVisitor<'_, E>) -> Result<(), E> {
        let count = std::mem::take(&mut self.count);
        match self.document.take() {
            Some(document) if count > 0 => {
                *returned += count;
                visit(RecordRef::Row(&document), count)
            }
            _ => Ok(()),
        }
    }
}

/// The whole document with this key, if it exists.
pub(super) fn read<S: Source>(run: &Run<S>, key: Key) -> Result<Item, S::Error> {
    let mut item = Item::unread(key);
    run.source.read_documents(std::slice::from_mut(&mut item))?;
    if item.document.is_some() {
        item.fields = Fields::Whole;
    }
    Ok(item)
}

/// The `_id` of a key, and whether it is certainly the stored value and not just an equal one.
fn exact_id(mut key: &[u8]) -> Option<(Value, bool)> {
    let id = alluvium_document::key::decode(&mut key).ok()?;
    let exact = matches!(id, Value::ObjectId(_) | Value::Bool(_) | Value::DateTime(_) | Value::Timestamp(_));
    Some((id, exact))
}

#[cfg(test)]
mod tests;
