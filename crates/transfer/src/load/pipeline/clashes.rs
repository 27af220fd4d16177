//! Documents of a slice that are not to be written: what they would have is taken.

use super::target::CollectionTarget;
use super::{BadLine, Load, OnBad, OnDuplicate, Parsed};
use alluvium_collections::error::{Error, Result};
use alluvium_collections::write::{Locked, Sequence};
use alluvium_document::Document;
use hashbrown::HashSet;

/// The documents of a slice that are to be written.
pub(super) struct Remaining<'a> {
    pub locked: Locked<'a>,
    /// Their places in the slice.
    pub places: Vec<usize>,
}

impl Remaining<'_> {
    /// Leaves out the documents whose places `keeps` refuses.
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

/// What is left out, and why.
#[derive(Default)]
pub(super) struct LeftOut {
    /// The place of the first document that ends the load, and why: it and all behind it are left out.
    pub refused: Option<(usize, Error)>,
    /// Documents before it whose `_id` is taken.
    pub duplicates: usize,
    /// Documents before it that have a unique key of another, where such are passed over.
    pub passed: Vec<BadLine>,
}

impl Parsed<'_> {
    /// Adds documents that are passed over to what cannot be stored.
    pub fn pass_over(&mut self, passed: Vec<BadLine>) {
        if !passed.is_empty() {
            self.bad.extend(passed);
            self.bad.sort_by_key(|bad| bad.place.offset);
        }
    }

    /// True if two documents have one `_id`.
    fn has_twice(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.key_ends.len());
        !(0..self.key_ends.len()).all(|at| seen.insert(self.key(at)))
    }
}

impl Load<'_> {
    /// Leaves out what is not to be written: documents that are there already, those that would take a unique key if such are
    /// passed over, and all from the first one on that ends the load.
    pub(super) fn leave_out(
        &self,
        target: &CollectionTarget<'_>,
        parsed: &Parsed<'_>,
        left: &mut Remaining<'_>,
        taken: &[bool],
        base: u64,
    ) -> Result<LeftOut> {
        let skips = self.settings.on_bad == OnBad::Skip && left.locked.txn.has_claims();
        // Which of two is a duplicate depends on whether the other is passed over.
        if skips && parsed.has_twice() {
            return self.one_by_one(target, parsed, left, base);
        }
        let mut out = LeftOut::default();
        if self.settings.on_duplicate != OnDuplicate::Error {
            left.retain(|at| !taken.get(at).is_some_and(|taken| *taken))?;
        } else if let Some(first) = taken.iter().position(|taken| *taken) {
            out.refused = Some((first, self.duplicate(parsed, first, base)));
            left.retain(|at| at < first)?;
        }
        if skips && left.locked.txn.taken()?.is_some() {
            out.passed = self.one_by_one(target, parsed, left, base)?.passed;
        }
        while let Some(taken) = left.locked.txn.taken()? {
            // Of several with one `_id` the last is written.
            let place = |id: &[u8]| left.places.iter().rev().copied().find(|at| parsed.key(*at) == id);
            let (own, other) = (place(taken.id).unwrap_or(0), place(&taken.other));
            let (at, has_it) = match other.filter(|other| *other > own) {
                Some(other) => (other, taken.id),
                None => (own, &taken.other[..]),
            };
            let error = Box::new(taken.error(target.name, has_it));
            let (what, line) = self.place_of(parsed, at, base);
            out.refused = Some((at, Error::LoadOf { input: self.name.clone(), what, line, error }));
            left.retain(|kept| kept < at)?;
        }
        let until = out.refused.as_ref().map_or(taken.len(), |(at, _)| *at);
        out.duplicates = taken.iter().take(until).filter(|taken| **taken).count();
        Ok(out)
    }

    /// Takes the documents in their order, as if each were written by itself, and passes over those that would take a unique
    /// key.
    fn one_by_one(
        &self,
        target: &CollectionTarget<'_>,
        parsed: &Parsed<'_>,
        left: &mut Remaining<'_>,
        base: u64,
    ) -> Result<LeftOut> {
        let (store, state) = (target.store(), &target.state);
        let (mut out, mut sequence, mut goes) = (LeftOut::default(), Sequence::default(), HashSet::new());
        for (&at, (id, row)) in left.places.iter().zip(left.locked.txn.documents()) {
            let replaces = self.settings.on_duplicate == OnDuplicate::Replace;
            if !replaces && (sequence.contains(id) || store.contains(state.documents, id)?) {
                if self.settings.on_duplicate == OnDuplicate::Error {
                    out.refused = Some((at, self.duplicate(parsed, at, base)));
                    break;
                }
                out.duplicates += 1;
                goes.insert(at);
                continue;
            }
            let damaged = |e: alluvium_document::row::RowError| Error::InvalidDocument(e.to_string());
            let document = Document::from_row(&state.shapes, id, row).map_err(damaged)?;
            if let Some(error) = left.locked.txn.add_to_sequence(&mut sequence, id, &document)? {
                goes.insert(at);
                let text = parsed.texts.as_ref().and_then(|texts| texts.get(at).cloned());
                let place = parsed.lines[at];
                out.passed.push(BadLine { place, refused: place.refused_by(error), text: text.unwrap_or_default() });
            }
        }
        let end = out.refused.as_ref().map_or(usize::MAX, |(at, _)| *at);
        left.retain(|at| at < end && !goes.contains(&at))?;
        Ok(out)
    }
}
