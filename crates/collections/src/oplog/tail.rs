//! Tailable cursors over the operation log.

use super::Oplog;
use super::forward::Forward;
use super::range::Numbers;
use crate::appends::AppendWatch;
use crate::error::Result;
use crate::find::{Projector, Query};
use alluvium_document::Document;
use alluvium_exec::Limits;
use alluvium_query::pipeline::{PipelineError, Record};
use alluvium_query::plan::PlanError;

/// A cursor that stays open at the end of the operation log, and continues when changes are recorded.
pub struct OplogTail {
    oplog: Oplog,
    entries: Forward,
    query: Query,
    projector: Projector,
    /// The limits of each batch.
    limits: Limits,
    /// True while a batch is read.
    is_reading: bool,
    /// The number of entries to skip before the next one is returned.
    skip: u64,
    /// The number of entries that may still be returned.
    remaining: u64,
    is_dead: bool,
}

impl OplogTail {
    /// Begins with the oldest entry of the numbers.
    ///
    /// # Errors
    /// As [`Oplog::tail`].
    pub(super) fn open(oplog: &Oplog, query: Query, numbers: Numbers) -> Result<Self> {
        if !query.request.sort.is_empty() || query.reads_backward() {
            let what = "a tailable cursor reads in the order of the entries: it takes no sort but {$natural: 1}";
            return Err(PlanError::BadHint(what.to_owned()).into());
        }
        let entries = Forward::open(oplog, numbers, false)?;
        let (skip, remaining) = (query.skip, query.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX));
        let (projector, limits) = (Projector::new(&query), query.request.limits.clone());
        let (is_reading, is_dead, oplog) = (false, false, oplog.clone());
        Ok(Self { oplog, entries, query, projector, limits, is_reading, skip, remaining, is_dead })
    }

    /// The next entry that matches; `None` if there are no more entries at present.
    ///
    /// # Errors
    /// [`crate::error::Error::CappedPositionLost`] if the next entries were removed;
    /// [`crate::error::Error::ChangesNotRecorded`] if the recording was stopped; errors of reading and of the filter. After
    /// an error the cursor has ended.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        if self.is_dead || self.remaining == 0 {
            return Ok(None);
        }
        let next = self.step();
        self.is_dead = next.is_err();
        if !matches!(next, Ok(Some(_))) {
            self.pause();
        }
        next
    }

    fn step(&mut self) -> Result<Option<Document>> {
        if !self.is_reading {
            self.is_reading = true;
            self.query.request.limits = self.limits.clone();
            self.query.request.limits.begin(&self.oplog.engine.env);
        }
        while let Some(entry) = self.entries.next_entry(&self.query.request.limits)? {
            let record = Record::Map(entry);
            if !record.matches(&self.query.filter)? {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.remaining -= 1;
            let document = record.into_document().map_err(PipelineError::from)?;
            return self.projector.project(&self.query, document).map(Some);
        }
        Ok(None)
    }

    /// Ends the time limit of the current batch.
    pub fn pause(&mut self) {
        self.is_reading = false;
    }

    /// True if the cursor has ended, and no entry will follow.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// The memory of what was read ahead, in bytes; an estimate.
    pub fn bytes_ahead(&self) -> usize {
        self.entries.bytes_ahead()
    }

    /// Calls `wake` when there may be more entries, until the result is dropped, and at once if there are.
    pub fn watch(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        self.entries.on_change(wake)
    }
}
