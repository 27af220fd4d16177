//! Look-ups of many values in one pass: returns the documents that have them, value by value.

use super::fetch::DOCUMENTS_AHEAD;
use super::reader::{EntryReader, Proved};
use crate::item::{BATCH_MAX, Item};
use crate::limits::{Limits, Watch};
use crate::run::{Request, Run};
use crate::source::{Proof, Source};
use alluvium_document::{Document, Value};
use alluvium_query::plan::IndexScan;
use hashbrown::{HashMap, HashSet};

/// Takes the position of a value and a document that has this value. Returns false to end the look-ups.
pub type Take<'t> = &'t mut dyn FnMut(usize, Document) -> bool;

/// Looks up documents by their `_id`s, in the order of `ids`.
///
/// # Errors
/// Errors of the source, and [`crate::Interrupted`].
pub fn by_id<S: Source>(source: &S, ids: &[Value], limits: &Limits, take: Take<'_>) -> Result<(), S::Error> {
    let mut watch = Watch::new(limits.clone());
    watch.check(source.env())?;
    let mut ids = ids.iter().enumerate();
    let (mut items, mut positions) = (Vec::new(), Vec::new());
    loop {
        for (position, id) in ids.by_ref().take(BATCH_MAX - items.len()) {
            watch.tick(source.env())?;
            if let Some(key) = source.key_of(id) {
                items.push(Item::unread(key));
                positions.push(position);
            }
        }
        if items.is_empty() {
            return Ok(());
        }
        let read = source.read_documents(&mut items)?.clamp(1, items.len());
        for (item, position) in items.drain(..read).zip(positions.drain(..read)) {
            if item.document.is_some_and(|document| !take(position, document)) {
                return Ok(());
            }
        }
    }
}

/// Looks up documents by the values of the first part of an index, in the order of the index. The bounds of the scan
/// consist of these values only. If the index has a collation, the values have collation keys instead of strings. A
/// document that has several of the values is passed once for each of them.
///
/// # Errors
/// Errors of the source, and [`crate::Interrupted`].
pub fn by_index<S: Source>(
    source: S,
    scan: &IndexScan,
    values: &[Value],
    limits: &Limits,
    take: Take<'_>,
) -> Result<(), S::Error> {
    let mut run = Run { source, request: Request::default(), watch: Watch::new(limits.clone()), timed: false };
    run.check_limits()?;
    let keys = values.iter().enumerate().map(|(position, value)| (scan.first_key(value), position));
    let keys: HashMap<Vec<u8>, usize> = keys.collect();
    let mut passed = Passed { repeats: scan.multikey && scan.bounds.len() > 1, ..Passed::default() };
    // Documents may be returned again for other values, so the scan must not filter repeated documents.
    let mut scan = scan.clone();
    scan.multikey = false;
    let position = |key: &[u8]| scan.first_of(key).and_then(|first| keys.get(first)).copied();
    let mut entries = EntryReader::new(&run, &scan)?;
    loop {
        entries.fill(&mut run, BATCH_MAX)?;
        if entries.batch.is_empty() {
            return Ok(());
        }
        let mut next = 0;
        while next < entries.batch.len() {
            let ahead = next..entries.batch.len().min(next + DOCUMENTS_AHEAD);
            for at in ahead.filter(|_| passed.repeats) {
                if passed.has(position(entries.batch.key(at)), entries.batch.id(at)) {
                    entries.batch.skip(at);
                }
            }
            let Proved { part, failed } = entries.prove(&mut run, next, DOCUMENTS_AHEAD, Proof::Documents)?;
            next = part.end;
            for at in part {
                let Some(document) = entries.batch.take_document(at) else { continue };
                let Some(position) = position(entries.batch.key(at)) else { continue };
                if passed.note(position, entries.batch.id(at)) && !take(position, document) {
                    return Ok(());
                }
            }
            failed.map_or(Ok(()), Err)?;
        }
    }
}

/// The documents that were passed for the current value.
#[derive(Default)]
struct Passed {
    /// True if a document may have several entries for one value.
    repeats: bool,
    position: Option<usize>,
    ids: HashSet<Vec<u8>>,
}

impl Passed {
    fn has(&self, position: Option<usize>, id: &[u8]) -> bool {
        position.is_some() && position == self.position && self.ids.contains(id)
    }

    /// Records a document; false if it was passed before.
    fn note(&mut self, position: usize, id: &[u8]) -> bool {
        if self.position != Some(position) {
            self.position = Some(position);
            self.ids.clear();
        }
        !self.repeats || self.ids.insert(id.to_vec())
    }
}
