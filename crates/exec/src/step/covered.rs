//! Answers from the entries of an index alone.

use super::reader::{EntryReader, Proved};
use crate::counts::Counts;
use crate::item::{Demand, Fields, Item};
use crate::key::Key;
use crate::run::Run;
use crate::source::{Proof, Source};
use alluvium_document::{Document, Map, Value};
use alluvium_query::filter::Filter;
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
