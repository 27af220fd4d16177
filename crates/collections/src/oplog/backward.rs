//! Reads entries from the newest to the oldest.

use super::maker::Maker;
use super::range::Numbers;
use super::{Oplog, SCOPE};
use crate::changes;
use crate::error::Result;
use crate::history::Change;
use alluvium_document::Map;
use alluvium_exec::Limits;
use alluvium_store::Seq;
use std::collections::VecDeque;

/// The changes of the first page, which suffices for the last entry.
const FIRST_PAGE: usize = 4;
/// The most changes of a page.
const PAGE: usize = 256;
/// A page ends after this number of bytes.
const PAGE_BYTES: usize = 1 << 20;

/// Entries in reverse order.
pub(super) struct Backward {
    oplog: Oplog,
    /// Changes with this number and higher ones were read.
    before: Seq,
    /// Batches that end before this number are not read.
    from: Option<Seq>,
    /// The batch of the last change that was read.
    batch: Option<Seq>,
    page: usize,
    ready: VecDeque<Map>,
    bytes: usize,
    is_done: bool,
}

impl Backward {
    /// Begins with the newest entry of the numbers.
    ///
    /// # Errors
    /// [`crate::error::Error::ChangesNotRecorded`]; errors of reading.
    pub fn open(oplog: &Oplog, numbers: Numbers) -> Result<Self> {
        changes::recorded_since(&oplog.engine, &SCOPE)?;
        let visible = oplog.engine.store().visible();
        // Only the whole batch shows which of its changes is the last one.
        let batch = numbers.below.map(|below| batch_at(oplog, below)).transpose()?.flatten();
        let (before, from) = (batch.unwrap_or(visible).min(visible) + 1, numbers.from);
        let (batch, page, ready, bytes, is_done) = (None, FIRST_PAGE, VecDeque::new(), 0, false);
        Ok(Self { oplog: oplog.clone(), before, from, batch, page, ready, bytes, is_done })
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// [`crate::error::Error::ChangesNotRecorded`]; limits; errors of reading.
    pub fn next_entry(&mut self, limits: &Limits) -> Result<Option<Map>> {
        while self.ready.is_empty() && !self.is_done {
            limits.check(&self.oplog.engine.env)?;
            self.read(limits)?;
        }
        Ok(self.ready.pop_front())
    }

    /// The memory of what was read ahead, in bytes; an estimate.
    pub fn bytes_ahead(&self) -> usize {
        if self.ready.is_empty() { 0 } else { 3 * self.bytes }
    }

    /// Reads a page. It ends before and after a transaction, which is read as a whole.
    fn read(&mut self, limits: &Limits) -> Result<()> {
        let engine = self.oplog.engine.clone();
        let since = changes::recorded_since(&engine, &SCOPE)?;
        let Some(tree) = engine.catalog.history() else {
            self.is_done = true;
            return Ok(());
        };
        let snapshot = engine.store().snapshot();
        let mut scan = engine.store().scan(tree, Change::before(self.before), Some(&snapshot))?;
        let (mut transaction, mut count, mut is_first) = (Vec::new(), 0, false);
        self.bytes = 0;
        loop {
            let Some((key, value)) = scan.next()? else {
                is_first = true;
                break;
            };
            // What is below is not read any more, and its shapes may be gone.
            if Change::numbers_of(key).is_some_and(|(number, _)| number <= since) {
                is_first = true;
                break;
            }
            let (bytes, change) = (value.len(), changes::decode(&engine, tree, &snapshot, key, value, &SCOPE)?);
            if self.from.is_some_and(|from| change.batch < from) {
                self.is_done = true;
                break;
            }
            let of_transaction = transaction.last().map(|last: &Change| last.batch);
            if of_transaction.is_some_and(|batch| batch != change.batch)
                || change.transaction.is_some() && of_transaction.is_none() && count > 0
                || of_transaction.is_none() && (count >= self.page || self.bytes >= PAGE_BYTES)
            {
                break;
            }
            (self.before, count) = (change.number, count + 1);
            self.bytes += bytes.max(change.bytes());
            if count % PAGE == 0 {
                limits.check(&engine.env)?;
            }
            if !changes::is_of(&change, &SCOPE) {
                continue;
            }
            match change.transaction.is_some() || of_transaction.is_some() {
                true => transaction.push(change),
                false => self.add(change)?,
            }
        }
        drop(scan);
        self.page = (self.page * 4).min(PAGE);
        self.add_transaction(transaction)?;
        if is_first {
            self.is_done = true;
            // If retention has removed what is before the last entry, the log has ended there.
            if since < self.before {
                self.ready.push_back(self.oplog.first_entry(since)?);
            }
        }
        changes::make_durable(engine.store())
    }

    /// Adds the entry of a change.
    fn add(&mut self, change: Change) -> Result<()> {
        let number = if self.batch == Some(change.batch) { change.number } else { change.batch };
        self.batch = Some(change.batch);
        let (time, time_ms) = (self.oplog.time(number)?, change.time_ms);
        let mut entry = super::entry::operation(change);
        super::entry::end(&mut entry, time, time_ms);
        self.ready.push_back(entry);
        Ok(())
    }

    /// Adds the entries of a transaction, whose changes are in reverse order.
    fn add_transaction(&mut self, changes: Vec<Change>) -> Result<()> {
        let Some(last) = changes.first() else { return Ok(()) };
        self.batch = Some(last.batch);
        let (mut maker, mut entries) = (Maker::default(), Vec::new());
        for change in changes.into_iter().rev() {
            entries.extend(maker.add(&self.oplog, change)?);
        }
        entries.extend(maker.finish(&self.oplog)?);
        self.ready.extend(entries.into_iter().rev());
        Ok(())
    }
}

/// The batch of the first change with this number or a higher one.
fn batch_at(oplog: &Oplog, number: Seq) -> Result<Option<Seq>> {
    let Some(tree) = oplog.engine.catalog.history() else { return Ok(None) };
    let mut scan = oplog.engine.store().scan(tree, Change::after(number.saturating_sub(1)), None)?;
    Ok(scan.next()?.and_then(|(key, _)| Change::batch_of(key)))
}
