//! Writes parsed slices in input order.

use super::super::progress::{Mark, Progress};
use super::clashes::{Excluded, Remaining};
use super::target::{BuildTarget, CollectionTarget, Rows};
use super::{Load, OnDuplicate, Parsed, RecordPlace};
use alluvium_codec::varint;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::write::WriteTxn;
use alluvium_store::LockMode;

impl<'a> Load<'a> {
    pub(super) fn write_to_collection(
        &self,
        target: &CollectionTarget<'a>,
        mut parsed: Parsed<'a>,
        before: Mark,
    ) -> Result<Mark> {
        let Rows::Batch(rows) = std::mem::replace(&mut parsed.rows, Rows::Plain(Vec::new())) else {
            return Err(Error::Load("a batch of the load is missing; please report this".to_owned()));
        };
        self.write_rows(target, parsed, *rows, before)
    }

    /// Writes the rows of a slice, or of a part of a slice. One batch is written, or several if one
    /// batch would be too large.
    pub(super) fn write_rows(
        &self,
        target: &CollectionTarget<'a>,
        mut parsed: Parsed<'a>,
        rows: WriteTxn<'a>,
        before: Mark,
    ) -> Result<Mark> {
        let progress = &*self.progress;
        let count = parsed.key_ends.len();
        // The keys are also locked for `replace`: while this write runs, no other writer may check
        // for its insert whether a document exists.
        let exclusive = self.settings.on_duplicate != OnDuplicate::Replace;
        let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let (rows, same_indexes) = target.for_current_indexes(rows)?;
        let overhead_bytes = target.overhead_bytes(&parsed);
        // A single document is refused, with its line, only if it exceeds the absolute limit of a
        // batch.
        let store = target.store();
        let most = if count > 1 { store.batch_bytes() } else { store.max_batch_bytes() };
        if rows.encoded_bytes() + overhead_bytes > most && count > 0 {
            drop(same_indexes);
            return self.write_parts(target, parsed, rows, before);
        }
        let has_claims = rows.has_claims();
        let locked = rows.admit_and_lock(&parsed.shapes, overhead_bytes, mode, self.settings.durability)?;
        let distinct = if has_claims { 0 } else { locked.lock_count() };
        let mut remaining = Remaining { locked, places: (0..count).collect() };
        let taken = if exclusive { target.taken_keys(&parsed, distinct)? } else { Vec::new() };
        let Excluded { refused, duplicates, rejected } =
            self.exclude(target, &parsed, &mut remaining, &taken, before.line)?;
        Progress::add(&progress.duplicates, duplicates as u64);
        parsed.add_rejected(rejected);
        // An excluded document always precedes a fatal line, so its failure is reported.
        let refused = refused.map(|(at, error)| (parsed.lines[at], error));
        let failure = refused.or_else(|| self.fatal_line(&parsed, before));
        let Remaining { mut locked, places } = remaining;
        let written = places.len();
        let mark = self.end_of(&mut parsed, &failure, before, written)?;
        if let Some(key) = &target.mark_key {
            locked.txn.put_system(key, &mark.encode());
        }
        locked.commit()?;
        Progress::add(&progress.documents, written as u64);
        Progress::add(&progress.bytes, parsed.bytes);
        if failure.is_some() {
            *self.failed_at.lock() = Some(mark);
        }
        failure.map_or(Ok(mark), |(_, error)| Err(error))
    }

    pub(super) fn write_to_build(&self, target: &BuildTarget, mut parsed: Parsed<'a>, before: Mark) -> Result<Mark> {
        let rows = std::mem::replace(&mut parsed.rows, Rows::Plain(Vec::new()));
        let (Rows::Plain(bytes), count) = (rows, parsed.key_ends.len()) else {
            return Err(Error::Load("rows of the build are missing; please report this".to_owned()));
        };
        let mut rest = &bytes[..];
        let mut build = target.build.lock();
        for at in 0..count {
            let row = varint::get_bytes(&mut rest).map_err(|error| Error::Load(error.to_string()))?;
            build.add(parsed.key(at), row).map_err(|error| target.explain(error))?;
        }
        drop(build);
        // The definitions of all shapes are written at the end of the build.
        parsed.shapes.iter().for_each(|shape| target.shapes.mark_committed(shape.number()));
        let failure = self.fatal_line(&parsed, before);
        let mark = self.end_of(&mut parsed, &failure, before, count)?;
        Progress::add(&self.progress.documents, count as u64);
        Progress::add(&self.progress.bytes, parsed.bytes);
        failure.map_or(Ok(mark), |(_, error)| Err(error))
    }

    /// The failure that ends the load with this slice: a bad record, or an input that cannot be
    /// read.
    fn fatal_line(&self, parsed: &Parsed<'_>, before: Mark) -> Option<(RecordPlace, Error)> {
        if let Some(bad) = parsed.bad.last().filter(|_| parsed.fatal) {
            return Some((bad.place, self.bad_line(bad, before.line)));
        }
        let reason = parsed.unread.as_ref()?;
        let end = RecordPlace { line: parsed.line_count, offset: parsed.end, column: parsed.end_column };
        let lines = before.line + parsed.line_count;
        let after = match self.settings.format.counted() {
            _ if lines == 0 => String::new(),
            what => format!(" after {what} {lines}"),
        };
        Some((end, Error::Load(format!("cannot read {}{after}: {reason}", self.name))))
    }

    /// Writes the rejects of a slice and returns the mark of the next slice.
    fn end_of(
        &self,
        parsed: &mut Parsed<'_>,
        failure: &Option<(RecordPlace, Error)>,
        before: Mark,
        written: usize,
    ) -> Result<Mark> {
        // After a failure, the next run begins at the record that failed.
        let end = RecordPlace { line: parsed.line_count, offset: parsed.end, column: parsed.end_column };
        let end = failure.as_ref().map_or(end, |(place, _)| *place);
        parsed.bad.retain(|bad| bad.place.offset < end.offset);
        self.reject(&parsed.bad, before.line)?;
        Ok(Mark {
            offset: end.offset,
            line: before.line + end.line,
            column: end.column,
            documents: before.documents + written as u64,
            finished: false,
        })
    }

    pub(super) fn duplicate(&self, parsed: &Parsed<'_>, at: usize, base: u64) -> Error {
        let id = alluvium_collections::ids::key_text(parsed.key(at));
        let (what, line) = self.place_of(parsed, at, base);
        Error::LoadDuplicate { input: self.name.clone(), what, line, collection: self.collection.clone(), id }
    }

    /// The unit that the format counts, and the number of a document in that unit.
    pub(super) fn place_of(&self, parsed: &Parsed<'_>, at: usize, base: u64) -> (&'static str, u64) {
        (self.settings.format.counted(), base + parsed.lines[at].line + 1)
    }
}
