//! Documents by entries of indexes, and answers from the entries alone.

use super::Item;
use super::entries::Entries;
use crate::error::Result;
use crate::find::counts::{Counts, Report, Spent};
use crate::find::planning::Planned;
use crate::find::run::Run;
use crate::find::seen::Seen;
use crate::read::matches;
use alluvium_document::{Document, Map, Value, key};
use alluvium_query::filter::Filter;
use alluvium_query::plan;

/// The documents of entries, each once.
pub(crate) struct Fetch {
    entries: Entries,
    filter: Filter,
}

impl Fetch {
    pub fn new(run: &Run, planned: &Planned, scan: &plan::IndexScan, filter: Filter) -> Result<Self> {
        Ok(Self { entries: Entries::new(run, planned, scan)?, filter })
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        loop {
            if self.entries.advance(run)?.is_none() {
                return Ok(None);
            }
            if self.entries.was_seen() {
                continue;
            }
            if !self.entries.is_asked_for()? {
                continue;
            }
            let Some(scan) = self.entries.scan() else { return Ok(None) };
            let Some(document) = scan.prove()? else { continue };
            if !matches(&self.filter, &run.view.name, &document)? {
                continue;
            }
            let key = scan.id().to_vec();
            if self.entries.note() || self.entries.is_first(&document)? {
                return Ok(Some(Item { key, document: Some(document), whole: true }));
            }
        }
    }

    pub fn report(&self) -> (Counts, Vec<Report>) {
        split(self.entries.counts())
    }
}

/// What was done at the documents, and what at the entries below.
fn split(counts: Counts) -> (Counts, Vec<Report>) {
    // An entry that is within all bounds is asked for its document.
    let returned = counts.documents;
    let below = Counts { keys: counts.keys, seeks: counts.seeks, returned, spent: counts.spent, ..Counts::default() };
    (Counts { keys: 0, seeks: 0, ..counts }, vec![Report { counts: below, inputs: Vec::new() }])
}

/// What an index alone answers.
pub(crate) struct Covered {
    entries: Entries,
    filter: Filter,
    /// Values are asked for, by the query or by its order.
    wants_values: bool,
    /// The `_id` is asked for: as it is stored.
    wants_id: bool,
    /// The `_id` is asked for, to sort by.
    sorts_id: bool,
    /// Only values that differ in the parts up to this one are asked for.
    distinct: Option<usize>,
}

impl Covered {
    pub fn new(run: &Run, planned: &Planned, scan: &plan::IndexScan) -> Result<Self> {
        let query = &run.query;
        let needs = query.needs.as_deref().unwrap_or_default();
        let sorts_id = query.sort.parts().iter().any(|part| part.path.as_str() == "_id");
        Ok(Self {
            entries: Entries::new(run, planned, scan)?,
            filter: scan.covered.clone().unwrap_or_default(),
            wants_values: !needs.is_empty() || !query.sort.is_empty(),
            wants_id: needs.iter().any(|path| path.as_str() == "_id"),
            sorts_id,
            distinct: query.distinct().and_then(|path| scan.bounds.iter().position(|part| part.part.path == *path)),
        })
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        loop {
            if self.entries.advance(run)?.is_none() {
                return Ok(None);
            }
            if self.entries.was_seen() {
                continue;
            }
            let Some(scan) = self.entries.scan() else { return Ok(None) };
            if !scan.is_proved()? {
                continue;
            }
            let key = scan.id().to_vec();
            let (mut values, mut equals) = (Map::new(), None);
            if self.wants_values || !self.filter.is_empty() {
                let found = scan.values()?;
                // What is missing lies beside null, which is a value.
                equals = self.distinct.filter(|part| found.get(*part).is_some_and(Option::is_some));
                values = self.entries.plan.document(&found);
                if !self.filter.matches_map(&values) {
                    continue;
                }
            }
            if !self.entries.note() && !self.is_first(run, &key)? {
                continue;
            }
            if let Some(part) = equals {
                self.entries.pass_over_equals(part);
            }
            return self.item(run, key, values).map(Some);
        }
    }

    fn is_first(&mut self, run: &Run, key: &[u8]) -> Result<bool> {
        let document = run.view.read(key, &mut Vec::new())?;
        document.map_or(Ok(false), |found| self.entries.is_first(&found.document))
    }

    fn item(&mut self, run: &Run, key: Vec<u8>, mut values: Map) -> Result<Item> {
        if !self.wants_values {
            return Ok(Item { key, document: None, whole: false });
        }
        if self.wants_id || self.sorts_id {
            match exact_id(&key) {
                Some((id, exact)) if exact || !self.wants_id => {
                    // It may be a part of the index, too.
                    values.entries.retain(|(name, _)| name.as_str() != Some("_id"));
                    values.entries.insert(0, (Value::from("_id"), id));
                }
                // What it is exactly stands in the document only.
                _ => {
                    if let Some(found) = run.view.read(&key, &mut Vec::new())? {
                        return Ok(Item { key, document: Some(found.document), whole: true });
                    }
                }
            }
        }
        Ok(Item { key, document: Some(Document::from_map(&values)?), whole: false })
    }

    pub fn counts(&self) -> Counts {
        self.entries.counts()
    }
}

/// The `_id` of a key, and whether it is certainly that which is stored, and not one that is equal.
fn exact_id(mut key: &[u8]) -> Option<(Value, bool)> {
    let id = key::decode(&mut key).ok()?;
    let exact = matches!(id, Value::ObjectId(_) | Value::Bool(_) | Value::DateTime(_) | Value::Timestamp(_));
    Some((id, exact))
}

/// The documents whose entries two scans find.
pub(crate) struct Both {
    first: Entries,
    second: Entries,
    filter: Filter,
    /// What the first scan has found, once it is done.
    found: Option<Seen>,
    row: Vec<u8>,
    documents: u64,
    stale: u64,
}

impl Both {
    pub fn new(run: &Run, planned: &Planned, scans: &[plan::IndexScan], filter: Filter) -> Result<Self> {
        let entries = |at: usize| Entries::new(run, planned, &scans[at.min(scans.len().saturating_sub(1))]);
        let (first, second) = (entries(0)?, entries(1)?);
        Ok(Self { first, second, filter, found: None, row: Vec::new(), documents: 0, stale: 0 })
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        if self.found.is_none() {
            self.gather(run)?;
        }
        loop {
            let Some(scan) = self.second.advance(run)? else { return Ok(None) };
            let key = scan.id().to_vec();
            let Some(found) = &mut self.found else { return Ok(None) };
            let complete = !found.is_full();
            // What is taken out comes once, also if it has several entries.
            if complete && !found.take(&key) {
                continue;
            }
            let Some(found) = run.view.read(&key, &mut self.row)? else { continue };
            let document = found.document;
            self.documents += 1;
            // Either entry may be stale.
            if !self.first.admits(&document)? || !self.second.admits(&document)? {
                self.stale += 1;
                continue;
            }
            // Where not all that the first scan finds is known, a document comes with its first entry.
            let first_time = complete || self.second.is_first(&document)?;
            if first_time && matches(&self.filter, &run.view.name, &document)? {
                return Ok(Some(Item { key, document: Some(document), whole: true }));
            }
        }
    }

    /// Walks through the first scan, as far as there is memory for what it finds.
    fn gather(&mut self, run: &mut Run) -> Result<()> {
        let mut found = Seen::new(run);
        while let Some(scan) = self.first.advance(run)? {
            if !found.add(scan.id()) {
                break;
            }
        }
        self.found = Some(found);
        Ok(())
    }

    pub fn report(&self) -> (Counts, Vec<Report>) {
        let below = |entries: &Entries| {
            let Counts { keys, seeks, spent, .. } = entries.counts();
            Report { counts: Counts { keys, seeks, returned: keys, spent, ..Counts::default() }, inputs: Vec::new() }
        };
        let counts = Counts { documents: self.documents, stale: self.stale, ..Counts::default() };
        let inputs = vec![below(&self.first), below(&self.second)];
        let spent = inputs.iter().fold(Spent::default(), |sum, input| sum.and(input.counts.spent));
        let both = Report { counts: Counts { returned: self.documents, spent, ..Counts::default() }, inputs };
        (counts, vec![both])
    }
}
