//! Excludes the documents of a slice whose `_id` or unique key is taken.

use super::target::CollectionTarget;
use super::{BadLine, Load, OnBad, OnDuplicate, Parsed};
use alluvium_collections::error::{Error, Result};
use alluvium_collections::write::{Locked, Sequence};
use alluvium_document::Document;
use hashbrown::HashSet;

/// The documents of a slice that will be written.
pub(super) struct Remaining<'a> {
    pub locked: Locked<'a>,
    /// The indexes of the documents in the slice.
    pub places: Vec<usize>,
}

impl Remaining<'_> {
    /// Keeps only the documents for whose index `keeps` returns true.
    fn retain(&mut self, keeps: impl Fn(usize) -> bool) -> Result<()> {
        if self.places.iter().all(|at| keeps(*at)) {
            return Ok(());
        }
        let places = std::mem::take(&mut self.places);
        self.locked.txn.retain(|op| keeps(places[op]))?;
        self.places = places.into_iter().filter(|at| keeps(*at)).collect();
        Ok(())
    }
}

/// The documents that are excluded.
#[derive(Default)]
pub(super) struct Excluded {
    /// The index of the document that ends the load, and the error. This document and all after it
    /// are excluded.
    pub refused: Option<(usize, Error)>,
    /// The number of documents before it that are skipped because their `_id` is taken.
    pub duplicates: usize,
    /// The documents before it that are rejected because one of their unique keys belongs to
    /// another document.
    pub rejected: Vec<BadLine>,
}

impl Parsed<'_> {
    /// Adds rejected documents to the bad records, in the order of the input.
    pub fn add_rejected(&mut self, rejected: Vec<BadLine>) {
        if !rejected.is_empty() {
            self.bad.extend(rejected);
            self.bad.sort_by_key(|bad| bad.place.offset);
        }
    }

    /// True if two documents of the slice have the same `_id`.
    fn has_twice(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.key_ends.len());
        !(0..self.key_ends.len()).all(|at| seen.insert(self.key(at)))
    }
}

impl Load<'_> {
    /// Excludes documents that exist already; documents whose unique key is taken, if the load
    /// skips bad records; and the first document that ends the load, with all documents after it.
    pub(super) fn exclude(
        &self,
        target: &CollectionTarget<'_>,
        parsed: &Parsed<'_>,
        remaining: &mut Remaining<'_>,
        taken: &[bool],
        base: u64,
    ) -> Result<Excluded> {
        let skips = self.settings.on_bad == OnBad::Skip && remaining.locked.txn.has_claims();
        // Which of two documents is a duplicate depends on whether the other one is rejected.
        if skips && parsed.has_twice() {
            return self.one_by_one(target, parsed, remaining, base);
        }
        let mut out = Excluded::default();
        if self.settings.on_duplicate != OnDuplicate::Error {
            remaining.retain(|at| !taken.get(at).is_some_and(|taken| *taken))?;
        } else if let Some(first) = taken.iter().position(|taken| *taken) {
            out.refused = Some((first, self.duplicate(parsed, first, base)));
            remaining.retain(|at| at < first)?;
        }
        if skips && remaining.locked.txn.taken()?.is_some() {
            out.rejected = self.one_by_one(target, parsed, remaining, base)?.rejected;
        }
        while let Some(taken) = remaining.locked.txn.taken()? {
            // If several documents have the same `_id`, the last one is written.
            let place = |id: &[u8]| remaining.places.iter().rev().copied().find(|at| parsed.key(*at) == id);
            let (own, other) = (place(taken.id).unwrap_or(0), place(&taken.other));
            let (at, has_it) = match other.filter(|other| *other > own) {
                Some(other) => (other, taken.id),
                None => (own, &taken.other[..]),
            };
            let error = Box::new(taken.error(target.name, has_it));
            let (what, line) = self.place_of(parsed, at, base);
            out.refused = Some((at, Error::LoadOf { input: self.name.clone(), what, line, error }));
            remaining.retain(|kept| kept < at)?;
        }
        let until = out.refused.as_ref().map_or(taken.len(), |(at, _)| *at);
        out.duplicates = taken.iter().take(until).filter(|taken| **taken).count();
        Ok(out)
    }

    /// Processes the documents in order, as if each were written separately, and rejects documents
    /// whose unique key is taken.
    fn one_by_one(
        &self,
        target: &CollectionTarget<'_>,
        parsed: &Parsed<'_>,
        remaining: &mut Remaining<'_>,
        base: u64,
    ) -> Result<Excluded> {
        let (store, state) = (target.store(), &target.state);
        let (mut out, mut sequence, mut excluded) = (Excluded::default(), Sequence::default(), HashSet::new());
        for (&at, (id, row)) in remaining.places.iter().zip(remaining.locked.txn.documents()) {
            let replaces = self.settings.on_duplicate == OnDuplicate::Replace;
            if !replaces && (sequence.contains(id) || store.contains(state.documents, id)?) {
                if self.settings.on_duplicate == OnDuplicate::Error {
                    out.refused = Some((at, self.duplicate(parsed, at, base)));
                    break;
                }
                out.duplicates += 1;
                excluded.insert(at);
                continue;
            }
            let damaged = |e: alluvium_document::row::RowError| Error::InvalidDocument(e.to_string());
            let document = Document::from_row(&state.shapes, id, row).map_err(damaged)?;
            if let Some(error) = remaining.locked.txn.add_to_sequence(&mut sequence, id, &document)? {
                excluded.insert(at);
                let text = parsed.texts.as_ref().and_then(|texts| texts.get(at).cloned());
                let place = parsed.lines[at];
                out.rejected.push(BadLine { place, refused: place.refused_by(error), text: text.unwrap_or_default() });
            }
        }
        let end = out.refused.as_ref().map_or(usize::MAX, |(at, _)| *at);
        remaining.retain(|at| at < end && !excluded.contains(&at))?;
        Ok(out)
    }
}
