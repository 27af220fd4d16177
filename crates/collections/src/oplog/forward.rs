//! Reads entries from the oldest to the newest.

use super::maker::Maker;
use super::range::Numbers;
use super::{Oplog, SCOPE};
use crate::appends::AppendWatch;
use crate::changes::{self, ChangeToken, Changes};
use crate::error::{Error, Result};
use alluvium_document::Map;
use alluvium_exec::Limits;
use alluvium_store::Seq;

/// Entries in their order.
pub(super) struct Forward {
    oplog: Oplog,
    changes: Changes,
    maker: Maker,
    /// The number of the first entry of the log, if it is the next one.
    first: Option<Seq>,
    /// True if an entry was returned.
    has_begun: bool,
    /// Changes with this number or a higher one are not read.
    below: Option<Seq>,
    is_done: bool,
}

impl Forward {
    /// Begins with the oldest entry of the numbers. If it `ends`, changes that are made later are not read.
    ///
    /// # Errors
    /// [`Error::ChangesNotRecorded`]; errors of reading.
    pub fn open(oplog: &Oplog, numbers: Numbers, ends: bool) -> Result<Self> {
        let engine = &oplog.engine;
        let after_all = Some(engine.store().visible() + 1).filter(|_| ends);
        let below = [numbers.below, after_all].into_iter().flatten().min();
        let before = numbers.from.map(|from| changes::before_batch(engine, from)).transpose()?;
        let (changes, first) = begin(oplog, before)?;
        let maker = Maker::default();
        Ok(Self { oplog: oplog.clone(), changes, maker, first, has_begun: false, below, is_done: false })
    }

    /// The next entry; `None` at the end. Without an end, there may be more later.
    ///
    /// # Errors
    /// [`Error::CappedPositionLost`] if the next entries were removed; [`Error::ChangesNotRecorded`]; limits; errors of
    /// reading.
    pub fn next_entry(&mut self, limits: &Limits) -> Result<Option<Map>> {
        while !self.is_done {
            limits.check(&self.oplog.engine.env)?;
            match self.step()? {
                Step::Entry(entry) => {
                    self.has_begun = true;
                    return Ok(Some(entry));
                }
                Step::Unfinished => {}
                Step::AtEnd => return Ok(None),
                // The oldest entries may be removed while the log is opened.
                Step::Lost if !self.has_begun => {
                    (self.changes, self.first) = begin(&self.oplog, None)?;
                    self.has_begun = true;
                }
                Step::Lost => return Err(Error::CappedPositionLost(self.oplog.name.to_string())),
            }
        }
        Ok(None)
    }

    /// Reads a change.
    fn step(&mut self) -> Result<Step> {
        if let Some(since) = self.first.take() {
            return self.oplog.first_entry(since).map(Step::Entry);
        }
        let change = match self.changes.next_change() {
            Err(Error::ChangesLost { .. }) => return Ok(Step::Lost),
            change => change?,
        };
        Ok(match change {
            Some(change) => {
                self.is_done = self.below.is_some_and(|below| change.number >= below);
                self.maker.add(&self.oplog, change)?.map_or(Step::Unfinished, Step::Entry)
            }
            None => self.maker.finish(&self.oplog)?.map_or(Step::AtEnd, Step::Entry),
        })
    }

    /// The memory of what was read ahead, in bytes; an estimate.
    pub fn bytes_ahead(&self) -> usize {
        self.changes.bytes_ahead() + self.maker.bytes()
    }

    /// Calls `wake` when there may be more entries, and at once if there are.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        self.changes.on_change(wake)
    }
}

/// The outcome of reading a change.
enum Step {
    /// An entry is complete.
    Entry(Map),
    /// No entry is complete yet.
    Unfinished,
    /// There are no more changes now.
    AtEnd,
    /// The next changes were removed.
    Lost,
}

/// The changes after a number. If the log begins later, or no number is given, also the number of its first entry.
fn begin(oplog: &Oplog, before: Option<Seq>) -> Result<(Changes, Option<Seq>)> {
    let since = changes::recorded_since(&oplog.engine, &SCOPE)?;
    let number = before.filter(|before| *before > since);
    let store = oplog.engine.store();
    let place = ChangeToken { database: store.database_id(), number: number.unwrap_or(since).min(store.visible()) };
    let changes = changes::changes(&oplog.engine, &SCOPE, Some(place))?;
    Ok((changes, Some(since).filter(|_| number.is_none())))
}
